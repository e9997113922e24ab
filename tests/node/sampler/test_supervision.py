"""When the owner of a collector ends it, whom it blames, when the next comes; on a clock of its own."""

import logging
import os
import signal
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.sampler.protocol.frames import MAX_FRAME_BYTES, with_checksum
from accelwatch.node.sampler.protocol.settings import QuarantinedComponent
from accelwatch.node.sampler.supervisor import CHECK_S, STOP_S, Limits
from accelwatch.node.store.reports import (
    BackendChanged,
    Called,
    CollectorExited,
    Component,
    Failure,
    Outcome,
    Returned,
)
from accelwatch.schema.snapshot import BackendState, BackendStatus
from node.sampler.fakes import FAKE, SECOND
from node.sampler.silent_children import ALIVE, MIB, Owner
from support.processes.waiting import wait_until

READ_0 = Called(call=1, backend=FAKE, action="read", slot="fake:0")
READ_1 = Called(call=2, backend=FAKE, action="read", slot="fake:1")
OPEN = Called(call=3, backend=FAKE, action="open")
LISTEN = Called(call=0, backend=FAKE, action="events")
FOUND = BackendStatus(
    name=FAKE, vendor="Fake", state=BackendState.OK, source="libfake", versions={"driver": "1.2"}
)


@pytest.fixture
def own() -> Iterator[Callable[..., Owner]]:
    owners: list[Owner] = []

    def start(limits: Limits | None = None) -> Owner:
        owners.append(Owner(limits))
        return owners[-1]

    yield start
    for owner in owners:
        owner.close()


def ends(owner: Owner) -> list[CollectorExited]:
    return [report for report in owner.reports if isinstance(report, CollectorExited)]


