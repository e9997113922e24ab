"""A YAML file as plain data that remembers its lines, so that a mistake names file, line and key."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from accelwatch.config.complaint import unknown
from accelwatch.config.document import compose, line, read_file
from accelwatch.errors import ConfigError

Place = tuple[str | int, ...]
"""Where something is: keys and list positions from the top."""

Shape = TypeVar("Shape", bound=msgspec.Struct)


class Located(msgspec.Struct, frozen=True):
    """Plain data of a file and the line of each place in it."""

    file: str
    data: Any
    lines: dict[Place, int]

    def error(self, place: Place, message: str) -> ConfigError:
        """An error that names file, line and key."""
        at = place
        while at and at not in self.lines:
            at = at[:-1]
        parts = (f"{self.file}:{self.lines.get(at, 1)}", dotted(place), message)
        return ConfigError(": ".join(part for part in parts if part))

    def convert(self, data: object, shape: type[Shape], place: Place) -> Shape:
        """Part of the document as a struct. Raises ConfigError for unknown keys and wrong types."""
        if not isinstance(data, dict):
            raise self.error(place, "a mapping is expected")
        fields = {field.name: field for field in msgspec.structs.fields(shape)}
        for key in data:
            if key not in fields:
                raise self.error((*place, key), unknown(key, fields))
        for key, value in data.items():
            try:
                msgspec.convert(value, fields[key].type)
            except msgspec.ValidationError as error:
                text = str(error).partition(" - at `$")[0]
                raise self.error((*place, key), text) from error
        try:
            return msgspec.convert(data, shape)
        except msgspec.ValidationError as error:
            raise self.error(place, str(error)) from error


def dotted(place: Place) -> str:
    """`faults[2].node`."""
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def read(path: Path) -> Located:
    """Read a file. Raises ConfigError for what is unreadable, no YAML, or has a key twice."""
    return parse(read_file(path), str(path))


def parse(content: bytes, file: str) -> Located:
    """The same for content already read."""
    node = compose(content, file)
    lines: dict[Place, int] = {}
    data = None if node is None else _plain(node, (), file, lines)
    return Located(file, data, lines)


def _plain(node: yaml.Node, place: Place, file: str, lines: dict[Place, int]) -> Any:
    lines.setdefault(place, line(node))
    if isinstance(node, yaml.SequenceNode):
        return [_plain(one, (*place, at), file, lines) for at, one in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        try:
            return yaml.SafeLoader("").construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise ConfigError(f"{file}:{line(node)}: {node.value!r} cannot be read") from error
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        inner = (*place, key)
        if not isinstance(key_node, yaml.ScalarNode) or key in found:
            told = "given twice" if key in found else "a key must be a word"
            raise ConfigError(f"{file}:{line(key_node)}: {dotted(inner)}: {told}")
        lines[inner] = line(key_node)
        found[key] = _plain(value_node, inner, file, lines)
    return found
