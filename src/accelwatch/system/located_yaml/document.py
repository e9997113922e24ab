"""A file as plain data against struct types: every part with its line, or every mistake of the file.

Mistakes are noted by `complain` while reading goes on, and `refuse` raises them all; only what leaves
nothing to read is raised at once.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from accelwatch.base.errors import ConfigError
from accelwatch.base.names.nearest import unknown_key
from accelwatch.system.located_yaml.complaint import Complaint, refuse
from accelwatch.system.located_yaml.nodes import (
    Location,
    Mistake,
    PlainReader,
    compose,
    dotted,
    read_file,
)

Shape = TypeVar("Shape", bound=msgspec.Struct)

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\.\.\.)\]")


class LocatedDocument:
    """Plain data of a file, the line of each value in it, and what is wrong with it."""

    def __init__(
        self, file: str, data: Any, lines: dict[Location, int], mistakes: list[Mistake]
    ) -> None:
        self.data = data
        self._file = file
        self._lines = lines
        self._mistakes = mistakes

    def error(self, location: Location, message: str) -> ConfigError:
        """An error that names file, line and key, for a file with nothing more to read."""
        where = f"{self._file}:{self.line(location)}"
        return ConfigError(str(Complaint(where, dotted(location), message)))

    def complain(self, location: Location, message: str) -> None:
        """Note a mistake; of several at one path the first counts."""
        if all(mistake.location != location for mistake in self._mistakes):
            self._mistakes.append(Mistake(self.line(location), location, message))

    def is_wrong(self, location: Location) -> bool:
        """Whether something at or below a path is wrong, so that what depends on it is unknown."""
        return any(mistake.location[: len(location)] == location for mistake in self._mistakes)

    def refuse(self) -> None:
        """Raise a ConfigError with a line for each mistake, from the top; nothing without one."""
        refuse(
            Complaint(f"{self._file}:{mistake.line}", dotted(mistake.location), mistake.text)
            for mistake in sorted(self._mistakes, key=lambda mistake: mistake.line)
        )

    def struct(self, data: object, shape: type[Shape], location: Location) -> Shape | None:
        """Part of the document as a struct; None when it is no mapping or lacks a key.

        An optional field that does not fit has its default, so that the rest is checked too.
        """
        if not isinstance(data, dict):
            self.complain(location, "a mapping is expected")
            return None
        fields = _fields(shape)
        values: dict[str, Any] = {}
        for key, value in data.items():
            if key not in fields:
                self.complain((*location, key), unknown_key(key, fields))
            elif self._fits(value, fields[key].type, (*location, key)):
                values[fields[key].name] = msgspec.convert(value, fields[key].type)
        lacking = [
            key for key, field in fields.items() if field.required and field.name not in values
        ]
        for key in lacking:
            if key not in data:
                self.complain((*location, key), "is missing")
        return None if lacking else shape(**values)

    def structs(
        self, data: list[object], shape: type[Shape], location: Location
    ) -> Iterator[tuple[Location, Shape]]:
        """The items of a list as structs, each with its path; those with no shape are left out."""
        for at, item in enumerate(data):
            parsed = self.struct(item, shape, (*location, at))
            if parsed is not None:
                yield (*location, at), parsed

    def _fits(self, value: object, expected: Any, location: Location) -> bool:
        before = len(self._mistakes)
        if shape := _struct_in(expected):
            if isinstance(value, dict):
                self.struct(value, shape, location)
            elif isinstance(value, list):
                list(self.structs(value, shape, location))
        try:
            msgspec.convert(value, expected)
        except msgspec.ValidationError as error:
            if len(self._mistakes) == before:
                text, _, path = str(error).partition(" - at `$")
                self.complain(
                    (*location, *_steps(path.rstrip("`"))), text + _choices(text, expected)
                )
            return False
        return len(self._mistakes) == before

    def line(self, location: Location) -> int:
        """The line of a path, or of the nearest part above that has one."""
        while location and location not in self._lines:
            location = location[:-1]
        return self._lines.get(location, 1)


def read(path: Path) -> LocatedDocument:
    """Read a file. Raises ConfigError for what is unreadable or no YAML."""
    return parse(read_file(path), str(path))


def parse(content: bytes, file: str) -> LocatedDocument:
    """The same for content already read."""
    node = compose(content, file)
    reader = PlainReader()
    data = None if node is None else reader.read(node)
    return LocatedDocument(file, data, reader.lines, reader.mistakes)


# Reflection over a struct, for each mapping of a file. Types do not change.
@lru_cache(maxsize=256)
def _fields(shape: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    """Fields by the key that is written."""
    return {field.encode_name: field for field in msgspec.structs.fields(shape)}


def _struct_in(expected: Any) -> type[msgspec.Struct] | None:
    """The struct of a type that is one, may be one, or lists them."""
    for candidate in (expected, *get_args(expected)):
        if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
            return candidate
    return None


def _choices(text: str, expected: Any) -> str:
    """The words that would have been right, where one of a few is expected."""
    for candidate in (expected, *get_args(expected)):
        if (
            text.startswith("Invalid enum")
            and isinstance(candidate, type)
            and issubclass(candidate, StrEnum)
        ):
            return f"; one of {', '.join(candidate)}"
    return ""


def _steps(path: str) -> Location:
    steps: list[str | int] = []
    for name, position, unnamed in _STEP.findall(path):
        if unnamed:
            break
        steps.append(int(position) if position else name)
    return tuple(steps)
