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
from accelwatch.located_yaml.complaint import Complaint, refuse, unknown
from accelwatch.located_yaml.nodes import Mistake, Place, PlainReader, compose, dotted, read_file

Shape = TypeVar("Shape", bound=msgspec.Struct)

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\.\.\.)\]")


class Document:
    """Plain data of a file, the line of each place in it, and what is wrong with it."""

    def __init__(
        self, file: str, data: Any, lines: dict[Place, int], mistakes: list[Mistake]
    ) -> None:
        self.data = data
        self._file = file
        self._lines = lines
        self._mistakes = mistakes

    def error(self, place: Place, message: str) -> ConfigError:
        """An error that names file, line and key, for a file with nothing more to read."""
        where = f"{self._file}:{self.line(place)}"
        return ConfigError(str(Complaint(where, dotted(place), message)))

    def complain(self, place: Place, message: str) -> None:
        """Note a mistake; of several at one place the first counts."""
        if all(mistake.place != place for mistake in self._mistakes):
            self._mistakes.append(Mistake(self.line(place), place, message))

    def is_wrong(self, place: Place) -> bool:
        """Whether something at or below a place is wrong, so that what depends on it is unknown."""
        return any(mistake.place[: len(place)] == place for mistake in self._mistakes)

    def refuse(self) -> None:
        """Raise a ConfigError with a line for each mistake, from the top; nothing without one."""
        refuse(
            Complaint(f"{self._file}:{mistake.line}", dotted(mistake.place), mistake.text)
            for mistake in sorted(self._mistakes, key=lambda mistake: mistake.line)
        )

    def struct(self, data: object, shape: type[Shape], place: Place) -> Shape | None:
        """Part of the document as a struct; None when it is no mapping or lacks a key.

        An optional field that does not fit has its default, so that the rest is checked too.
        """
        if not isinstance(data, dict):
            self.complain(place, "a mapping is expected")
            return None
        fields = _fields(shape)
        given: dict[str, Any] = {}
        for key, value in data.items():
            if key not in fields:
                self.complain((*place, key), unknown(key, fields))
            elif self._fits(value, fields[key].type, (*place, key)):
                given[fields[key].name] = msgspec.convert(value, fields[key].type)
        lacking = [
            key for key, field in fields.items() if field.required and field.name not in given
        ]
        for key in lacking:
            if key not in data:
                self.complain((*place, key), "is missing")
        return None if lacking else shape(**given)

    def structs(
        self, data: list[object], shape: type[Shape], place: Place
    ) -> Iterator[tuple[Place, Shape]]:
        """The items of a list as structs, each with its place; those with no shape are left out."""
        for at, item in enumerate(data):
            part = self.struct(item, shape, (*place, at))
            if part is not None:
                yield (*place, at), part

    def _fits(self, value: object, wanted: Any, place: Place) -> bool:
        before = len(self._mistakes)
        if shape := _struct_in(wanted):
            if isinstance(value, dict):
                self.struct(value, shape, place)
            elif isinstance(value, list):
                list(self.structs(value, shape, place))
        try:
            msgspec.convert(value, wanted)
        except msgspec.ValidationError as error:
            if len(self._mistakes) == before:
                text, _, path = str(error).partition(" - at `$")
                self.complain((*place, *_steps(path.rstrip("`"))), text + _choices(text, wanted))
            return False
        return len(self._mistakes) == before

    def line(self, place: Place) -> int:
        """The line of a place, or of the nearest part above that has one."""
        while place and place not in self._lines:
            place = place[:-1]
        return self._lines.get(place, 1)


def read(path: Path) -> Document:
    """Read a file. Raises ConfigError for what is unreadable or no YAML."""
    return parse(read_file(path), str(path))


def parse(content: bytes, file: str) -> Document:
    """The same for content already read."""
    node = compose(content, file)
    reader = PlainReader()
    data = None if node is None else reader.read(node)
    return Document(file, data, reader.lines, reader.mistakes)


@lru_cache(maxsize=256)
def _fields(shape: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    """Fields by the key that is written."""
    return {field.encode_name: field for field in msgspec.structs.fields(shape)}


def _struct_in(wanted: Any) -> type[msgspec.Struct] | None:
    """The struct of a type that is one, may be one, or lists them."""
    for part in (wanted, *get_args(wanted)):
        if isinstance(part, type) and issubclass(part, msgspec.Struct):
            return part
    return None


def _choices(text: str, wanted: Any) -> str:
    """The words that would have been right, where one of a few is expected."""
    for part in (wanted, *get_args(wanted)):
        if text.startswith("Invalid enum") and isinstance(part, type) and issubclass(part, StrEnum):
            return f"; one of {', '.join(part)}"
    return ""


def _steps(path: str) -> Place:
    steps: list[str | int] = []
    for name, position, unnamed in _STEP.findall(path):
        if unnamed:
            break
        steps.append(int(position) if position else name)
    return tuple(steps)
