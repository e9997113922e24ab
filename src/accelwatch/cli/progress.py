"""Progress of long work on a terminal: share, rate and time left in a bar on stderr; nothing elsewhere.

The bar goes away when the work is over; messages of the meantime stand above it.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import Task, TaskID
    from rich.text import Text

_EVERY_S = 0.05
# How much is done in a second, in words.
Rate = Callable[[float], str]


def counting(what: str) -> Rate:
    """A rate of things: `120 tests/s`."""
    return lambda speed: f"{speed:,.0f} {what}/s" if speed >= 10 else f"{speed:.1f} {what}/s"


def recorded_time(speed: float) -> str:
    """A rate of recorded time: `3.2 h/s` reads three hours of a recording in a second."""
    unit, name = next((row for row in _UNITS if speed >= row[0]), (1, "s"))
    return f"{speed / unit:.1f} {name} of data/s"


_UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"))


class Progress:
    """Where long work says how far it has come."""

    def __init__(self, bar: "Bar | None" = None, task: "TaskID | None" = None) -> None:
        self._bar = bar
        self._task = task
        self._following = 0.0

    def at(self, done: float, total: float | None = None, title: str | None = None) -> None:
        """So much is done, of `total` where that has become known; `title` names the step."""
        if self._bar is None or self._task is None:
            return
        now = time.monotonic()
        if now < self._following and title is None:
            return
        self._following = now + _EVERY_S
        self._bar.update(self._task, completed=done, total=total, description=title)


@contextmanager
def progress(
    title: str, total: float | None = None, rate: Rate | None = None, *, shown: bool = True
) -> Iterator[Progress]:
    """A bar while the block runs, where a person looks and data does not go the same way."""
    if not shown or not watched():
        yield Progress()
        return
    from rich.console import Console

    bar = _bar(Console(file=sys.stderr), rate)
    with bar:
        yield Progress(bar, bar.add_task(title, total=total))


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """What long work comes to, in aligned columns."""
    from accelwatch.cli.table_lines import columns

    return "".join(f"{line.rstrip()}\n" for line in columns([heading, *rows]))


def watched() -> bool:
    """Whether stderr is a terminal that can move its cursor."""
    if sys.stderr is None or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return sys.stderr.isatty()


def _bar(console: "Console", rate: Rate | None) -> "Bar":
    from rich import progress as rich_progress
    from rich.text import Text

    class Speed(rich_progress.ProgressColumn):
        def render(self, task: "Task") -> "Text":
            speed = task.finished_speed or task.speed
            return Text("" if rate is None or not speed else rate(speed), "progress.data.speed")

    return rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(),
        Speed(),
        rich_progress.TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        redirect_stdout=False,
        transient=True,
    )
