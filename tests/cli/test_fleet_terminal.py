"""`accelwatch demo` and `fleet` in a real terminal (tmux): opened, walked through, ended, killed."""

import asyncio
import contextlib
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.fleet.hub_peers import agent
from support.fleet.several_hubs import hub_of, other_machine

# A guard against a test that never ends.
LONG_S = 60.0
NODE = re.compile(rb"\bn0[0-2]\d")
# accelwatch on a Textual in which no private part is where the dashboard looks for it.
WITHOUT_PRIVATE_PARTS = """
import runpy
from accelwatch.tui.terminal import textual_private
textual_private._private = lambda module, name: None
runpy.run_module("accelwatch", run_name="__main__")
"""


class Window:
    """A terminal of 120 x 40 with one command in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime = folder / "run"
        self.runtime.mkdir()
        self._socket = str(folder / "tmux")
        self._pid = folder / "pid"
        self._code = folder / "code"

    def open(self, *words: str, python: tuple[str, ...] = ("-m", "accelwatch")) -> None:
        """Run accelwatch with these words; `python`: what the interpreter runs."""
        command = self._command(words, python)
        self._start(
            f"set -m; {command} & echo $! > {self._pid}; fg >/dev/null; echo $? > {self._code};"
            " sleep 1000"
        )

    def open_in_shell(self, *words: str) -> None:
        """The same under a shell that tells when it is stopped, and lets it go on after a line."""
        self._start(
            f"set -m; {self._command(words)}; echo stopped; read line; fg >/dev/null;"
            f" echo $? > {self._code}; sleep 1000"
        )

    def open_alone(self, *words: str) -> None:
        """The same without any shell that could wait for it."""
        self._start(f"exec {self._command(words)}")

    def _command(
        self, words: tuple[str, ...], python: tuple[str, ...] = ("-m", "accelwatch")
    ) -> str:
        environ = {
            "LC_ALL": "C.UTF-8",
            "XDG_CONFIG_HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        }
        given = [f"{name}={value}" for name, value in environ.items()]
        return shlex.join(
            [
                "env",
                "-u",
                "NO_COLOR",
                "-u",
                "COLUMNS",
                "-u",
                "LINES",
                *given,
                sys.executable,
                *python,
                *words,
            ]
        )

    def _start(self, line: str) -> None:
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", line)

    @property
    def full(self) -> bool:
        """Whether a program has the whole screen to itself."""
        return self._tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def _tmux(self, *words: str) -> str:
        run = subprocess.run(
            ["tmux", "-S", self._socket, *words], capture_output=True, text=True, check=True
        )
        return run.stdout

    @property
    def pid(self) -> int:
        """The dashboard's process."""
        return int(self._pid.read_text())

    def press(self, *keys: str) -> None:
        """Type."""
        self._tmux("send-keys", *keys)

    def until(self, good: Callable[[str], bool]) -> str:
        """What is on the screen once it is as wanted."""
        limit = time.monotonic() + LONG_S
        while not good(text := self._tmux("capture-pane", "-p")):
            assert time.monotonic() < limit, text
            time.sleep(0.05)
        return text

    def code(self) -> str:
        """The exit code once the program has ended."""
        limit = time.monotonic() + LONG_S
        while not self._code.exists() or not (text := self._code.read_text().strip()):
            assert time.monotonic() < limit
            time.sleep(0.02)
        return text

    def close(self) -> None:
        """End the terminal and all in it."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False)


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not on PATH (Debian: apt install tmux)")
    opened = Window(tmp_path)
    yield opened
    opened.close()


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def shows(*texts: str) -> Callable[[str], bool]:
    """Whether all of these are on the screen."""
    return lambda screen: all(text in screen for text in texts)


def is_page_of_a_node(text: str) -> bool:
    """Whether a node's devices and processes are shown, and no list of nodes."""
    return shows("DEVICE", "COMMAND")(text) and re.search(r"\bn0\d\d\b", text) is not None


