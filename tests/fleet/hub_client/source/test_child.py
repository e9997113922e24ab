"""A child process of the dashboard: ready or refused, ended in order or by force, never left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.errors import UsageError
from accelwatch.fleet.hub_client.local_hub.child import ChildError, Outcome, fork_child
from accelwatch.fleet.hub_client.local_hub.lifetime import Lifetime
from support.processes.process_states import has_ended

_PARENT = """
import signal, sys, time
from accelwatch.fleet.hub_client.local_hub.child import fork_child

def work(folder, life):
    life.report(b'{}')
    time.sleep(1000)

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the suite may run under nohup
child = fork_child(work)
child.wait_ready()
print(child.process.pid, child.folder, flush=True)
time.sleep(1000)
"""


def _ready(_: Path, life: Lifetime) -> None:
    life.report(msgspec.json.encode(Outcome(remark="by the way")))
    time.sleep(1000)


def _refuses(_: Path, __: Lifetime) -> None:
    raise UsageError("no targets")


def _crashes(_: Path, __: Lifetime) -> None:
    raise KeyError("surprise")


def _gone(pid: int, within_s: float = 20.0) -> bool:
    limit = time.monotonic() + within_s
    while not (ended := has_ended(pid)) and time.monotonic() < limit:
        time.sleep(0.01)
    return ended


def test_a_child_is_ready_and_ends_when_it_is_closed() -> None:
    child = fork_child(_ready)
    child.wait_ready()
    assert child.remark == "by the way"
    assert child.death() is None
    assert child.folder.stat().st_mode & 0o777 == 0o700
    child.close()
    assert _gone(child.process.pid)
    assert not child.folder.exists()
    child.close()


def test_what_prevents_a_child_is_reported_with_its_exit_code() -> None:
    child = fork_child(_refuses)
    with pytest.raises(ChildError, match="no targets") as caught:
        child.wait_ready()
    assert caught.value.exit_code == 2
    child.close()
    assert not child.folder.exists()


def test_a_crash_is_reported_by_its_last_line() -> None:
    child = fork_child(_crashes)
    with pytest.raises(ChildError, match=r"has ended: KeyError: 'surprise'") as caught:
        child.wait_ready()
    assert caught.value.exit_code == 1
    limit = time.monotonic() + 20
    while child.death() is None and time.monotonic() < limit:
        time.sleep(0.01)
    assert child.death() == "the dashboard's own hub has ended: KeyError: 'surprise'"
    child.close()


def test_a_child_that_does_not_end_is_killed() -> None:
    child = fork_child(_ready)
    child.wait_ready()
    os.kill(child.process.pid, signal.SIGSTOP)
    child.close()
    assert _gone(child.process.pid)
    assert not child.folder.exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_child_ends_with_its_parent_however_that_ends(number: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid, folder = parent.stdout.readline().split()
        assert not _gone(int(pid), 0.05)
        parent.send_signal(number)
        parent.wait()
        assert _gone(int(pid))
    assert not Path(folder).exists()


_CLOSED = """
import os
from accelwatch.system.processes.child_process import close_others
low, kept, between, other, high = [os.open("/dev/null", os.O_RDONLY) for _ in range(5)]
close_others((other, kept))
held = []
for number in (0, 1, 2, low, kept, between, other, high):
    try:
        os.fstat(number)
        held.append(number)
    except OSError:
        pass
print(held == [0, 1, 2, kept, other])
"""


def test_a_fork_keeps_its_standard_files_and_what_it_needs() -> None:
    words = [sys.executable, "-c", _CLOSED]
    run = subprocess.run(words, check=True, capture_output=True, text=True)
    assert run.stdout == "True\n"
