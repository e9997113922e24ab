"""A YAML file as plain data that remembers its lines, so that an error names file, line and key."""

import re
from pathlib import Path
from typing import Any

import msgspec
import yaml

from accelwatch.errors import ConfigError
from accelwatch.schema.metrics import nearest

Place = tuple[str | int, ...]
"""Where something is in a document: keys and list positions from the top."""

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\.\.\.)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")
_MAX_BYTES = 1 << 20


class Document(msgspec.Struct, frozen=True):
    """Plain data of a file and the line of each place in it."""

    source: str
    data: Any
    lines: dict[Place, int]

    def error(self, place: Place, message: str) -> ConfigError:
        """An error that names file, line and key."""
        at = place
        while at and at not in self.lines:
            at = at[:-1]
        key = _dotted(place)
        where = f"{self.source}:{self.lines.get(at, 1)}"
        return ConfigError(f"{where}: {key}: {message}" if key else f"{where}: {message}")

    def convert(self, kind: Any, data: object, known: list[str], place: Place = ()) -> Any:
        """Part of the document as a struct; `known` keys are suggested. Raises ConfigError."""
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError as error:
            text, _, path = str(error).partition(" - at `$")
            where = (*place, *_place(path.rstrip("`")))
            raise self.error(where, _with_suggestion(text, known)) from error


def _with_suggestion(message: str, known: list[str]) -> str:
    unknown = _UNKNOWN.fullmatch(message)
    if unknown is None:
        return message
    close = nearest(unknown[1], known)
    return f"unknown key {unknown[1]!r}" + (f"; did you mean {close!r}?" if close else "")


def load(path: Path) -> Document:
    """Read a file. Raises ConfigError for a file that is unreadable, too big or no YAML."""
    try:
        content = path.read_bytes()[: _MAX_BYTES + 1]
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    if len(content) > _MAX_BYTES:
        raise ConfigError(f"{path}: more than {_MAX_BYTES >> 20} MiB")
    return parse(content, str(path))


def parse(content: bytes, source: str) -> Document:
    """YAML as a document. Raises ConfigError for bad syntax, a key given twice and an alias."""
    try:
        text = content.decode()
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise ConfigError(f"{source}: aliases are not taken")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or type(error).__name__
        raise ConfigError(f"{source}{line}: no YAML: {problem}") from error
    lines: dict[Place, int] = {}
    data = _Reader(source, lines).plain(node, ()) if node is not None else None
    return Document(source, data, lines)


class _Reader:
    def __init__(self, source: str, lines: dict[Place, int]) -> None:
        self._source = source
        self._lines = lines
        self._scalars = yaml.SafeLoader("")

    def plain(self, node: yaml.Node, place: Place) -> Any:
        """A node as plain data; notes lines on the way."""
        self._lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, (*place, at)) for at, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError(f"{self._source}:{line}: a key must be a plain word")
            key = str(key_node.value)
            if key in found:
                raise ConfigError(f"{self._source}:{line}: {_dotted((*place, key))} is given twice")
            self._lines[(*place, key)] = line
            found[key] = self.plain(value_node, (*place, key))
        return found

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            return self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            line = node.start_mark.line + 1
            raise ConfigError(f"{self._source}:{line}: {node.value!r} cannot be read") from error


def _place(path: str) -> Place:
    steps: list[str | int] = []
    for name, position, unnamed in _STEP.findall(path):
        if unnamed:
            break
        steps.append(int(position) if position else name)
    return tuple(steps)


def _dotted(place: Place) -> str:
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
