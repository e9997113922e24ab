"""The whole program in a real terminal (tmux) on the stand-in library, faults switched on the way."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from support.machines.nvml_stand_ins import NvmlScenario

# A guard against a test that never ends.
LONG_S = 60.0
RUN = (
    "from accelwatch.cli.startup.dashboard import run_dashboard; "
    "raise SystemExit(run_dashboard(interval='250ms'))"
)


class Tmux:
    """A server of its own with one window."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._socket = str(folder / "tmux.socket")
        self._status = folder / "status"
        passed = {
            "LD_LIBRARY_PATH",
            "ACCELWATCH_NVML_SCENARIO",
            "XDG_CONFIG_HOME",
        }
        given = [f"{name}={environ[name]}" for name in sorted(passed & environ.keys())]
        words = [
            "env",
            "-u",
            "NO_COLOR",
            "-u",
            "COLUMNS",
            "-u",
            "LINES",
            "LC_ALL=C.UTF-8",
            *given,
            sys.executable,
            "-c",
            RUN,
        ]
        line = f"{self._quoted(words)}; echo $? > {self._status}; sleep 1000"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", line)

    @staticmethod
    def _quoted(words: list[str]) -> str:
        import shlex

        return shlex.join(words)

    def _tmux(self, *words: str) -> str:
        run = subprocess.run(
            ["tmux", "-S", self._socket, *words], capture_output=True, text=True, check=True
        )
        return run.stdout

    def press(self, *keys: str) -> None:
        """Type."""
        self._tmux("send-keys", *keys)

    def text(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p")

    def until(self, good: Callable[[str], bool]) -> str:
        """The screen once it is as wanted."""
        limit = time.monotonic() + LONG_S
        while not good(text := self.text()):
            assert time.monotonic() < limit, text
            time.sleep(0.05)
        return text

    def status(self) -> str:
        """The exit code once the program has ended."""
        limit = time.monotonic() + LONG_S
        while not self._status.exists() or not self._status.read_text().strip():
            assert time.monotonic() < limit, self.text()
            time.sleep(0.02)
        return self._status.read_text().strip()

    def modes(self) -> str:
        """Whether the second screen is on, the cursor shown, and the mouse reported."""
        flags = "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"
        return self._tmux("display-message", "-p", flags).strip()

    def send(self, number: signal.Signals) -> None:
        """Signal the program."""
        shell = psutil.Process(int(self._tmux("display-message", "-p", "#{pane_pid}")))
        shell.children()[0].send_signal(number)

    def close(self) -> None:
        """End the server."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False)


@pytest.fixture
def scenario(tmp_path: Path) -> NvmlScenario:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not on PATH (Debian: apt install tmux)")
    scenario = NvmlScenario(tmp_path / "node.scenario").devices(4)
    scenario.write()
    return scenario


@pytest.fixture
def terminal(scenario: NvmlScenario, tmp_path: Path) -> Iterator[Tmux]:
    environ = {**os.environ, **scenario.environment(), "XDG_CONFIG_HOME": str(tmp_path)}
    tmux = Tmux(tmp_path, environ)
    yield tmux
    tmux.close()


def row(text: str, name: str) -> str:
    """The row of a device."""
    return next((line for line in text.splitlines() if line.strip("▌ ").startswith(name)), "")


def test_faults_come_and_go_while_it_runs(scenario: NvmlScenario, terminal: Tmux) -> None:
    terminal.until(lambda text: "4 ok" in text and "%" in row(text, "nvidia3"))
    scenario.lose(1).write()
    terminal.until(lambda text: "✕ lost" in row(text, "nvidia1") and "%" in row(text, "nvidia0"))
    scenario.fault("*", "stall", device=2).write()
    in_order = ["nvidia0", "nvidia1", "nvidia2", "nvidia3"]
    terminal.until(
        lambda text: (
            "hung" in row(text, "nvidia2")
            and "%" in row(text, "nvidia3")
            and [line.strip("▌ ").partition(" ")[0] for line in text.splitlines()[3:7]] == in_order
        )
    )
    scenario.heal("*", device=2).write()
    terminal.until(lambda text: "● ok" in row(text, "nvidia2"))


def test_keys_work_and_q_ends_it_with_a_hung_device(scenario: NvmlScenario, terminal: Tmux) -> None:
    terminal.until(lambda text: "4 ok" in text and "quit" in text)
    scenario.fault("*", "hang", device=2).write()
    terminal.until(lambda text: "hung" in row(text, "nvidia2"))
    terminal.press("j")
    terminal.until(lambda text: "▌nvidia1" in text)
    terminal.press("3")
    terminal.until(lambda text: "Identity" in text)
    terminal.press("?")
    terminal.until(lambda text: "This list of keys" in text)
    terminal.press("Escape")
    terminal.until(lambda text: "▌nvidia1" in text and "This list of keys" not in text)
    terminal.press("q")
    assert terminal.status() == "0"
    terminal.until(lambda text: "nvidia1" not in text)


def test_a_driver_that_kills_the_collector_does_not_end_the_dashboard(
    scenario: NvmlScenario, terminal: Tmux
) -> None:
    terminal.until(lambda text: "4 ok" in text and "quit" in text)
    scenario.fault("*", "segv", device=0).write()
    terminal.until(lambda text: "4 ok" not in text and "quit" in text)
    scenario.heal("*", device=0).write()
    terminal.press("C-c")
    assert terminal.status() == "0"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_program_that_is_terminated_gives_the_terminal_back(
    terminal: Tmux, number: signal.Signals
) -> None:
    terminal.until(lambda text: "nvidia3" in text and "quit" in text)
    terminal.send(number)
    assert terminal.status() == "0"
    terminal.until(lambda _: terminal.modes() == "0 1 0")
