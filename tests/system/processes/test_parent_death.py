"""Commands that run on and processes whose end nobody could announce: real ones, and a real SIGKILL."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.system.processes import parent_death
from support.processes.process_states import has_ended
from support.processes.shell_scripts import script
from support.processes.waiting import wait_until

OWNER = """
import sys, time
from accelwatch.base.clock import SystemClock
from accelwatch.system.processes.line_stream import LineStream
stream = LineStream([sys.argv[1]], SystemClock())
while stream.newest() is None:
    time.sleep(0.005)
print(stream.newest()[0].decode(), end="", flush=True)
time.sleep(600)
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prctl(2)")


def test_a_command_that_hangs_ends_with_a_killed_collector(tmp_path: Path) -> None:
    # It ignores what a closed pipe would do, and prints nothing more.
    monitor = script(tmp_path / "monitor", "trap '' PIPE HUP TERM; echo $$; exec sleep 600")
    owner = subprocess.Popen([sys.executable, "-c", OWNER, monitor], stdout=subprocess.PIPE)
    try:
        assert owner.stdout is not None
        command = int(owner.stdout.readline())
        assert not has_ended(command)
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.communicate()
    try:
        wait_until(lambda: has_ended(command))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(command, signal.SIGKILL)


def test_a_command_whose_owner_is_gone_already_is_not_started(tmp_path: Path) -> None:
    program = script(tmp_path / "monitor", "echo begun")
    argv = parent_death.bound([program])
    argv[argv.index(str(os.getpid()))] = "1"
    done = subprocess.run(argv, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (127, b"")


def test_what_cannot_be_run_says_so_without_a_traceback(tmp_path: Path) -> None:
    argv = parent_death.bound([str(tmp_path / "none")])
    done = subprocess.run(argv, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (127, b"")


def test_the_command_has_its_own_arguments_and_environment(tmp_path: Path) -> None:
    program = script(tmp_path / "monitor", 'echo "$0 $1 $WORD"')
    argv = parent_death.bound([program, "--interval=1 s"])
    done = subprocess.run(argv, capture_output=True, check=True, env={"WORD": "kept"})
    assert done.stdout.decode() == f"{program} --interval=1 s kept\n"


def test_elsewhere_a_command_is_started_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert parent_death.bound(["/usr/bin/one", "two"]) == ["/usr/bin/one", "two"]


def test_without_an_interpreter_a_command_is_started_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "")
    assert parent_death.bound(["/usr/bin/one"]) == ["/usr/bin/one"]
