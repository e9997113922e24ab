"""What the owner of a collector process learns of its end, and what it may order."""

import contextlib
import faulthandler
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.node.sampler import early, launch
from accelwatch.node.sampler.launch import Child, post_mortem
from accelwatch.node.sampler.one_shot import read_once
from accelwatch.node.sampler.protocol.call_registry import (
    CallsOut,
    Inside,
    map_registry,
    threads_inside,
)
from accelwatch.node.sampler.protocol.frames import Stream, decode_order
from accelwatch.node.sampler.protocol.printed import Printed, bounded_file
from accelwatch.node.sampler.protocol.settings import CollectSettings, LetIn, StartOrder
from accelwatch.node.store.reports import Called, CollectorExited, Component, Done, Report
from accelwatch.schema.snapshot import Snapshot
from accelwatch.schema.stream.frames import Splitter
from accelwatch.system.processes.child_process import anonymous_file, reap_leftovers
from node.sampler.agents import has_gone
from node.sampler.fakes import FAKE
from support.processes.waiting import GUARD_S, wait_until

READ = Called(call=1, backend="nvidia", action="read", slot="nvidia:0", thread=17)
OPEN = Called(call=2, backend="amd", action="open", slot="", thread=18)
FATAL = b"Fatal Python error: Aborted\n\nCurrent thread 0x00000011 (most recent call first):\n"
Started = Callable[..., Child]


@pytest.fixture
def started() -> Iterator[Started]:
    """A child that does nothing but end, with what it leaves behind."""
    children: list[Child] = []

    def start(
        end: Callable[[], object] = signal.pause,
        crash: bytes = b"",
        orders: int | None = None,
        printed: bytes | None = None,
    ) -> Child:
        reading, writing = os.pipe()
        report, descriptor = anonymous_file("crash"), None
        os.pwrite(report, crash, 0)
        if printed is not None:
            descriptor = bounded_file()
            os.write(descriptor, printed)
        pid = os.fork()
        if pid == 0:
            end()
            os._exit(0)
        os.close(writing)
        output = None if descriptor is None else Printed(descriptor)
        children.append(Child(pid, reading, orders, report, output))
        return children[-1]

    yield start
    for child in children:
        child.release(patient=True)
    reap_leftovers()


def aborted() -> None:
    faulthandler.disable()  # what pytest would print is not the child's
    os.abort()


def until_ended(child: Child) -> None:
    """Return when the process has ended; it is not reaped."""
    os.waitid(os.P_PID, child.process.pid, os.WEXITED | os.WNOWAIT)


def ended(child: Child, *calls: Called, hint: str = "") -> CollectorExited:
    out = CallsOut(map_registry(child.process.crash))
    for call in calls:
        out.note(call)
    until_ended(child)
    return post_mortem(child, 3.0, hint=hint)


def test_a_library_that_ends_the_process_has_crashed_it(started: Started) -> None:
    end = ended(started(lambda: os._exit(3)), READ, OPEN)
    assert (end.code, end.wall) == ("exit_3", 3.0)
    assert end.components == (Component("nvidia", "nvidia:0"), Component("amd"))
    assert end.message == (
        "the collector process ended with exit_3 during read of nvidia nvidia:0, open of amd"
    )


def test_a_failure_of_the_collector_itself_is_nobodys_fault(started: Started) -> None:
    end = ended(started(lambda: os._exit(1), crash="KeyError: 'é'".encode()), READ)
    assert end.components == ()
    assert end.message == "the collector process ended with exit_1: KeyError: 'é'"


@pytest.mark.parametrize("crash", [b"", FATAL])
def test_a_library_may_end_the_process_with_the_same_status(started: Started, crash: bytes) -> None:
    end = ended(started(lambda: os._exit(1), crash=crash), READ)
    assert end.components == (Component("nvidia", "nvidia:0"),)
    assert end.message == "the collector process ended with exit_1 during read of nvidia nvidia:0"


def test_words_in_the_crash_file_do_not_excuse_another_status(started: Started) -> None:
    end = ended(started(lambda: os._exit(2), crash=b"some words"), READ)
    assert end.components == (Component("nvidia", "nvidia:0"),)
    assert "some words" not in end.message


def test_the_report_names_the_thread(started: Started) -> None:
    end = ended(started(aborted, crash=FATAL), OPEN, READ)
    assert (end.code, end.components) == ("SIGABRT", (Component("nvidia", "nvidia:0"),))


