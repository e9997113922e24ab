"""The private parts of Textual that the dashboard uses, all of them here, and what it does without one.

Textual has no public API for a painting of fewer bytes, for an error without a wall of frames, nor for
a thread that waits for keys. A release that has moved a part costs what the part was for, and nothing
else: Textual then paints, reports or reads as it does for every program.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

import msgspec
from rich.console import Console, RenderableType
from textual.app import App
from textual.driver import Driver
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip

# Parts of one line by their first column; None: as they were.
Chops = Mapping[int, Strip | None]


def _private(module: str, name: str) -> Any:
    """A private part, looked up when it is needed; None where this release has none of the name."""
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None


def _compositor(name: str) -> Any:
    return _private("textual._compositor", name)


if TYPE_CHECKING:
    from textual._compositor import CompositorUpdate
else:
    CompositorUpdate = _compositor("CompositorUpdate") or object


class Composed(msgspec.Struct, frozen=True, kw_only=True):
    """What Textual has composed: whole lines after a change of layout, else parts of them."""

    # Columns and lines of the region, where it is a layout.
    size: tuple[int, int] | None
    # Line, and what is on it; to be read once.
    lines: Iterable[tuple[int, Chops]]


def composed(update: object) -> Composed | None:
    """The lines of an update; None where it is something else, or cannot be read."""
    layout, chops = _compositor("LayoutUpdate"), _compositor("ChopsUpdate")
    if layout is None or chops is None or CompositorUpdate is object:
        return None
    if isinstance(update, layout):
        region = update.region
        lines = enumerate(map(_by_column, update.strips), region.y)
        return Composed(size=tuple(region.size), lines=lines)
    if isinstance(update, chops):
        dirty = dict.fromkeys(y for y, _, _ in update.spans)
        return Composed(size=None, lines=((y, update.chops[y]) for y in dirty))
    return None


def _by_column(line: Iterable[Strip]) -> dict[int, Strip]:
    """The strips of a line by column."""
    strips, x = {}, 0
    for strip in line:
        strips[x] = strip
        x += strip.cell_length
    return strips


class TerminalUpdate(CompositorUpdate):
    """Something that Textual sends to the terminal as it is, and moves the cursor after."""

    def render_segments(self, console: Console) -> str:
        """The characters and escape sequences for the terminal."""
        raise NotImplementedError


class KeyParser(Protocol):
    """From characters of a terminal to keys."""

    def feed(self, data: str) -> Iterator[Message]:
        """What is complete with these characters."""
        ...

    def tick(self) -> Iterator[Message]:
        """What is complete because nothing more has come: a lone Escape."""
        ...


def can_parse_keys() -> bool:
    """Whether Textual's parser of keys is where it is expected."""
    return _private("textual._xterm_parser", "XTermParser") is not None


def key_parser(driver: Driver) -> KeyParser:
    """Textual's parser; there where `can_parse_keys`."""
    parser = _private("textual._xterm_parser", "XTermParser")
    return cast(KeyParser, parser(getattr(driver, "_debug", False)))


def redirect(driver: Driver, file: TextIO) -> None:
    """Have a driver write to a file; without the private part it writes to stderr."""
    if hasattr(driver, "_file"):
        driver._file = file


class HookedApp(App[None], inherit_bindings=False):
    """An application that says what is sent, and ends with an error without printing it."""

    # What has ended the program, if nobody had handled it.
    failure: Exception | None = None

    def changes(self, update: object) -> object:
        """What is sent instead of what was composed; a release that does not call this sends it all."""
        return update

    def fail(self, error: Exception) -> None:
        """End the program; its caller prints the error once the terminal is free again."""
        self._handle_exception(error)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, cast("RenderableType | None", self.changes(renderable)))

    def _handle_exception(self, error: Exception) -> None:
        self.failure = self.failure or error
        inherited = getattr(super(), "_handle_exception", None)
        if inherited is None:
            self.exit(return_code=1)
        else:
            inherited(error)

    def _fatal_error(self) -> None:
        """Print nothing: a wall of frames with the values of their variables helps nobody."""
        close = getattr(self, "_close_messages_no_wait", None)
        if close is None:
            self.exit(return_code=1)
        else:
            close()
