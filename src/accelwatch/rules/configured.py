"""The rules that a configuration names, and whether their files have changed since."""

from collections.abc import Iterable
from pathlib import Path

from accelwatch.config.model import RuleSettings
from accelwatch.errors import ConfigError
from accelwatch.rules.loading import files_of, load, pack_file
from accelwatch.rules.rule import RuleSet

Marks = tuple[tuple[str, int, int, int], ...]
"""Path, inode, size and time of change of each file."""


def loaded_rules(settings: RuleSettings) -> RuleSet:
    """The rules of files and packs. Raises ConfigError."""
    return load(_paths(settings))


def marks(settings: RuleSettings) -> Marks:
    """What is another when a file has changed, come or gone; looking costs a call a file."""
    try:
        files = files_of(_paths(settings))
        stats = [(str(file), file.stat()) for file in files]
    except (ConfigError, OSError):  # loading tells what it is
        return ()
    return tuple((path, one.st_ino, one.st_size, one.st_mtime_ns) for path, one in stats)


def _paths(settings: RuleSettings) -> Iterable[Path]:
    return [*(pack_file(name) for name in settings.packs), *map(Path, settings.files)]
