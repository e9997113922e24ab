"""A YAML file as nodes that know their line. Aliases and duplicate keys are mistakes here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from accelwatch.config.complaint import Complaint
from accelwatch.errors import ConfigError

MAX_FILE_BYTES = 1 << 20
_MAX_DEPTH = 16
_TAG = "tag:yaml.org,2002:"


def read_file(path: Path) -> bytes:
    """The file's content. Raises ConfigError when it cannot be read or is far too large."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ConfigError(f"{path}: cannot be read: {reason or error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_FILE_BYTES} bytes, no configuration file")
    return data


def compose(data: bytes, file: str) -> yaml.Node | None:
    """The root node; None for an empty document. Raises ConfigError with file and line."""
    try:
        _check_events(data, file)
        return yaml.compose(data, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ConfigError(_bad_yaml(file, error)) from error


def _check_events(data: bytes, file: str) -> None:
    """Refuse what would take long or loop before anything is built from it."""
    depth = 0
    for event in yaml.parse(data, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise ConfigError(f"{file}:{line(event)}: aliases are not taken; write it out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise ConfigError(f"{file}:{line(event)}: nested deeper than {_MAX_DEPTH} levels")


def _bad_yaml(file: str, error: Exception) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = (
        getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be parsed"
    )
    place = file if mark is None else f"{file}:{mark.line + 1}"
    return f"{place}: bad YAML: {problem}"


def line(thing: Any) -> int:
    """Line of a node or event, from 1."""
    return int(thing.start_mark.line) + 1


def kind(node: yaml.Node) -> str:
    """`str`, `int`, `float`, `bool`, `null`, `seq`, `map`, or an odd tag as it is."""
    return str(node.tag).removeprefix(_TAG)


def scalar(text: str, *, quoted: bool = False) -> yaml.ScalarNode:
    """A node for text from a variable or flag; unquoted text is typed as YAML would."""
    tag = _TAG + "str"
    if not quoted:
        loader = yaml.SafeLoader("")
        try:
            tag = loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        finally:
            loader.dispose()
    return yaml.ScalarNode(tag=tag, value=text)


def entries(
    node: yaml.MappingNode, file: str, prefix: str, complaints: list[Complaint]
) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Key, key node and value node of a mapping, the first of each key."""
    seen: dict[str, int] = {}
    for key_node, value in node.value:
        place = f"{file}:{line(key_node)}"
        if not isinstance(key_node, yaml.ScalarNode):
            complaints.append(Complaint(place, prefix, "a key must be a word"))
            continue
        key = str(key_node.value)
        if key in seen:
            text = f"given twice, first on line {seen[key]}"
            complaints.append(Complaint(place, joined(prefix, key), text))
            continue
        seen[key] = line(key_node)
        yield key, key_node, value


def joined(prefix: str, key: str) -> str:
    """A dotted key."""
    return f"{prefix}.{key}" if prefix else key