class Resident:
    """What /proc would say of any child."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mib = 0.0
        name = "accelwatch.node.sampler.memory_limit.resident_bytes"
        monkeypatch.setattr(name, lambda pid: int(self.mib * MIB) if pid else 0)


@pytest.fixture
def resident(monkeypatch: pytest.MonkeyPatch) -> Resident:
    return Resident(monkeypatch)


# A child that is silent.


def test_the_first_sign_of_life_may_take_longer_than_those_after_it(
    own: Callable[..., Owner],
) -> None:
    owner = own()
    assert owner.after(0.0) == 1
    assert owner.after(20.0) == 1
    owner.child.send(ALIVE)
    assert owner.after(3.0) == 1
    assert owner.after(5.0) == 1
    assert owner.after(0.5) == 2
    (end,) = ends(owner)
    assert end.code == "hang"
    assert end.message.endswith("with SIGKILL (no sign of life for 6 s)")
    assert end.wall == owner.clock.wall()


def test_each_child_has_the_longer_time_for_its_first_sign(own: Callable[..., Owner]) -> None:
    owner = own(Limits(silence_s=2.0, first_silence_s=7.0))
    owner.after(0.0)
    owner.child.send(ALIVE)
    owner.after(1.0)
    assert owner.after(3.0) == 2
    assert owner.after(7.0) == 2
    assert owner.after(0.5) == 3


def test_any_report_is_a_sign_of_life(own: Callable[..., Owner]) -> None:
    owner = own()
    owner.after(0.0)
    for _ in range(4):
        owner.child.send(BackendChanged(status=FOUND))
        assert owner.after(4.9) == 1


def test_who_looks_with_each_report_looks_again_when_the_next_sign_is_overdue(
    own: Callable[..., Owner],
) -> None:
    """And then often: whatever is silent may be growing. A first sign may take long."""
    owner = own(Limits(silence_s=5.0, first_silence_s=20.0))
    assert owner.supervisor.patience_s == CHECK_S
    owner.after(0.0)
    assert owner.supervisor.patience_s == 2.5
    owner.clock.advance(2.2)
    assert owner.supervisor.patience_s == CHECK_S
    owner.child.send(ALIVE)
    owner.after(0.0)
    assert owner.supervisor.patience_s == 2.5
    owner.clock.advance(1.0)
    assert owner.supervisor.patience_s == 1.5
    owner.clock.advance(9.0)
    assert owner.supervisor.patience_s == CHECK_S


# A child that grows.


def test_what_is_allowed_may_be_taken(own: Callable[..., Owner], resident: Resident) -> None:
    owner = own(Limits(resident_bytes=100 * MIB))
    owner.after(0.0)
    resident.mib = 100
    assert owner.after(0.0) == 1
    resident.mib = 101
    assert owner.after(0.0) == 2
    (end,) = ends(owner)
    assert end.code == "memory"
    assert end.message.endswith("(101 MiB are resident)")


def test_a_slow_growth_is_nobodys_fault(own: Callable[..., Owner], resident: Resident) -> None:
    owner = own(Limits(resident_bytes=100 * MIB))
    owner.after(0.0)
    owner.child.send(READ_0)
    resident.mib = 52
    owner.after(1.1)
    resident.mib = 102
    owner.after(1.1)
    assert [end.components for end in ends(owner)] == [()]


def test_a_growth_by_half_within_a_second_is_the_work_of_one_call(
    own: Callable[..., Owner], resident: Resident
) -> None:
    """What is resident is noted anew when more than a second has passed, not at each look."""
    owner = own(Limits(resident_bytes=100 * MIB))
    owner.after(0.0)
    owner.child.send(READ_0)
    resident.mib = 40
    owner.after(1.1)
    resident.mib = 80
    owner.after(1.0)
    resident.mib = 102
    owner.after(0.0)
    assert [end.components for end in ends(owner)] == [(Component(FAKE, "fake:0"),)]


def test_what_was_noted_a_second_ago_is_the_measure_of_the_next(
    own: Callable[..., Owner], resident: Resident
) -> None:
    owner = own(Limits(resident_bytes=100 * MIB))
    owner.after(0.0)
    owner.child.send(READ_0)
    for resident.mib in (45, 90):
        owner.after(1.1)
    resident.mib = 102
    owner.after(0.5)
    assert [end.components for end in ends(owner)] == [()]


def test_a_new_child_starts_with_nothing(own: Callable[..., Owner], resident: Resident) -> None:
    owner = own(Limits(resident_bytes=100 * MIB))
    owner.after(0.0)
    resident.mib = 90
    owner.after(1.1)
    owner.crash()
    owner.child.send(READ_0)
    resident.mib = 102
    owner.after(0.0)
    assert [end.components for end in ends(owner)] == [(), (Component(FAKE, "fake:0"),)]


def test_a_new_child_is_not_measured_before_a_second_has_passed(
    own: Callable[..., Owner], resident: Resident
) -> None:
    owner = own(Limits(resident_bytes=100 * MIB))
    owner.after(0.0)
    owner.after(5.0)
    owner.crash()
    owner.child.send(READ_0)
    resident.mib = 60
    owner.after(0.9)
    resident.mib = 102
    owner.after(0.0)
    assert [end.components for end in ends(owner)][1:] == [(Component(FAKE, "fake:0"),)]


def test_a_child_is_ended_for_one_reason(own: Callable[..., Owner], resident: Resident) -> None:
    owner = own(Limits(resident_bytes=100 * MIB))
    owner.after(0.0)
    resident.mib = 101
    assert owner.after(30.0) == 2
    assert [end.code for end in ends(owner)] == ["hang"]


# When the next one comes.


def test_without_a_culprit_the_third_crash_costs_a_pause(own: Callable[..., Owner]) -> None:
    owner = own()
    owner.after(0.0)
    owner.crash()
    owner.crash()
    assert len(owner.children) == 3
    for pause in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0):
        owner.crash()
        before = len(owner.children)
        assert owner.supervisor.pid is None
        assert owner.supervisor.descriptor is None
        assert owner.after(pause - 0.1) == before
        assert owner.after(0.2) == before + 1


def test_a_child_that_lived_long_enough_is_followed_at_once(own: Callable[..., Owner]) -> None:
    owner = own(Limits(calm_s=10.0))
    owner.after(0.0)
    owner.crash()
    owner.crash()
    for _ in range(3):
        for _ in range(3):
            owner.child.send(ALIVE)
            owner.after(3.5)
        before = len(owner.children)
        owner.crash()
        assert len(owner.children) == before + 1


def test_a_child_that_lived_just_too_short_is_not(own: Callable[..., Owner]) -> None:
    owner = own(Limits(calm_s=10.0, first_silence_s=60.0))
    owner.after(0.0)
    owner.crash()
    owner.crash()
    owner.after(10.0)
    owner.crash()
    assert len(owner.children) == 3


def test_what_cannot_be_started_is_tried_again(
    own: Callable[..., Owner], caplog: pytest.LogCaptureFixture
) -> None:
    owner = own()
    owner.refuse = 3
    owner.after(0.0)
    owner.after(0.0)
    owner.after(0.0)
    assert owner.refuse == 0
    assert owner.after(0.4) == 0
    assert owner.after(0.2) == 1
    assert caplog.messages == ["collector cannot be started error=no more processes"] * 3
    assert owner.watched == [owner.supervisor.descriptor]


def test_the_descriptor_of_the_living_child_is_watched(own: Callable[..., Owner]) -> None:
    owner = own()
    assert owner.supervisor.descriptor is None
    owner.after(0.0)
    assert owner.watched == [owner.child.child.reports] == [owner.supervisor.descriptor]
    assert owner.supervisor.pid == owner.child.pid
    owner.crash()
    assert owner.watched == [owner.child.child.reports]
    owner.child.end()
    owner.supervisor.stop()
    assert owner.watched == []


# Whom it blames.


def test_a_device_that_crashed_it_is_held_out_and_the_next_comes_at_once(
    own: Callable[..., Owner],
) -> None:
    owner = own()
    owner.after(0.0)
    order = owner.child.order
    assert order.quarantined == ()
    assert not order.careful
    assert not order.settings.one_shot
    assert order.settings.backends == (FAKE, SECOND)
    owner.crash(READ_0)
    crash, row = owner.reports[-2:]
    assert isinstance(crash, CollectorExited)
    why = f"excluded for 5 s: {crash.message}"
    assert crash.message == f"the collector process ended with SIGSEGV during read of {FAKE} fake:0"
    assert row == Outcome(
        backend=FAKE,
        slot="fake:0",
        monotonic=owner.clock.monotonic(),
        wall=owner.clock.wall(),
        failure=Failure(absence=Absence.ERROR, code="crash", message=why),
    )
    assert len(owner.children) == 2
    assert owner.child.order.quarantined == (
        QuarantinedComponent(component=Component(FAKE, "fake:0"), reason=why),
    )
    assert not owner.child.order.careful


def test_what_was_held_out_is_let_in_once_when_its_time_is_over(own: Callable[..., Owner]) -> None:
    owner = own()
    owner.after(0.0)
    owner.crash(READ_0)
    owner.after(4.9)
    assert owner.child.let_in() == []
    owner.after(0.2)
    assert owner.child.let_in() == [Component(FAKE, "fake:0")]
    owner.after(0.2)
    assert owner.child.let_in() == []


def test_what_was_just_let_in_is_blamed_before_what_ran_well(own: Callable[..., Owner]) -> None:
    owner = own()
    owner.after(0.0)
    owner.crash(READ_0)
    for _ in range(3):
        owner.child.send(ALIVE)
        owner.after(4.0)
    assert owner.child.let_in() == [Component(FAKE, "fake:0")]
    owner.crash(READ_0, READ_1)
    (held,) = owner.child.order.quarantined
    assert held.component == Component(FAKE, "fake:0")
    assert held.reason.startswith("excluded for 10 s: ")


def test_a_backend_that_runs_well_is_not_blamed_for_a_second_one(
    own: Callable[..., Owner],
) -> None:
    """Both are new at first; what is started anew with its process is on trial again."""
    owner = own(Limits(first_silence_s=60.0))
    owner.after(0.0)
    owner.after(20.0)
    owner.crash(READ_0, Called(call=9, backend=SECOND, action="read", slot="fake:9"))
    parts = [held.component for held in owner.child.order.quarantined]
    assert parts == [Component(FAKE, "fake:0"), Component(SECOND, "fake:9")]


def test_several_calls_make_the_next_one_careful(own: Callable[..., Owner]) -> None:
    owner = own()
    owner.after(0.0)
    owner.crash(READ_0, READ_1)
    assert owner.child.order.careful
    assert owner.child.order.quarantined == ()
    owner.crash(READ_1)
    assert not owner.child.order.careful
    owner.crash()
    assert owner.child.order.careful


def test_calls_that_came_back_and_calls_of_another_child_are_no_suspects(
    own: Callable[..., Owner],
) -> None:
    owner = own()
    owner.after(0.0)
    owner.crash(READ_0, READ_1, Returned(call=1))
    owner.crash()
    assert [end.components for end in ends(owner)] == [(Component(FAKE, "fake:1"),), ()]


def test_a_backend_is_held_out_by_its_second_crash_and_says_so(own: Callable[..., Owner]) -> None:
    owner = own()
    owner.after(0.0)
    owner.crash(BackendChanged(status=FOUND), OPEN)
    assert isinstance(owner.reports[-1], CollectorExited)
    owner.crash(OPEN)
    crash, found = owner.reports[-2:]
    assert isinstance(crash, CollectorExited)
    assert found == BackendChanged(
        status=BackendStatus(
            name=FAKE,
            vendor="Fake",
            state=BackendState.FAILED,
            source="libfake",
            versions={"driver": "1.2"},
            reason="crash",
            message=f"excluded for 5 s: {crash.message}",
            remedy="look for a fault of the driver's library; other backends are not affected",
        )
    )
    assert [held.component for held in owner.child.order.quarantined] == [Component(FAKE)]


def test_a_backend_of_which_nothing_is_known_says_so_too(own: Callable[..., Owner]) -> None:
    owner = own()
    owner.after(0.0)
    owner.crash(OPEN)
    owner.crash(OPEN)
    found = owner.reports[-1]
    assert isinstance(found, BackendChanged)
    status = found.status
    assert (status.name, status.vendor, status.source, status.versions) == (FAKE, "", "", {})


def test_an_event_source_is_held_out_without_a_word_of_any_row(own: Callable[..., Owner]) -> None:
    owner = own()
    owner.after(0.0)
    owner.crash(LISTEN)
    assert isinstance(owner.reports[-1], CollectorExited)
    assert [held.component for held in owner.child.order.quarantined] == [
        Component(FAKE, events=True)
    ]


def test_crashes_are_forgiven_after_a_minute_of_good_behaviour(own: Callable[..., Owner]) -> None:
    owner = own()
    owner.after(0.0)
    owner.crash(READ_0)
    for _ in range(17):
        owner.child.send(ALIVE)
        owner.after(4.0)
    owner.crash(READ_0)
    assert [held.reason[:16] for held in owner.child.order.quarantined] == ["excluded for 5 s"]


# What is read of it.


def test_reports_come_in_order_and_noise_between_them_is_left_out(
    own: Callable[..., Owner],
) -> None:
    owner = own()
    owner.supervisor.receive()
    owner.after(0.0)
    found = BackendChanged(status=FOUND)
    owner.child.send(READ_0, found, ALIVE)
    owner.supervisor.receive()
    owner.supervisor.receive()
    assert owner.reports == [found, ALIVE]
    owner.child.write((MAX_FRAME_BYTES + 1).to_bytes(4, "big"))
    owner.child.send(ALIVE)
    owner.supervisor.receive()
    assert owner.reports == [found, ALIVE, ALIVE]
    assert not ends(owner)


def test_damaged_reports_are_counted_for_each_child(
    own: Callable[..., Owner], caplog: pytest.LogCaptureFixture
) -> None:
    damaged = with_checksum(b"\0\0\0\x01\xc1")
    owner = own()
    owner.after(0.0)
    for _ in range(2):
        owner.child.write(damaged)
        owner.supervisor.receive()
        owner.supervisor.receive()
    owner.crash()
    owner.child.write(damaged)
    owner.supervisor.receive()
    messages = [text for text in caplog.messages if "damaged" in text]
    assert messages == [f"reports were damaged and left out count={count}" for count in (1, 2, 1)]


def test_what_a_library_prints_is_logged_with_a_sign_of_life(
    own: Callable[..., Owner], caplog: pytest.LogCaptureFixture
) -> None:
    owner = own()
    owner.after(0.0)
    owner.child.print(b"all is well\n")
    owner.child.send(BackendChanged(status=FOUND))
    owner.supervisor.receive()
    assert caplog.messages == []
    for _ in range(3):
        owner.child.send(BackendChanged(status=FOUND), ALIVE)
        owner.supervisor.receive()
    assert caplog.messages == ["a vendor library printed: all is well"]
    owner.child.print(b"x" * (16384 - len("all is well\n")))
    for _ in range(3):
        owner.child.send(ALIVE)
        owner.supervisor.receive()
    assert caplog.messages[1:] == [
        f"a vendor library printed: {'x' * 1000}; what follows is left out"
    ]


def test_a_crash_is_logged(own: Callable[..., Owner], caplog: pytest.LogCaptureFixture) -> None:
    owner = own()
    owner.after(0.0)
    owner.crash(how=signal.SIGABRT)
    assert caplog.record_tuples == [
        (
            "accelwatch.node.sampler.supervisor",
            logging.WARNING,
            "collector ended code=SIGABRT message=the collector process ended with SIGABRT",
        )
    ]


# Its end.


def test_after_a_stop_was_requested_no_child_follows_and_no_crash_is_reported(
    own: Callable[..., Owner],
) -> None:
    owner = own()
    owner.after(0.0)
    assert not owner.supervisor.stopped
    owner.supervisor.request_stop()
    # Somebody who is being forked elsewhere in this process may hold the other end for a moment.
    wait_until(lambda: owner.child.orders() is None)
    assert not owner.supervisor.stopped
    owner.child.end(signal.SIGKILL)
    owner.supervisor.receive()
    assert owner.supervisor.stopped
    assert owner.after(60.0) == 1
    assert owner.reports == []


def test_stopping_before_there_is_a_child(own: Callable[..., Owner]) -> None:
    owner = own()
    owner.supervisor.stop()
    owner.supervisor.stop()
    assert owner.after(60.0) == 0


def test_stopping_waits_for_the_end_of_the_reports(own: Callable[..., Owner]) -> None:
    """What still comes is taken in; the wait itself ends with the child."""
    owner = own()
    owner.after(0.0)
    owner.child.send(ALIVE)
    owner.child.end(signal.SIGTERM)
    owner.supervisor.stop()
    assert owner.reports == [ALIVE]
    assert owner.supervisor.stopped


Wait = tuple[list[int], float]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[Wait]:
    """What the supervisor waits for and how long, while the waiting itself costs nothing."""
    seen: list[Wait] = []

    def note(read: list[int], _: object, __: object, seconds: float) -> None:
        seen.append((read, seconds))

    monkeypatch.setattr("accelwatch.node.sampler.supervisor.select", SimpleNamespace(select=note))
    return seen


def test_a_child_that_does_not_end_is_killed_when_its_time_is_over(
    own: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch, waits: list[Wait]
) -> None:
    owner = own()
    owner.after(0.0)
    descriptor = owner.child.child.reports
    receive = owner.supervisor.receive

    def receive_late() -> None:
        owner.clock.advance(0.5)
        receive()

    monkeypatch.setattr(owner.supervisor, "receive", receive_late)
    owner.supervisor.stop()
    assert [read for read, _ in waits] == [[descriptor], [descriptor]]
    assert [seconds for _, seconds in waits] == pytest.approx([STOP_S, STOP_S - 0.5])
    assert owner.supervisor.stopped
    with pytest.raises(ChildProcessError):
        os.waitpid(owner.child.pid, 0)


def test_it_is_pumped_where_there_is_no_event_loop(
    own: Callable[..., Owner], waits: list[Wait]
) -> None:
    owner = own()
    owner.supervisor.pump(5.0)
    assert len(owner.children) == 1
    owner.supervisor.pump(5.0)
    assert waits == [([], CHECK_S), ([owner.child.child.reports], 5.0)]
    for _ in range(3):
        owner.crash()
    waits.clear()
    owner.supervisor.pump(0.01)
    assert waits == [([], 0.01)]
