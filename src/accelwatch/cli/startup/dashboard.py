"""The terminal dashboard on this machine, or on a recording; loads no command line parser."""

import contextlib
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.durations import reading_interval
from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.schema.display import utf8

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accelwatch.archive.blackbox.locations import Box
    from accelwatch.archive.blackbox.writer import Writer
    from accelwatch.fleet.picture.model import FleetSource
    from accelwatch.fleet.picture.source import SnapshotSource
    from accelwatch.node.sampler.protocol.settings import CollectSettings
    from accelwatch.tui.app import Dashboard
    from accelwatch.tui.local.sources.live import LiveSource
    from accelwatch.tui.state.board import Board, DeviceFilter
    from accelwatch.tui.theme.preferences import Preferences

# Opt-in groups that the dashboard reads by default.
SHOWN_GROUPS = frozenset({"host"})


def run_dashboard(
    *,
    interval: str | None = None,
    replay: str | None = None,
    theme: str | None = None,
    ascii_only: bool = False,
    readonly: bool = False,
    condition: str | None = None,
    loop: bool = False,
    served: bool = False,
    machine: "CollectSettings | None" = None,
) -> int:
    """Show the dashboard until its user quits; returns the exit code. A served one is not quit by key.

    `machine` says by what and under which root devices are read; without it, all that is here and
    the host.

    Raises UsageError, or ExpressionError for a condition, before the terminal is touched, and
    AccelwatchError when an error has ended the dashboard.
    """
    from accelwatch.tui.theme.preferences import load, path_of

    path = path_of(os.environ)
    preferences, complaint = load(path)
    override(preferences, interval, theme)
    keeps = _filter(condition)
    with contextlib.closing(_source(replay, preferences, machine, loop=loop)) as source:
        from accelwatch.tui.state.board import Board
        from accelwatch.tui.theme.appearance import appearance_for

        appearance = appearance_for(os.environ, utf8=utf8(sys.stdout), ascii_only=ascii_only)
        board = Board(preferences, appearance)
        board.set_filter(condition or "", keeps)
        board.terminal = not served
        board.replayed = Path(replay).name if replay is not None else ""
        if replay is None:
            board.root = Path(machine.root if machine is not None else "/")
        with contextlib.nullcontext() if served else _first_picture(board, source):
            from accelwatch.tui.app import Dashboard
        agent = _agent if source.local else None
        app = Dashboard(board, source, incidents=agent, readonly=readonly, preferences_path=path)
        _collect_garbage()
        if complaint:
            app.call_later(app.show_message, complaint)
        with _black_box(board) if source.local else contextlib.nullcontext():
            run_to_end(app)
    return OK


def _collect_garbage() -> None:
    """From here on, where that has waited for the imports; what is loaded is not gone over."""
    if not gc.isenabled():
        from accelwatch.node.sampler.garbage import collect_garbage

        collect_garbage()


@contextlib.contextmanager
def _black_box(board: "Board") -> "Iterator[None]":
    """Keep the last minutes of this machine while the dashboard runs, and let it show them."""
    from accelwatch.archive.blackbox.black_box import BlackBox

    box = BlackBox(_writer)
    board.keep, board.boxes = box.offer, _boxes
    try:
        yield
    finally:
        box.close()


def _writer() -> "Writer":
    """What keeps them, in the first state folder that this user may write into."""
    from accelwatch.archive.blackbox.files import FOLDER
    from accelwatch.archive.blackbox.writer import Writer
    from accelwatch.system.files.state_folders import state_folders, writable

    folders = state_folders(os.environ)
    folder = next((candidate for candidate in folders if writable(candidate)), folders[-1])
    return Writer(folder / FOLDER, detect_restart=False)


def _boxes() -> "list[Box]":
    from accelwatch.archive.blackbox.locations import boxes, folders

    return boxes(folders(os.environ))


