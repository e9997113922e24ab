"""Target files in the format of Prometheus' `file_sd`, JSON or YAML, read again periodically."""

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.cache import TargetCache
from accelwatch.fleet.targets.groups import targets_in
from accelwatch.fleet.targets.rules import Rules
from accelwatch.system.files.file_rights import written_by_everybody
from accelwatch.system.located_yaml import tree
from accelwatch.system.located_yaml.complaint import refuse
from accelwatch.system.located_yaml.nodes import PlainReader, complaints_of, compose

MAX_FILE_BYTES = 64 << 20

Stamp = tuple[int, int, int]


class TargetFiles:
    """Targets of files by pattern (`targets/*.json`); `poll` blocks and is for a thread."""

    def __init__(self, patterns: Sequence[str], rules: Rules) -> None:
        self._patterns = patterns
        self._rules = rules
        self._stamps: dict[str, Stamp | None] = {}
        self.kept = TargetCache()

    def poll(self) -> list[Target]:
        """The targets of all files, read again where a file has changed or was not good."""
        names = [name for pattern in self._patterns for name in _matching(pattern)]
        for name in dict.fromkeys(names):
            stamp = _stamp(name)
            unchanged = stamp is not None and stamp == self._stamps.get(name)
            if not unchanged or name in self.kept.complaints:
                self._read(name, stamp)
        self.kept.retain(set(names))  # removed, not half written: a pattern no longer finds it
        for name in self._stamps.keys() - set(names):
            del self._stamps[name]
        return self.kept.targets()

    def _read(self, name: str, stamp: Stamp | None) -> None:
        try:
            self.kept.update(name, read_targets(Path(name), self._rules))
        except ConfigError as error:
            self.kept.refuse(name, error)
        else:
            self._stamps[name] = stamp


def read_targets(path: Path, rules: Rules | None = None) -> list[Target]:
    """The targets of a file. Raises ConfigError that names the file; a half-written file is one."""
    try:
        with path.open("rb") as file:
            unsafe = written_by_everybody(path, os.fstat(file.fileno()))
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    if unsafe:
        raise ConfigError(f"{path}: {unsafe}")
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_FILE_BYTES} bytes, no target file")
    try:
        return targets_in(_parsed(data, path), rules or Rules())
    except UsageError as error:
        raise ConfigError(f"{path}: {error}") from error


def _parsed(data: bytes, path: Path) -> Any:
    if path.suffix == ".json":
        try:
            return msgspec.json.decode(data)
        except DECODE_ERRORS as error:
            raise ConfigError(f"{path}: bad JSON: {error}") from error
    root = compose(data, str(path))
    if root is None:
        # An empty YAML file is one that is just being written far more often than an empty fleet.
        raise ConfigError(f"{path}: is empty; write [] for no targets")
    return _plain(root, path)


def _plain(root: tree.Node, path: Path) -> Any:
    reader = PlainReader()
    data = reader.read(root)
    refuse(complaints_of(reader.mistakes, str(path)))
    return data


def _matching(pattern: str) -> Iterable[str]:
    """Files of a pattern; a plain name stands for itself, there or not."""
    return sorted(glob.glob(pattern)) if glob.has_magic(pattern) else (pattern,)  # noqa: PTH207


def _stamp(name: str) -> Stamp | None:
    try:
        status = Path(name).stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