def gone(pids: list[int], folder: Path) -> None:
    """Wait until the processes have ended and their folder is empty."""
    limit = time.monotonic() + LONG_S
    while any(Path(f"/proc/{pid}").exists() for pid in pids) or list(folder.iterdir()):
        assert time.monotonic() < limit, pids
        time.sleep(0.02)


@contextlib.contextmanager
def demo_on_a_pty(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int, bytes]]:
    """The demo on a terminal that does not control it, and what it wrote until a node is shown.

    Only the first painting of a row is sure to be whole: later ones are of what has changed.
    """
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (40, 120))
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "TERM": "xterm"}
    words = [sys.executable, "-m", "accelwatch", "demo"]
    with subprocess.Popen(
        words, stdin=follower, stdout=follower, stderr=follower, env=environ, start_new_session=True
    ) as program:
        os.close(follower)
        try:
            written, limit = b"", time.monotonic() + 2 * LONG_S
            while not NODE.search(written):
                assert time.monotonic() < limit, written[-2000:]
                assert select.select([leader], [], [], LONG_S)[0], written[-2000:]
                written += os.read(leader, 1 << 16)
            yield program, leader, written
        finally:
            program.kill()


def test_the_demo_ends_when_its_terminal_is_gone(tmp_path: Path) -> None:
    with demo_on_a_pty(tmp_path) as (program, leader, _):
        started = children(program.pid)
        os.close(leader)
        assert program.wait(LONG_S) == 0
        gone(started, tmp_path)


def test_the_demo_says_first_what_it_starts(tmp_path: Path) -> None:
    """A picture of a moment: whatever is ever written is read, so that no machine is too quick."""
    with demo_on_a_pty(tmp_path) as (program, leader, written):
        program.terminate()
        with contextlib.suppress(OSError):  # Linux's word for the end of a terminal
            while os.read(leader, 1 << 16):
                pass
        os.close(leader)
        assert program.wait(LONG_S) == 0
    starting = b"starting 24 simulated nodes ..."
    shown = NODE.search(written)
    assert shown is not None
    assert 0 <= written.find(starting) < shown.start()


def test_the_demo_opens_a_node_and_ends_with_q(window: Window) -> None:
    window.open("demo")
    window.until(shows("24 nodes", "n024", "192 devices"))
    window.until(shows(" demo ", "w says why"))
    started = children(window.pid)
    assert started
    window.press("Enter")
    # Faults appear over a minute, and the worst node comes first: which one is opened depends on when.
    window.until(is_page_of_a_node)
    window.press("Escape")
    window.until(shows("24 nodes", "n024"))
    window.press("q")
    assert window.code() == "0"
    gone(started, window.runtime)
    assert not (window.folder / "state").exists()


def test_the_demo_is_shown_without_a_private_part_of_textual(window: Window) -> None:
    window.open("demo", "--nodes", "3", python=("-c", WITHOUT_PRIVATE_PARTS))
    window.until(lambda text: "3 nodes" in text and "n003" in text)
    window.press("Enter")
    window.until(is_page_of_a_node)
    window.press("Escape")
    window.until(shows("3 nodes", "n003"))
    window.press("q")
    assert window.code() == "0"


def test_the_demo_judges_by_the_rules_that_are_shipped_and_says_why(window: Window) -> None:
    window.open("demo", "--nodes", "3", "--vendor", "amd")
    window.until(lambda text: "3 nodes" in text and "n003" in text)
    window.press("5")
    text = window.until(shows("A GPU is lost", "rules watch 24 devices of 3 nodes", "amd.lost"))
    assert "problem" not in text
    window.press("w")
    window.until(
        shows(
            *("what to do", "n001/amd6 has been lost", "evidence:   state is lost"),
            "which 5 lists and Enter opens",
        )
    )


