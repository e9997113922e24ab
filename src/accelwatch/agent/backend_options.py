"""The section `collect.options` against what the backends declare of their options."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from accelwatch.backend import Option
from accelwatch.base.names.nearest import unknown_key
from accelwatch.node.collecting import unknown_backend
from accelwatch.node.sampler.declared_options import declared

# Options by the name of the backend.
ConfiguredOptions = Mapping[str, Mapping[str, object]]


def from_folder(configured: ConfiguredOptions, folder: Path) -> dict[str, dict[str, object]]:
    """The same with the relative paths of files beginning at a folder."""
    recognised = declared(configured)
    return {
        name: {**options, **dict(_paths(options, recognised.get(name, ()), folder))}
        for name, options in configured.items()
    }


def _paths(
    configured: Mapping[str, object], options: tuple[Option, ...], folder: Path
) -> Iterator[tuple[str, str]]:
    """Options that are paths, by name; a home folder is left to the backend."""
    for option in options:
        path = _path_in(configured, option)
        if path and not path.startswith("~"):
            yield option.name, str(folder / path)


def _path_in(configured: Mapping[str, object], option: Option) -> str:
    """The path that an option gives; empty when it gives none."""
    value = configured.get(option.name)
    if not option.is_path or not isinstance(value, str) or re.fullmatch(option.names, value):
        return ""
    return value


def mistakes(configured: ConfiguredOptions) -> Iterator[tuple[str, str]]:
    """What no backend knows, with its key below `collect.options`."""
    recognised = declared(configured)
    for name, options in configured.items():
        if missing := unknown_backend([name]):
            yield name, missing
        elif name in recognised:
            for key, text in _of_backend(options, recognised[name]):
                yield f"{name}.{key}", text


def _of_backend(
    configured: Mapping[str, object], options: tuple[Option, ...]
) -> Iterator[tuple[str, str]]:
    recognised = [option.name for option in options]
    for key in configured:
        if key not in recognised:
            yield (
                key,
                unknown_key(key, recognised)
                if recognised
                else "unknown key; this backend has no options",
            )
    for option in options:
        path = _path_in(configured, option)
        if option.must_exist and path and not _is_there(path):
            yield option.name, f"{path}: no such file"


def _is_there(path: str) -> bool:
    """Whether there is such a file or folder, or one that fits a pattern."""
    from accelwatch.archive.recording.files import names_recording

    try:
        return names_recording(Path(path).expanduser())
    except (OSError, RuntimeError):  # nobody may look; nobody of that name has a home
        return False