def test_of_several_calls_the_one_inside_a_driver_is_to_blame(started: Started) -> None:
    child = started(lambda: os._exit(3))
    memory = map_registry(child.process.crash)
    call = Inside(memory).call()
    caller = threading.Thread(target=call.__enter__)
    caller.start()
    caller.join()
    (thread,) = threads_inside(child.process.crash)
    end = ended(child, OPEN, msgspec.structs.replace(READ, thread=thread))
    assert end.components == (Component("nvidia", "nvidia:0"),)


def test_what_was_printed_last_and_why_we_looked_is_reported(started: Started) -> None:
    child = started(lambda: os._exit(4), printed=b"first\nassertion failed\n")
    assert ended(child, hint="no sign of life").message.endswith(
        "ended with exit_4; last printed: first assertion failed (no sign of life)"
    )


def test_a_long_list_of_calls_is_cut(started: Started) -> None:
    calls = [Called(call=n, backend="b", action="read", slot=f"s:{n}", thread=n) for n in range(99)]
    message = ended(started(lambda: os._exit(3)), *calls).message
    assert len(message) == len("the collector process ended with exit_3 during ") + 500


def test_what_we_killed_was_killed_however_late_the_kernel_is(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    child = started()
    child.kill()
    monkeypatch.setattr(child.process, "poll_within", waits.append)
    assert child.how() == "SIGKILL"
    child.process.killed = False
    assert child.how() == "unknown"
    assert waits[0] < waits[1]


def test_orders_reach_the_child_until_it_has_gone(started: Started) -> None:
    ours, its = socket.socketpair()
    child = started(orders=ours.detach())
    part = Component("nvidia", "nvidia:0")
    child.readmit(part)
    (body,) = Splitter(4096).feed(its.recv(4096))
    assert decode_order(body) == LetIn(component=part)
    its.shutdown(socket.SHUT_RDWR)
    child.readmit(part)
    child.request_stop()
    child.readmit(part)
    its.close()


@pytest.mark.parametrize("patient", [True, False])
def test_only_who_is_patient_waits_for_the_end(
    monkeypatch: pytest.MonkeyPatch, *, patient: bool
) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    pid = os.fork()
    if pid == 0:
        signal.pause()
    child = Child(pid, reading, None, anonymous_file("crash"))
    waits: list[float] = []
    monkeypatch.setattr(child.process, "poll_within", waits.append)
    child.release(patient=patient)
    assert [wait > 0.0 for wait in waits] == [patient]
    monkeypatch.undo()
    assert child.process.how(GUARD_S) == "SIGKILL"
    reap_leftovers()


@pytest.mark.parametrize("start", [launch.fork, launch.spawn])
def test_who_looks_into_proc_sees_what_the_crash_file_is(
    start: Callable[[StartOrder], Child],
) -> None:
    child = start(StartOrder(settings=single()))
    name = str(Path(f"/proc/self/fd/{child.process.crash}").readlink())
    child.release(patient=True)
    assert name == "/memfd:accelwatch-crash (deleted)"


def test_reports_are_read_without_waiting(started: Started) -> None:
    assert Stream(started().reports).read() == []


def test_a_forked_child_collects_by_its_order() -> None:
    reports = collected(launch.fork(StartOrder(settings=single())))
    assert isinstance(reports[-1], Done)


def test_a_child_that_was_started_early_gets_the_order() -> None:
    early.start()
    early_child = early._child
    assert early_child is not None
    child = launch.fork(StartOrder(settings=single()))
    assert child.process.pid == early_child[0]
    assert (child.reports, child.process.crash) == (early_child[1], early_child[3])
    assert isinstance(collected(child)[-1], Done)


def test_a_child_that_was_started_early_and_has_died_is_replaced() -> None:
    early.start()
    early_child = early._child
    assert early_child is not None
    os.kill(early_child[0], signal.SIGKILL)
    os.waitid(os.P_PID, early_child[0], os.WEXITED | os.WNOWAIT)
    child = launch.fork(StartOrder(settings=single()))
    assert child.process.pid != early_child[0]
    assert isinstance(collected(child)[-1], Done)


def staying_child() -> early.EarlyChild:
    early.start(lasting=True)
    assert early._child is not None
    return early._child


def test_a_child_that_goes_on_is_the_one_that_was_started_to() -> None:
    early_child = staying_child()
    once = launch.fork(StartOrder(settings=single()))
    assert once.process.pid != early_child[0]
    assert isinstance(collected(once)[-1], Done)
    child = launch.spawn(StartOrder(settings=lasting()))
    try:
        assert child.process.pid == early_child[0]
        assert (child.reports, child.process.crash) == (early_child[1], early_child[3])
        assert child.printed is not None
        child.request_stop()
        assert not isinstance(collected_until_end(child), Done)
        until_ended(child)
        assert child.how() == "exit_0"
    finally:
        child.release(patient=True)


def test_a_child_with_its_order_gets_no_other() -> None:
    early_child = staying_child()
    early.give_order(StartOrder(settings=lasting()))
    assert early.received_order() == StartOrder(settings=lasting())
    child = launch.spawn(StartOrder(settings=lasting()))
    try:
        assert child.process.pid == early_child[0]
        child.request_stop()
        assert not isinstance(collected_until_end(child), Done)
        until_ended(child)
        assert child.how() == "exit_0"
    finally:
        child.release(patient=True)


def test_a_child_with_another_order_is_replaced() -> None:
    early_child = staying_child()
    early.give_order(StartOrder(settings=lasting()))
    other = msgspec.structs.replace(lasting(), interval_s=7.0)
    child = launch.spawn(StartOrder(settings=other))
    try:
        assert child.process.pid != early_child[0]
        wait_until(lambda: has_gone(early_child[0]))
    finally:
        child.release(patient=True)


def test_an_order_that_reaches_nobody_was_not_given() -> None:
    early.give_order(StartOrder(settings=lasting()))
    early_child = staying_child()
    assert early.received_order() is None
    os.kill(early_child[0], signal.SIGKILL)
    os.waitid(os.P_PID, early_child[0], os.WEXITED | os.WNOWAIT)
    early.give_order(StartOrder(settings=lasting()))
    assert early.received_order() is None
    launch.spawn(StartOrder(settings=lasting())).release(patient=True)


def test_a_child_of_another_environment_is_not_the_one_that_was_started() -> None:
    early_child = staying_child()
    child = launch.spawn(StartOrder(settings=lasting()), dict(os.environ))
    try:
        assert child.process.pid != early_child[0]
    finally:
        child.release(patient=True)
        launch.spawn(StartOrder(settings=lasting())).release(patient=True)


def test_a_child_that_was_started_to_stay_and_has_died_is_replaced() -> None:
    early_child = staying_child()
    os.kill(early_child[0], signal.SIGKILL)
    os.waitid(os.P_PID, early_child[0], os.WEXITED | os.WNOWAIT)
    child = launch.spawn(StartOrder(settings=lasting()))
    try:
        assert child.process.pid != early_child[0]
    finally:
        child.release(patient=True)


def collected_until_end(child: Child) -> Report | None:
    """The last report of a child whose reports end."""
    reports: list[Report] = []
    stream = Stream(child.reports)
    with contextlib.suppress(EOFError):
        while True:
            select.select([child.reports], [], [], GUARD_S)
            reports += stream.read()
    return reports[-1] if reports else None


def lasting() -> CollectSettings:
    return CollectSettings(backends=(FAKE,), root="/nonexistent")


def single() -> CollectSettings:
    return CollectSettings(backends=(FAKE,), one_shot=True, timeout_s=30.0, root="/nonexistent")


def collected(child: Child) -> list[Report]:
    os.set_blocking(child.reports, True)
    stream, reports = Stream(child.reports), list[Report]()
    try:
        while True:
            reports += stream.read()
    except EOFError:
        return reports
    finally:
        child.release(patient=True)


def read_in(monkeypatch: pytest.MonkeyPatch, forbidden: str) -> Snapshot:
    def fail(*_: object) -> None:
        raise AssertionError(forbidden)

    monkeypatch.setattr(launch, forbidden, fail)
    return read_once(CollectSettings(backends=(FAKE,), timeout_s=30.0, root="/nonexistent"))


FORKED = """
import sys
from accelwatch.node.sampler import launch
from accelwatch.node.sampler.one_shot import read_once
from accelwatch.node.sampler.protocol.settings import CollectSettings

def spawn(*_):
    raise AssertionError("spawn")

launch.spawn = spawn
settings = CollectSettings(backends=("node.sampler.fakes:Fake",), timeout_s=30.0, root="/nonexistent")
assert len(read_once(settings).devices) == 1
del sys.modules["threading"]
assert len(read_once(settings).devices) == 1
"""


def test_a_process_with_one_thread_is_forked() -> None:
    """In a process of its own: other tests leave threads that wait to be used again."""
    tests = str(Path(__file__).parents[2])
    path = os.pathsep.join((tests, os.environ.get("PYTHONPATH", "")))
    environ = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", FORKED], env=environ, check=True, timeout=120)


def test_a_process_with_threads_is_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        assert len(read_in(monkeypatch, "fork").devices) == 1
    finally:
        over.set()
        other.join()
