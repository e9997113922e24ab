"""Target files in the format of Prometheus' `file_sd`: a list of `{targets, labels}`, JSON or YAML."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from accelwatch.config.convert import Mistake, plain
from accelwatch.config.document import compose
from accelwatch.errors import AccelwatchError, ConfigError
from accelwatch.fleet.targets.ranges import MAX_HOSTS
from accelwatch.fleet.targets.target import Target, targets_of

MAX_FILE_BYTES = 64 << 20


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a file."""

    targets: tuple[str, ...]
    labels: dict[str, str] = {}


def read_targets(path: Path, scheme: str = "http") -> list[Target]:
    """The targets of a file. Raises ConfigError that names the file; a half-written file is one."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_FILE_BYTES} bytes, no target file")
    groups = _groups(_parsed(data, path), path)
    found: list[Target] = []
    for group in groups:
        try:
            found += targets_of(group.targets, group.labels, scheme)
        except AccelwatchError as error:
            raise ConfigError(f"{path}: {error}") from error
        if len(found) > MAX_HOSTS:
            raise ConfigError(f"{path}: more than {MAX_HOSTS} targets")
    return found


def _groups(document: object, path: Path) -> tuple[Group, ...]:
    try:
        return msgspec.convert(document, tuple[Group, ...])
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: no list of targets and labels: {error}") from error


def _parsed(data: bytes, path: Path) -> Any:
    if path.suffix == ".json":
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: bad JSON: {error}") from error
    root = compose(data, str(path))
    if root is None:
        # An empty YAML file is one that is just being written far more often than an empty fleet.
        raise ConfigError(f"{path}: is empty; write [] for no targets")
    return _plain(root, path)


def _plain(root: yaml.Node, path: Path) -> Any:
    try:
        return plain(root)
    except Mistake as mistake:
        raise ConfigError(f"{path}: {mistake}") from mistake
