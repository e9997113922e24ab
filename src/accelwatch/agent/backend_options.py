"""The section `collect.options` against what the backends declare of their options."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from accelwatch.backend import Option
from accelwatch.located_yaml.complaint import unknown
from accelwatch.node.sampler.declared_options import declared
from accelwatch.plugins import entry_points as plugins

Given = Mapping[str, Mapping[str, object]]
"""Options by the name of the backend."""


def from_folder(given: Given, folder: Path) -> dict[str, dict[str, object]]:
    """The same with the relative paths of files beginning at a folder."""
    known = declared(given)
    return {
        name: {**options, **dict(_paths(options, known.get(name, ()), folder))}
        for name, options in given.items()
    }


def _paths(
    given: Mapping[str, object], options: tuple[Option, ...], folder: Path
) -> Iterator[tuple[str, str]]:
    """Options that are paths, by name; a home folder is left to the backend."""
    for option in options:
        path = _path_in(given, option)
        if path and not path.startswith("~"):
            yield option.name, str(folder / path)


def _path_in(given: Mapping[str, object], option: Option) -> str:
    """The path that an option gives; empty when it gives none."""
    told = given.get(option.name)
    if not option.is_path or not isinstance(told, str) or re.fullmatch(option.words, told):
        return ""
    return told


def mistakes(given: Given) -> Iterator[tuple[str, str]]:
    """What no backend knows, with its key below `collect.options`."""
    known = declared(given)
    for name, options in given.items():
        if missing := plugins.unknown(plugins.BACKENDS, [name]):
            yield name, missing
        elif name in known:
            for key, text in _of_backend(options, known[name]):
                yield f"{name}.{key}", text


def _of_backend(
    given: Mapping[str, object], options: tuple[Option, ...]
) -> Iterator[tuple[str, str]]:
    known = [option.name for option in options]
    for key in given:
        if key not in known:
            yield key, unknown(key, known) if known else "unknown key; this backend has no options"
    for option in options:
        path = _path_in(given, option)
        if option.must_exist and path and not _is_there(path):
            yield option.name, f"{path}: no such file"


def _is_there(path: str) -> bool:
    """Whether there is such a file or folder, or one that fits a pattern."""
    from accelwatch.archive.recording.files import names_recording

    try:
        return names_recording(Path(path).expanduser())
    except (OSError, RuntimeError):  # nobody may look; nobody of that name has a home
        return False