def _first_picture(
    board: "Board", source: "SnapshotSource"
) -> contextlib.AbstractContextManager[None]:
    """Devices on the terminal while the rest is loaded; of a recording there is nothing to wait for."""
    from accelwatch.tui.local.sources.live import LiveSource
    from accelwatch.tui.startup.first_picture import first_picture
    from accelwatch.tui.terminal.alternate_screen import own_terminal

    descriptor = own_terminal()
    if descriptor is None or not isinstance(source, LiveSource):
        return contextlib.nullcontext()
    return first_picture(board, source, descriptor)


def _agent() -> "FleetSource":
    """The agent of this machine, whose incidents are shown."""
    from accelwatch.base.default_addresses import AGENT_ADDRESS
    from accelwatch.fleet.hub_client.agent import AgentIncidents
    from accelwatch.fleet.targets.hub_endpoint import hub_endpoint

    return AgentIncidents(hub_endpoint(AGENT_ADDRESS))


def run_to_end(app: "Dashboard") -> None:
    """Show it until its user quits. Raises AccelwatchError for an error that ended it."""
    from accelwatch.tui.terminal.termination_signals import quit_on_signal

    app.call_later(quit_on_signal, app.exit)
    app.run()
    if app.failure is not None:
        from accelwatch.tui import failure

        raise failure.user_error(app.failure, failure.path_of(os.environ)) from app.failure


def _filter(condition: str | None) -> "DeviceFilter | None":
    if not condition:
        return None
    from accelwatch.tui.local.filters import device_filter

    return device_filter(condition, os.uname().nodename)


def override(preferences: "Preferences", interval: str | None, theme: str | None) -> None:
    """What the command line says goes before the file."""
    from accelwatch.tui.theme.palettes import PALETTES

    if interval is not None:
        preferences.interval_s = reading_interval(interval)
    if theme is not None:
        if theme not in PALETTES:
            raise UsageError(f"no theme {theme!r}; there are {', '.join(PALETTES)}")
        preferences.theme = theme


def _source(
    replay: str | None,
    preferences: "Preferences",
    machine: "CollectSettings | None",
    *,
    loop: bool,
) -> "SnapshotSource":
    """This machine, a recording, or a scenario of the replay backend (`demo` is the shipped one).

    A collector begins at once, while the rest of the program is still being loaded.
    """
    from accelwatch.node.sampler.protocol.settings import CollectSettings

    machine = machine or CollectSettings(groups=SHOWN_GROUPS)
    settings = msgspec.structs.replace(machine, interval_s=preferences.interval_s, argv=True)
    if replay is None:
        return _start_source(_with_host(settings), local=settings.root == "/")
    from accelwatch.archive.recording import Recording, may_be_recording
    from accelwatch.cli.replay_file import replay_file

    path = Path(replay_file(replay))
    if may_be_recording(path):
        from accelwatch.tui.local.sources.replay import ReplaySource

        if machine not in (CollectSettings(), CollectSettings(groups=SHOWN_GROUPS)):
            raise UsageError("--root, --backend and --collect are for devices, not for a recording")
        return ReplaySource(Recording.open(path), loop=loop)
    options: dict[str, dict[str, object]] = {"replay": {"file": str(path)}}
    backends = settings.backends or ("replay",)
    settings = msgspec.structs.replace(settings, backends=backends, options=options)
    return _start_source(settings, local=False)


def _with_host(settings: "CollectSettings") -> "CollectSettings":
    """The settings with the host's backend where its group is wanted and backends are named."""
    named = settings.backends
    if not named or "host" in named or "host" not in settings.groups:
        return settings
    return msgspec.structs.replace(settings, backends=(*named, "host"))


def _start_source(settings: "CollectSettings", *, local: bool) -> "LiveSource":
    """Devices that are being read; a collector that waits has its order before anything is loaded."""
    from accelwatch.node.sampler import early
    from accelwatch.node.sampler.protocol.settings import StartOrder

    early.give_order(StartOrder(settings=settings))
    from accelwatch.tui.local.sources.live import LiveSource

    source = LiveSource(settings, local=local)
    source.start()
    return source
