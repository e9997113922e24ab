"""What travels beside the ticks: told when it changes, not too often, events numbered once."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView, EventCount, Owner, Snapshot
from accelwatch.schema.stream.compact import CompactEncoder, Message, Tick, is_spare
from accelwatch.schema.stream.context import (
    MAX_OWN,
    MAX_PROCESSES,
    Event,
    Findings,
    Own,
    Owners,
    Processes,
    processes_message,
)
from accelwatch.schema.stream.context_encoder import (
    BACKLOG,
    CHECK_EVERY_S,
    NUMBERS_EVERY_S,
    SAME_FAULT_S,
    ContextEncoder,
    EventNumbers,
)
from support.fleet.stream_reader import StreamFollower
from support.machines.composed import NOW, device, lost_view, processes, snapshot, view

JOB = Owner(kind="job", scheduler="slurm", job_id="4711", user="trainer", queue="train")
_WIRE = msgspec.msgpack.Decoder(Message)


def used_by(one: DeviceView, *running: Process, **changes: object) -> DeviceView:
    reading = msgspec.structs.replace(one.reading, processes=running)
    return msgspec.structs.replace(one, reading=reading, **changes)


def fault(time: float, **changes: object) -> ErrorEvent:
    whole = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=time,
        text="fell off the bus",
        source="nvml",
        device_id=device(3).id,
    )
    return msgspec.structs.replace(whole, **changes)


def messages_of(encoder: CompactEncoder, shot: Snapshot) -> list[Message]:
    """Messages beside the ticks."""
    return [one for one in encoder.messages(shot) if not isinstance(one, Tick)]


def test_owners_processes_and_findings_come_back() -> None:
    running = processes(device(0).id)
    owned = used_by(view(0), *running, owners=(JOB,))
    encoder, decoder = CompactEncoder(), StreamFollower()
    views: tuple[DeviceView, ...] = ()
    for message in encoder.messages(snapshot(owned, lost_view(3))):
        views = decoder.feed(_WIRE.decode(msgspec.msgpack.encode(message))) or views
    assert views[0].owners == (JOB,)
    found = views[0].reading.processes
    assert found is not None
    assert [(one.pid, one.user, one.gpu_memory_bytes) for one in found] == [
        (one.pid, one.user, one.gpu_memory_bytes) for one in running
    ]
    assert found[0].absent == {"argv": Absence.NOT_COLLECTED}
    assert views[1].health_reasons == ("the device is lost",)
    assert views[1].event_counts == lost_view(3).event_counts
    assert views[1].reading.processes is None
    assert [event.code for event in decoder.events.values()] == ["xid_79"]
    assert decoder.backends[0].versions["driver"] == "590.48.01"


def test_the_host_s_own_findings_travel() -> None:
    count = EventCount(code="nfs_hang", category="hang", total=2, last_time=NOW)
    host = view(9, device=device(9, id="host", kind=DeviceKind.HOST), event_counts=(count,))
    sent = messages_of(CompactEncoder(), snapshot(view(0), node=host))
    assert Findings(slot=1, event_counts=(count,)) in sent


def test_what_is_as_before_is_not_reported_again() -> None:
    encoder = CompactEncoder()
    encoder.messages(snapshot(used_by(view(0), owners=(JOB,))))
    for second in range(1, 60):
        shot = snapshot(used_by(view(0), owners=(JOB,)), time=NOW + second)
        assert messages_of(encoder, shot) == []


def test_a_change_is_reported_within_seconds_and_once() -> None:
    encoder = CompactEncoder()
    encoder.messages(snapshot(view(0)))
    sent: list[tuple[int, Message]] = []
    for second in range(1, 30):
        shot = snapshot(view(0, owners=(JOB,)), time=NOW + second)
        sent += [(second, message) for message in messages_of(encoder, shot)]
    assert sent == [(CHECK_EVERY_S, Owners(slot=0, owners=(JOB,)))]


def test_an_owner_that_has_gone_is_reported() -> None:
    encoder = CompactEncoder()
    encoder.messages(snapshot(view(0, owners=(JOB,))))
    assert messages_of(encoder, snapshot(view(0), time=NOW + 10)) == [Owners(slot=0, owners=())]


def test_numbers_of_processes_are_reported_less_often_than_their_coming_and_going() -> None:
    encoder = CompactEncoder()
    (one, two) = processes(device(0).id)
    encoder.messages(snapshot(used_by(view(0), one)))
    times = []
    for second in range(1, 32):
        grown = msgspec.structs.replace(one, gpu_memory_bytes=second)
        if messages_of(encoder, snapshot(used_by(view(0), grown), time=NOW + second)):
            times.append(second)
    assert times == [NUMBERS_EVERY_S, 2 * NUMBERS_EVERY_S]
    (message,) = messages_of(encoder, snapshot(used_by(view(0), one, two), time=NOW + 36))
    assert isinstance(message, Processes)
    assert message.total == 2


def test_only_the_largest_processes_travel() -> None:
    many = [
        Process(device_id="x", pid=pid, user=f"user{pid % 3}", gpu_memory_bytes=pid)
        for pid in range(1, 101)
    ]
    message = processes_message(0, tuple(many))
    assert message.total == 100
    assert [row.pid for row in message.rows] == list(range(100, 100 - MAX_PROCESSES, -1))
    assert message.users == ("user0", "user1", "user2")


def test_a_message_of_processes_stays_small() -> None:
    long = "x" * 10_000
    many = tuple(
        Process(device_id="x", pid=pid, user=long, command=long, pod=long, container=long, job=long)
        for pid in range(500)
    )
    assert len(msgspec.msgpack.encode(processes_message(0, many))) < 32 << 10
    usual = tuple(processes(device(0).id)[0] for _ in range(MAX_PROCESSES))
    assert len(msgspec.msgpack.encode(processes_message(0, usual))) < 2 << 10


def test_events_keep_their_numbers_in_every_stream() -> None:
    numbers = EventNumbers()
    first, second = ContextEncoder(numbers), ContextEncoder(numbers)
    one, two = fault(NOW), fault(NOW + 60)

    def events(encoder: ContextEncoder, *held: ErrorEvent, time: float) -> list[int]:
        messages = encoder.messages(snapshot(view(0), events=held, time=time), {})
        return [message.sequence for message in messages if isinstance(message, Event)]

    (number,) = events(first, one, time=NOW)
    assert events(first, one, time=NOW + 1) == []
    assert events(first, one, two, time=NOW + 61) == [number + 1]
    assert events(second, one, two, time=NOW + 62) == [number, number + 1]
    assert events(first, one, two, time=NOW + 63) == []


def test_an_event_of_which_more_is_known_keeps_its_number() -> None:
    numbers = EventNumbers()
    numbers.assign((fault(NOW, device_id=""),), NOW)
    (number,) = numbers.numbered
    richer = fault(NOW - 1, source="kernel_log", detail={"pid": "77"})
    numbers.assign((richer,), NOW)
    assert numbers.numbered == {number: richer}
    numbers.assign((richer, fault(NOW + 1)), NOW)
    assert list(numbers.numbered) == [number, number + 1]


def test_alike_events_of_one_time_are_several() -> None:
    numbers = EventNumbers()
    numbers.assign((fault(NOW), fault(NOW)), NOW)
    assert len(numbers.numbered) == 2
    numbers.assign((fault(NOW), fault(NOW), fault(NOW)), NOW)
    assert len(numbers.numbered) == 3


def test_a_new_stream_gets_a_bounded_past() -> None:
    events = tuple(fault(NOW + 10 * at) for at in range(500))
    messages = ContextEncoder(EventNumbers()).messages(snapshot(view(0), events=events), {})
    past = [one for one in messages if isinstance(one, Event)]
    assert len(past) == BACKLOG
    assert past[-1].event == events[-1]


def test_what_the_agent_says_of_itself_comes_back() -> None:
    encoder, decoder = CompactEncoder(), StreamFollower()
    up, took, cpu = ("collector_up", "nvidia"), ("collector_duration_seconds", "nvidia"), ("x",)

    def own_after(later_s: float, **own: float) -> list[Own]:
        own_values = {up: own["up"], took: own["took"], cpu: 1.0}
        if own.get("vanished"):
            own_values["collector_vanished_quantities", "nvidia"] = own["vanished"]
        messages = encoder.messages(snapshot(time=NOW + later_s, own=own_values))
        for message in messages:
            decoder.feed(message)
        return [one for one in messages if isinstance(one, Own)]

    (first,) = own_after(0.0, up=1, took=0.1)
    assert first == Own(series=(up, took), values=(1, 0.1))
    assert own_after(CHECK_EVERY_S, up=1, took=0.1) == []
    assert own_after(2 * CHECK_EVERY_S, up=1, took=0.2) == []
    assert own_after(NUMBERS_EVERY_S, up=1, took=0.3) == [Own(values=(1, 0.3))]
    assert decoder.own == {up: 1, took: 0.3}
    assert own_after(NUMBERS_EVERY_S + CHECK_EVERY_S, up=0, took=0.3) == [Own(values=(0, 0.3))]
    (more,) = own_after(NUMBERS_EVERY_S + 2 * CHECK_EVERY_S, up=0, took=0.3, vanished=2)
    assert len(more.series) == 3
    assert decoder.own == {up: 0, took: 0.3, ("collector_vanished_quantities", "nvidia"): 2}


def test_an_agent_says_a_bounded_number_of_series_of_itself() -> None:
    own = {("collector_device_series", "nvidia", f"d{at}"): 1 for at in range(MAX_OWN + 9)}
    (message,) = [
        one for one in messages_of(CompactEncoder(), snapshot(own=own)) if isinstance(one, Own)
    ]
    assert len(message.series) == len(message.values) == MAX_OWN


def test_what_only_a_newer_agent_sends_is_distinguished_from_nonsense() -> None:
    encode = msgspec.msgpack.encode
    assert is_spare(encode({"type": "weather", "slot": 1}))
    assert is_spare(encode({"type": "event", "sequence": 1, "event": {"category": "new"}}))
    assert not is_spare(encode({"type": "tick"}))
    assert not is_spare(encode({"type": "layout", "slot": "x"}))
    assert not is_spare(encode([1, 2]))
    assert not is_spare(b"\xc1")
    assert not is_spare(b"")


@pytest.mark.parametrize(("apart_s", "expected"), [(SAME_FAULT_S, 1), (1.25 * SAME_FAULT_S, 2)])
def test_more_may_become_known_up_to_the_limit_and_no_longer(apart_s: float, expected: int) -> None:
    numbers = EventNumbers()
    numbers.assign((fault(NOW),), NOW)
    (number,) = numbers.numbered
    numbers.assign((fault(NOW + apart_s, source="kernel_log"),), NOW)
    assert list(numbers.numbered) == [number + expected - 1]
