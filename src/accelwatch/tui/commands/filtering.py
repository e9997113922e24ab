"""The line in which a filter of the present screen is typed."""

from accelwatch.tui.context import DialogContext
from accelwatch.tui.state.filtering import Filtering


def prompt_filter(app: DialogContext, filtering: Filtering) -> None:
    """Have a filter typed; it applies while typing, and Esc undoes it."""
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
