"""Where rule files are: the packs that are shipped, and those of named files and folders."""

from collections.abc import Iterable
from pathlib import Path

from accelwatch.base.errors import ConfigError
from accelwatch.base.names.nearest import nearest
from accelwatch.expr.vocabulary.detector_names import DETECTOR

# The rules that are shipped, a file a pack.
PACKS = Path(__file__).parents[1] / "packs"
SUFFIXES = (".yaml", ".yml")


def pack_names() -> list[str]:
    """Names of the packs that are shipped."""
    names = sorted(path.stem for path in PACKS.glob("*.yaml"))
    # Of what begins at the same moment the first rule leads: one that knows what it sees.
    return sorted(names, key=lambda name: name == DETECTOR)


def pack_file(name: str) -> Path:
    """The file of a pack. Raises ConfigError with the nearest name for one that is not shipped."""
    names = pack_names()
    if name not in names:
        close = nearest(name, names)
        hint = f"did you mean {close}?" if close else f"there are {', '.join(names)}"
        raise ConfigError(f"no pack {name[:60]!r}; {hint}")
    return PACKS / f"{name}.yaml"


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Rule files: those named, and those of named folders in the order of their names.

    Raises ConfigError for what is not there.
    """
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = [entry for entry in path.iterdir() if entry.suffix in SUFFIXES]
            files.update(dict.fromkeys(sorted(inside)))
        elif path.exists():
            files[path] = None
        else:
            raise ConfigError(f"{path}: no such rule file")
    return list(files)


def refuse_empty_folders(paths: Iterable[Path]) -> None:
    """For folders of a command line: raises ConfigError for one without a rule file."""
    for path in paths:
        if path.is_dir() and not files_of([path]):
            raise ConfigError(
                f"{path}: there is no rule file in this folder; they end in {' or '.join(SUFFIXES)}, "
                "and folders inside it are not read"
            )
