"""What is on the terminal before Textual is: over the stand-in library, on a real pseudo-terminal."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.color import ColorSystem
from rich.console import Console

from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.tui.drawing.pen import system_of
from accelwatch.tui.local.sources.live import LiveSource
from accelwatch.tui.startup.first_picture import first_picture, picture
from accelwatch.tui.startup.starting_picture import starting_picture
from accelwatch.tui.state.board import Board
from accelwatch.tui.terminal.alternate_screen import own_terminal
from accelwatch.tui.theme.appearance import Appearance
from accelwatch.tui.theme.preferences import Preferences
from support.dashboards.local import board_of, node
from support.machines.nvml_stand_ins import NvmlScenario

# A guard against a test that never ends.
LONG_S = 60.0
SIZE = os.terminal_size((100, 30))


class Terminal:
    """A pseudo-terminal and what was written to it."""

    def __init__(self) -> None:
        self._leader, self.descriptor = pty.openpty()
        self.resize(SIZE)
        self.output = b""

    def resize(self, to: os.terminal_size) -> None:
        size = struct.pack("HHHH", to.lines, to.columns, 0, 0)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, size)

    def until(self, *words: bytes) -> None:
        end = time.monotonic() + LONG_S
        while not all(word in self.output for word in words):
            assert time.monotonic() < end, self.output
            if select.select([self._leader], [], [], 0.1)[0]:
                self.output += os.read(self._leader, 1 << 16)

    def close(self) -> None:
        os.close(self._leader)
        os.close(self.descriptor)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveSource]:
    scenario = NvmlScenario(tmp_path / "node.scenario").devices(4)
    scenario.write()
    for name, value in scenario.environment().items():
        monkeypatch.setenv(name, value)
    live = LiveSource(CollectSettings(interval_s=0.25, timeout_s=30.0, backends=("nvidia",)))
    live.start()
    yield live
    live.close()


def test_devices_are_shown_while_the_rest_is_loaded(terminal: Terminal, source: LiveSource) -> None:
    board = Board(Preferences(), Appearance())
    with first_picture(board, source, terminal.descriptor):
        terminal.until(b"\x1b[?1049h", b"local", b"nvidia0", b"nvidia3", b"%")
    assert [view.device.name for view in board.devices] == [f"nvidia{n}" for n in range(4)]
    assert b"\x1b[?1049l" not in terminal.output


def test_the_first_readings_wait_for_no_others(
    terminal: Terminal, source: LiveSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelwatch.tui.startup.first_picture._GATHER_S", LONG_S)
    with first_picture(Board(Preferences(), Appearance()), source, terminal.descriptor):
        terminal.until(b"nvidia0", b"nvidia3", b"%")


def test_nothing_is_loaded_before_the_first_readings_are_shown(
    terminal: Terminal, source: LiveSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelwatch.tui.startup.first_picture._FIRST_S", LONG_S)
    board = Board(Preferences(), Appearance())
    with first_picture(board, source, terminal.descriptor):
        assert source.all_reported
        assert [view.state.value for view in board.devices] == ["ok"] * 4


def test_a_driver_that_takes_long_is_not_waited_for(
    terminal: Terminal, source: LiveSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelwatch.tui.startup.first_picture._FIRST_S", 0.0)
    monkeypatch.setattr(LiveSource, "all_reported", False)
    with first_picture(Board(Preferences(), Appearance()), source, terminal.descriptor):
        terminal.until(b"nvidia3", b"%")


def test_reports_of_later_are_drawn_together(terminal: Terminal, source: LiveSource) -> None:
    while not source.all_reported:
        source.receive()
    with first_picture(Board(Preferences(), Appearance()), source, terminal.descriptor):
        terminal.until(b"nvidia3", b"%")
        terminal.output = b""
        terminal.until(b"nvidia0", b"nvidia3", b"%")


@pytest.mark.parametrize("size", [(0, 0), (0, 40), (160, 0)])
def test_a_terminal_that_does_not_know_its_size_is_a_usual_one(
    terminal: Terminal, source: LiveSource, size: tuple[int, int]
) -> None:
    terminal.resize(os.terminal_size(size))
    with first_picture(Board(Preferences(), Appearance()), source, terminal.descriptor):
        terminal.until(b"nvidia0", b"nvidia3")


def test_it_gets_its_turn_soon_only_while_it_draws(terminal: Terminal, source: LiveSource) -> None:
    usual = sys.getswitchinterval()
    with first_picture(board_of(), source, terminal.descriptor):
        assert sys.getswitchinterval() < usual
    assert sys.getswitchinterval() == usual


def test_an_error_gives_the_terminal_back(terminal: Terminal, source: LiveSource) -> None:
    with (
        pytest.raises(ImportError),
        first_picture(Board(Preferences(), Appearance()), source, terminal.descriptor),
    ):
        raise ImportError("textual")
    terminal.until(b"\x1b[?1049l")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_terminated_gives_the_terminal_back(
    terminal: Terminal, source: LiveSource, number: signal.Signals
) -> None:
    usual = signal.getsignal(number)
    with (
        pytest.raises(SystemExit) as ended,
        first_picture(board_of(), source, terminal.descriptor),
    ):
        signal.raise_signal(number)
    assert ended.value.code == 128 + number
    terminal.until(b"\x1b[?1049l")
    assert signal.getsignal(number) is usual


def test_nobody_is_stopped_behind_a_picture(terminal: Terminal, source: LiveSource) -> None:
    usual = signal.getsignal(signal.SIGTSTP)
    with first_picture(board_of(), source, terminal.descriptor):
        signal.raise_signal(signal.SIGTSTP)
    assert signal.getsignal(signal.SIGTSTP) is usual


def test_a_collector_that_does_not_start_holds_nobody_up(terminal: Terminal) -> None:
    with first_picture(
        Board(Preferences(), Appearance()), LiveSource(CollectSettings()), terminal.descriptor
    ):
        terminal.until(b"accelwatch")


def test_it_stands_where_the_dashboard_paints() -> None:
    board = board_of(density="compact")
    board.show(node(4))
    text = picture(board, SIZE, board.snapshot.time)
    assert text.startswith("\x1b[1;1H")
    assert "\x1b[3;1H" in text
    assert text.index("DEVICE") < text.index("nvidia0") < text.index("nvidia3")


def test_a_heat_grid_is_left_to_the_dashboard() -> None:
    board = board_of()
    board.show(node(32))
    assert "nvidia0" not in picture(board, SIZE, board.snapshot.time)


def test_a_small_terminal_gets_what_fits() -> None:
    board = board_of(density="compact")
    board.show(node(8))
    text = picture(board, os.terminal_size((80, 6)), board.snapshot.time)
    assert "\x1b[6;1H" not in text or "nvidia7" not in text
    assert "\x1b[7;1H" not in text


def test_without_a_terminal_or_in_a_browser_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.__stdout__", None)
    assert own_terminal() is None
    leader, follower = pty.openpty()
    try:
        with os.fdopen(follower, "w") as stream:
            monkeypatch.setattr("sys.__stdout__", stream)
            monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
            assert own_terminal() == stream.fileno()
            monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.web_driver:WebDriver")
            assert own_terminal() is None
    finally:
        os.close(leader)
    with Path(os.devnull).open("w") as stream:
        monkeypatch.setattr("sys.__stdout__", stream)
        monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
        assert own_terminal() is None


@pytest.mark.parametrize("colours", ["", "truecolor", " 24BIT ", "256"])
@pytest.mark.parametrize(
    "term",
    [
        "",
        "xterm",
        "xterm-256color",
        "screen-16color",
        "xterm-kitty",
        "DUMB",
        "unknown",
        " x-256color",
    ],
)
def test_a_terminal_is_taken_to_be_able_of_what_rich_takes_it_for(term: str, colours: str) -> None:
    environ = {"TERM": term, "COLORTERM": colours}
    rich = Console(force_terminal=True, _environ=environ)._color_system
    assert system_of(environ) == (rich or ColorSystem.TRUECOLOR)
    assert system_of({}) == ColorSystem.STANDARD


def test_what_takes_long_to_load_is_not_waited_for() -> None:
    looked = (
        "import sys, accelwatch.tui.startup.first_picture, accelwatch.tui.local.sources.live\n"
        "print([name for name in ('asyncio', 'textual', 'numpy') if name in sys.modules])"
    )
    words = [sys.executable, "-c", looked]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_is_being_started_is_shown_before_anything_else(terminal: Terminal) -> None:
    with starting_picture("starting 24 simulated nodes", terminal.descriptor):
        terminal.until(b"\x1b[?1049h", b"accelwatch", b"starting 24 simulated nodes ...")
    assert b"\x1b[?1049l" not in terminal.output


def test_an_error_while_starting_gives_the_terminal_back(terminal: Terminal) -> None:
    with (
        pytest.raises(RuntimeError, match="no hub"),
        starting_picture("starting", terminal.descriptor),
    ):
        raise RuntimeError("no hub")
    terminal.until(b"\x1b[?1049l")


def test_without_a_terminal_nothing_is_written_before(capfd: pytest.CaptureFixture[str]) -> None:
    with starting_picture("starting", None):
        pass
    assert capfd.readouterr().out == ""


def test_what_is_being_started_waits_for_no_library() -> None:
    code = (
        "import sys, accelwatch.tui.startup.starting_picture\n"
        "print([name for name in ('textual', 'rich', 'asyncio', 'msgspec') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
