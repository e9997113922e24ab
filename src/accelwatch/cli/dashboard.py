"""`accelwatch dashboard`: the terminal dashboard on this machine, or on a recording."""

import os
import sys
from typing import Annotated

import typer

from accelwatch.cli.entry import guarded
from accelwatch.display import utf8
from accelwatch.durations import seconds
from accelwatch.errors import UsageError
from accelwatch.exit_codes import OK


def run_dashboard(
    *,
    interval: str | None = None,
    theme: str | None = None,
    ascii_only: bool = False,
    readonly: bool = False,
) -> int:
    """Show the dashboard until its user quits; returns the exit code. Raises UsageError."""
    from accelwatch.sampler.settings import CollectSettings
    from accelwatch.tui.app import Dashboard
    from accelwatch.tui.board import Board
    from accelwatch.tui.live import LiveSource
    from accelwatch.tui.looks import looks_for
    from accelwatch.tui.palettes import PALETTES
    from accelwatch.tui.preferences import INTERVALS, load, path_of

    preferences, _ = load(path_of(os.environ))
    if interval is not None:
        preferences.interval_s = max(seconds(interval), INTERVALS[0])
    if theme is not None:
        if theme not in PALETTES:
            raise UsageError(f"no theme {theme!r}; there are {', '.join(PALETTES)}")
        preferences.theme = theme
    looks = looks_for(os.environ, utf8=utf8(sys.stdout), ascii_only=ascii_only)
    settings = CollectSettings(interval_s=preferences.interval_s)
    Dashboard(Board(preferences, looks), LiveSource(settings), readonly=readonly).run()
    return OK


def dashboard_command(
    interval: Annotated[str | None, typer.Option(help="Time between readings: 2, 500ms.")] = None,
    theme: Annotated[str | None, typer.Option(help="Colours; T goes through them.")] = None,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Draw with ASCII only.")] = False,
    readonly: Annotated[bool, typer.Option("--readonly", help="Send no signals.")] = False,
) -> None:
    """Show all devices in the terminal, and keep the picture current."""
    code = guarded(
        lambda: run_dashboard(
            interval=interval, theme=theme, ascii_only=ascii_only, readonly=readonly
        )
    )
    raise typer.Exit(code)