def test_the_shell_gets_the_terminal_for_as_long_as_the_dashboard_is_stopped(
    window: Window,
) -> None:
    window.open_in_shell("demo", "--nodes", "3")
    window.until(lambda text: "3 nodes" in text and "n003" in text)
    assert window.full
    window.press("C-z")
    text = window.until(lambda text: "stopped" in text)
    assert not window.full
    assert "3 nodes" not in text
    window.press("Enter")
    window.until(lambda text: "3 nodes" in text and "n003" in text)
    assert window.full
    window.press("slash")
    window.until(lambda text: "filter" in text.splitlines()[-1].lower())
    window.press("C-z")
    assert window.code() == str(128 + signal.SIGSTOP), "stopped again, and not ended"
    window.until(lambda _: not window.full)


def test_a_dashboard_without_a_shell_is_not_stopped(window: Window) -> None:
    window.open_alone("demo", "--nodes", "3")
    window.until(lambda text: "3 nodes" in text and "n003" in text)
    window.press("C-z")
    window.until(lambda text: "no shell waits for this program" in text)
    window.press("Enter")
    window.until(is_page_of_a_node)


def test_a_killed_demo_leaves_no_process_and_no_folder(window: Window) -> None:
    window.open("demo", "--nodes", "3")
    window.until(lambda text: "3 nodes" in text)
    started = children(window.pid)
    assert started
    os.kill(window.pid, signal.SIGKILL)
    gone(started, window.runtime)


def test_a_fleet_of_real_agents_is_shown_with_the_one_that_is_down(window: Window) -> None:
    async def main() -> None:
        async with agent() as one:
            targets = window.folder / "targets.json"
            targets.write_text(
                f'[{{"targets": ["{one.address}"], "labels": {{"node": "n007"}}}},'
                ' {"targets": ["127.0.0.1:1"], "labels": {"node": "n008"}}]'
            )
            window.open("fleet", "--targets-file", str(targets), "--no-state")
            await asyncio.to_thread(
                window.until, lambda text: "n007" in text and "never" in text and "8/8" in text
            )
            window.press("q")
            assert await asyncio.to_thread(window.code) == "0"

    asyncio.run(main())


def test_two_hubs_and_a_dead_one_are_one_fleet_on_the_screen(window: Window) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            agent(other_machine()) as two,
            hub_of(window.folder / "a", {"n007": one.address}) as first,
            hub_of(window.folder / "b", {"n008": two.address}) as second,
        ):
            hubs = (f"pod-1={first.base}", f"pod-2={second.base}", "pod-3=127.0.0.1:1")
            window.open("fleet", *(word for hub in hubs for word in ("--hub", hub)))
            nodes = ("n007", "n008", "8/8", "2/2")
            # Each hub's part comes when it has answered, or when it is known that it does not.
            whole = shows(*nodes, "1 problem: hub pod-3: ")
            in_one_line = shows(" pod-1 ", " pod-3 never ")
            await asyncio.to_thread(
                window.until, lambda text: whole(text) and in_one_line(text.splitlines()[1])
            )
            window.press("!")
            await asyncio.to_thread(window.until, lambda text: "hub pod-2: up " in text)
            window.press("Escape")
            await asyncio.to_thread(
                window.until, lambda text: "n008" in text and "hub pod-2: up " not in text
            )
            window.press("q")
            assert await asyncio.to_thread(window.code) == "0"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-t n[9-1]", "'9-1' runs backwards"),
        ("-t 127.0.0.1:1 --no-state --filter power_watts>", "a value is missing"),
        ("-t 127.0.0.1:1 --no-state --theme pink", "no theme 'pink'"),
    ],
)
def test_a_mistake_is_reported_before_the_screen_is_taken(
    window: Window, words: str, message: str
) -> None:
    window.open("fleet", *words.split())
    assert window.code() == "2"
    window.until(lambda text: message in text)
    assert list(window.runtime.iterdir()) == []
