"""`accelwatch demo` and `fleet` in a real terminal (tmux): opened, walked through, ended, killed."""

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.fleet.hub_peers import agent
from support.fleet.several_hubs import hub_of, other_machine

# A guard against a test that never ends.
LONG_S = 30.0
# accelwatch on a Textual in which no private part is where the dashboard looks for it.
WITHOUT_PRIVATE_PARTS = """
import runpy
from accelwatch.tui.terminal import textual_private
textual_private._part = lambda module, name: None
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
        self._begin(
            f"set -m; {command} & echo $! > {self._pid}; fg >/dev/null; echo $? > {self._code};"
            " sleep 1000"
        )

    def open_in_shell(self, *words: str) -> None:
        """The same under a shell that tells when it is stopped, and lets it go on after a line."""
        self._begin(
            f"set -m; {self._command(words)}; echo stopped; read line; fg >/dev/null;"
            f" echo $? > {self._code}; sleep 1000"
        )

    def open_alone(self, *words: str) -> None:
        """The same without any shell that could wait for it."""
        self._begin(f"exec {self._command(words)}")

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

    def _begin(self, line: str) -> None:
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


def gone(pids: list[int], folder: Path) -> None:
    """Wait until the processes have ended and their folder is empty."""
    limit = time.monotonic() + LONG_S
    while any(Path(f"/proc/{pid}").exists() for pid in pids) or list(folder.iterdir()):
        assert time.monotonic() < limit, pids
        time.sleep(0.02)


def test_the_demo_opens_a_node_and_ends_with_q(window: Window) -> None:
    window.open("demo")
    window.until(lambda text: "starting 24 simulated nodes ..." in text)
    text = window.until(lambda text: "24 nodes" in text and "n024" in text)
    assert "192 devices" in text
    window.until(lambda text: " demo " in text and "w says why" in text)
    started = children(window.pid)
    assert started
    window.press("Enter")
    window.until(lambda text: "nvidia7" in text and "n001" in text)
    window.press("Escape")
    window.until(lambda text: "24 nodes" in text)
    window.press("q")
    assert window.code() == "0"
    gone(started, window.runtime)
    assert not (window.folder / "state").exists()


def test_the_demo_is_shown_without_a_private_part_of_textual(window: Window) -> None:
    window.open("demo", "--nodes", "3", python=("-c", WITHOUT_PRIVATE_PARTS))
    window.until(lambda text: "3 nodes" in text and "n003" in text)
    window.press("Enter")
    window.until(lambda text: "nvidia7" in text and "n00" in text)
    window.press("Escape")
    window.until(lambda text: "3 nodes" in text and "n003" in text)
    window.press("q")
    assert window.code() == "0"


def test_the_demo_judges_by_the_rules_that_are_shipped_and_says_why(window: Window) -> None:
    window.open("demo", "--nodes", "3", "--vendor", "amd")
    window.until(lambda text: "3 nodes" in text and "n003" in text)
    window.press("5")
    text = window.until(lambda text: "A GPU is lost" in text)
    assert "rules watch 24 devices of 3 nodes" in text
    assert "amd.lost" in text
    assert "problem" not in text
    window.press("w")
    text = window.until(lambda text: "what to do" in text)
    assert "n001/amd6 has been lost" in text
    assert "evidence:   state is lost" in text
    assert "which 5 lists and Enter opens" in text


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
    assert not window.full


def test_a_dashboard_without_a_shell_is_not_stopped(window: Window) -> None:
    window.open_alone("demo", "--nodes", "3")
    window.until(lambda text: "3 nodes" in text and "n003" in text)
    window.press("C-z")
    window.until(lambda text: "no shell waits for this program" in text)
    window.press("Enter")
    window.until(lambda text: "nvidia7" in text and "n00" in text)


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


def shows(*texts: str) -> Callable[[str], bool]:
    """Whether all of these are on the screen."""
    return lambda screen: all(text in screen for text in texts)


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
            text = await asyncio.to_thread(
                window.until, shows(*nodes, " pod-3 never ", "1 problem")
            )
            assert " pod-1 " in text.splitlines()[1]
            assert " pod-3 never " in text.splitlines()[1]
            assert "1 problem: hub pod-3: " in text
            window.press("!")
            await asyncio.to_thread(window.until, lambda text: "hub pod-2: up " in text)
            window.press("Escape")
            await asyncio.to_thread(window.until, lambda text: "n008" in text)
            window.press("q")
            assert await asyncio.to_thread(window.code) == "0"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("-t n[9-1]", "'9-1' runs backwards"),
        ("-t 127.0.0.1:1 --no-state --filter power_watts>", "a value is missing"),
        ("-t 127.0.0.1:1 --no-state --theme pink", "no theme 'pink'"),
    ],
)
def test_a_mistake_is_told_before_the_screen_is_taken(
    window: Window, words: str, told: str
) -> None:
    window.open("fleet", *words.split())
    assert window.code() == "2"
    window.until(lambda text: told in text)
    assert list(window.runtime.iterdir()) == []
