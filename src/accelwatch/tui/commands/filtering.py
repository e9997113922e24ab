"""A filter of the present screen: how it is set, checked and counted; and its line."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from accelwatch.tui.app import Dashboard


class Filtering(msgspec.Struct, frozen=True, kw_only=True):
    """What is filtered, and how."""

    what: str
    """In one word, as people say it."""
    table: str
    """Name under which typed filters are remembered."""
    present: str
    """The filter that is set."""
    example: str
    """A condition."""
    wrong: Callable[[str], str]
    """What is wrong with a text; empty when nothing is."""
    names: Sequence[str]
    """What is completed."""
    set: Callable[[str], None]
    """Filter by a text that is well."""
    count: Callable[[], str]
    """What is left of how much, now."""
    pause_s: float = 0.0
    """So long nothing may be typed before the filter is set: somebody else is asked."""


def prompt_filter(app: "Dashboard", filtering: Filtering) -> None:
    """Have a filter typed; it takes effect meanwhile, and Esc takes it back."""
    from accelwatch.tui.screens.dialogs.filter_line import FilterScreen

    before = filtering.present

    def submitted(text: str | None) -> None:
        filtering.set(before if text is None else text)
        if text is not None:
            app.board.remember_filter(filtering.table, text)

    line = FilterScreen(
        app.board,
        f"Filter {filtering.what}",
        before,
        f"plain text, or a condition such as {filtering.example}; empty: all",
        filtering.wrong,
        names=filtering.names,
        earlier=app.board.typed_filters.get(filtering.table, ()),
        apply=filtering.set,
        count=filtering.count,
        pause_s=filtering.pause_s,
    )
    app.push_screen(line, submitted)
