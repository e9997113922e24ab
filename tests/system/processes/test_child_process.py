"""A child from its parent's side: every end is known once, and a process that will not end is killed."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from accelwatch.system.processes.child_process import (
    ChildProcess,
    anonymous_file,
    exit_text,
    reaped,
)
from support.processes.waiting import GUARD_S

Start = Callable[[Callable[[int], None]], ChildProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """Forks a child that does what it is told with its crash file, then ends with code 3."""
    started: list[ChildProcess] = []

    def fork(work: Callable[[int], None]) -> ChildProcess:
        crash = anonymous_file("test-crash")
        pid = os.fork()
        if pid == 0:
            try:
                work(crash)
            finally:
                os._exit(3)
        started.append(ChildProcess(pid, crash))
        return started[-1]

    yield fork
    for child in started:
        child.kill()
        child.poll_within(GUARD_S)
        os.close(child.crash)


def sleeping(_crash: int) -> None:
    time.sleep(600)


def crashing(crash: int) -> None:
    os.write(crash, b"Fatal\0threads")


def test_an_end_is_reported_with_its_status_and_reported_again(start: Start) -> None:
    child = start(lambda _: None)
    status = child.poll_within(GUARD_S)
    assert status is not None
    assert exit_text(status) == "exit_3"
    assert child.poll() == child.poll_within(0.0) == status


def test_a_process_that_runs_has_no_status(start: Start) -> None:
    child = start(sleeping)
    assert child.poll() is None
    assert child.poll_within(0.01) is None


def test_a_process_is_killed_and_killing_it_twice_does_no_harm(start: Start) -> None:
    child = start(sleeping)
    child.kill()
    status = child.poll_within(GUARD_S)
    assert status is not None
    assert exit_text(status) == "SIGKILL"
    child.kill()


def test_how_a_process_ended_is_a_word(start: Start) -> None:
    assert start(lambda _: None).how(GUARD_S) == "exit_3"
    runs = start(sleeping)
    assert runs.how(0.01) == "unknown"
    runs.kill()
    assert runs.how(GUARD_S) == "SIGKILL"


def test_a_killed_process_that_the_kernel_does_not_let_go_was_killed(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver can keep it for ever; on a busy machine it only takes its time."""
    child = start(sleeping)
    with monkeypatch.context() as patched:
        patched.setattr("accelwatch.system.processes.child_process.reaped", lambda _: None)
        child.kill()
        assert (child.how(0.0), child.poll()) == ("SIGKILL", None)


def test_a_number_that_was_reaped_is_never_killed(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = start(lambda _: None)
    child.poll_within(GUARD_S)
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _number: killed.append(pid))
    child.kill()
    assert killed == []


def test_what_somebody_else_reaped_has_ended(start: Start) -> None:
    child = start(lambda _: None)
    os.waitpid(child.pid, 0)
    assert reaped(child.pid) == 0
    assert child.poll() == 0


def test_a_crash_report_ends_at_its_first_nul(start: Start) -> None:
    child = start(crashing)
    child.poll_within(GUARD_S)
    assert child.crash_report() == b"Fatal"


@pytest.mark.parametrize(
    ("status", "word"),
    [(int(signal.SIGSEGV), "SIGSEGV"), (50, "signal_50"), (0, "exit_0"), (256, "exit_1")],
)
def test_an_ending_is_one_word(status: int, word: str) -> None:
    assert exit_text(status) == word


@pytest.mark.parametrize("without", [False, True])
def test_an_anonymous_file_has_no_path(monkeypatch: pytest.MonkeyPatch, without: bool) -> None:
    if without:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    elif sys.platform != "linux":
        pytest.skip("memfd_create is Linux's")
    descriptor = anonymous_file("test")
    os.write(descriptor, b"kept")
    assert (os.pread(descriptor, 10, 0), os.fstat(descriptor).st_nlink) == (b"kept", 0)
    os.close(descriptor)
