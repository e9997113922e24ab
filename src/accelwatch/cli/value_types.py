"""Types of options' values; what cannot be read is refused with the value and a form that is allowed.

click puts the option's name before it.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import click

from accelwatch.base import durations
from accelwatch.base.errors import UsageError

_Context = click.Context | None
_Parameter = click.Parameter | None


class Integer(click.ParamType[int]):
    """A whole number; the command says which are too large or too small."""

    name = "integer"

    def convert(self, value: Any, param: _Parameter, ctx: _Context) -> int:
        """Raises click.BadParameter."""
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number; write one such as 8", param, ctx)


class BoundedInteger(click.IntRange):
    """A whole number from `min` to `max`; its help shows them."""

    def convert(self, value: Any, param: _Parameter, ctx: _Context) -> int:
        """Raises click.BadParameter."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"{value!r} is not a whole number; write {self._allowed()}", param, ctx)

    def _allowed(self) -> str:
        if self.max is None:
            return f"{self.min} or more"
        return f"{self.max} or less" if self.min is None else f"{self.min} to {self.max}"


class CheckedText(click.ParamType[str]):
    """A text that the command parses itself, and that reads as what it has to be."""

    name = "text"

    def __init__(self, parse: Callable[[str], object]) -> None:
        """`parse` raises UsageError, with an allowed form."""
        self._parse = parse

    def convert(self, value: Any, param: _Parameter, ctx: _Context) -> str:
        """Raises click.BadParameter."""
        text = str(value)
        try:
            self._parse(text)
        except UsageError as error:
            self.fail(str(error), param, ctx)
        return text


def _duration(text: str) -> None:
    if not durations.is_duration(text):
        raise UsageError(f"{text!r} is not a valid duration; write 500ms, 30s, 5m, 2h or 1d")


# By the metavar, which says in the help what has to be written.
CHECKED_TEXTS: Mapping[str, CheckedText] = MappingProxyType(
    {
        "DURATION": CheckedText(_duration),
        "[INTERVAL]": CheckedText(_duration),
        "SIZE": CheckedText(durations.size_bytes),
    }
)


def number(least: int | None, most: int | None) -> click.ParamType[Any]:
    """A whole number, within the bounds where there are some."""
    return Integer() if least is None and most is None else BoundedInteger(least, most)
