"""The rules that a configuration names, and whether their files have changed since."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from accelwatch.alerting.rules.loading.pack_files import files_of, pack_file
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import RuleSet
from accelwatch.base.errors import ConfigError
from accelwatch.config.model import RuleSettings
from accelwatch.system.located_yaml.nodes import read_file

# Path, inode, size and time of change of each file.
FileStamps = tuple[tuple[str, int, int, int], ...]


# The rules that were loaded last, by what stood in their files: they are checked, then used.
_latest: dict[tuple[tuple[str, bytes], ...], RuleSet] = {}


def loaded_rules(settings: RuleSettings) -> RuleSet:
    """The rules of files and packs, read again only where they say something else.

    Raises ConfigError.
    """
    files = files_of(_paths(settings))
    content = tuple((str(file), hashlib.sha256(read_file(file)).digest()) for file in files)
    loaded = _latest.get(content)
    if loaded is None:
        loaded = load(files, tests=False)
        _latest.clear()
        _latest[content] = loaded
    return loaded


def file_stamps(settings: RuleSettings) -> FileStamps:
    """What is another when a file has changed, come or gone; looking costs a call a file."""
    try:
        files = files_of(_paths(settings))
        stats = [(str(file), file.stat()) for file in files]
    except (ConfigError, OSError):  # loading reports which
        return ()
    return tuple(
        (path, status.st_ino, status.st_size, status.st_mtime_ns) for path, status in stats
    )


def _paths(settings: RuleSettings) -> Iterable[Path]:
    return [*(pack_file(name) for name in settings.packs), *map(Path, settings.files)]
