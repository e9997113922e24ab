"""What of processes, owners and events travels in a stream, and how much at most."""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import host_metrics, reading_metrics
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.json.wire import decode, encode
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process, Reading, complete
from accelwatch.schema.snapshot import Owner, is_host, physical_devices
from accelwatch.schema.stream import context
from accelwatch.schema.stream.context import (
    MAX_OWNERS,
    MAX_PROCESSES,
    MAX_USERS,
    event_message,
    identities,
    owners_message,
    process_of,
    processes_message,
)
from support.machines import composed as machines


def process(pid: int, **more: object) -> Process:
    return msgspec.structs.replace(Process(device_id="d", pid=pid), **more)


FULL = Process(
    device_id="d",
    pid=7,
    pid_namespace="foreign",
    type="compute+graphics",
    start_time=5.0,
    user="ann",
    command="train",
    container="c",
    pod="p",
    job="j",
    gpu_memory_bytes=1,
    utilization_ratio=0.5,
    host_memory_bytes=2,
    cpu_utilization_ratio=1.5,
    absent={"argv": Absence.NOT_COLLECTED},
)


def test_a_process_travels_whole_but_for_its_arguments() -> None:
    secret = msgspec.structs.replace(
        FULL, argv=("train", "--token=x"), absent={"pod": Absence.PERMISSION}
    )
    message = processes_message(3, (secret,))
    assert (message.slot, message.total, message.users) == (3, 1, ("ann",))
    expected = {"pod": Absence.PERMISSION, "argv": Absence.NOT_COLLECTED}
    assert process_of(message.rows[0], "d") == msgspec.structs.replace(FULL, absent=expected)


def test_as_many_processes_as_allowed_travel_in_their_order() -> None:
    most = tuple(process(n, gpu_memory_bytes=n) for n in range(MAX_PROCESSES))
    message = processes_message(0, most)
    assert [row.pid for row in message.rows] == list(range(MAX_PROCESSES))
    more = (process(9999), process(9998, gpu_memory_bytes=1), *most)
    message = processes_message(0, more)
    assert message.total == MAX_PROCESSES + 2
    pids = [row.pid for row in message.rows]
    assert pids[:2] == [MAX_PROCESSES - 1, MAX_PROCESSES - 2]
    assert pids[-2:] == [1, 9998]
    assert len(pids) == MAX_PROCESSES


def test_of_processes_with_as_much_memory_the_lowest_pids_travel() -> None:
    alike = tuple(process(MAX_PROCESSES + 1 - n) for n in range(MAX_PROCESSES + 1))
    last = process(0, gpu_memory_bytes=1)
    pids = [row.pid for row in processes_message(0, (*alike, last)).rows]
    assert pids == [0, *range(1, MAX_PROCESSES)]


def test_users_are_each_named_once_and_bounded() -> None:
    running = tuple(process(n, user=f"u{n:04}") for n in range(MAX_USERS + 1))
    users = processes_message(0, (process(5000), *running, running[0])).users
    assert users == tuple(f"u{n:04}" for n in range(MAX_USERS))


def test_long_texts_are_cut() -> None:
    limit = context._MAX_TEXT
    whole, cut = (
        process(1, command="x" * limit),
        process(2, command="y" * (limit + 1), user="u" * 999),
    )
    message = processes_message(0, (whole, cut))
    assert [row.command for row in message.rows] == ["x" * limit, "y" * limit]
    assert message.users == ("u" * limit,)


def test_owners_are_bounded() -> None:
    owners = tuple(Owner(kind="job", job_id=str(n)) for n in range(MAX_OWNERS + 1))
    message = owners_message(4, owners)
    assert (message.slot, message.owners) == (4, owners[:MAX_OWNERS])


def fault(text: str, details: int) -> ErrorEvent:
    detail = {str(number): "v" for number in range(details)}
    return ErrorEvent(
        code="c", category=Category.BUS, time=1.0, text=text, source="s", detail=detail
    )


def test_an_event_is_bounded_in_its_text_and_its_details() -> None:
    letters, details = context._MAX_EVENT_TEXT, context._MAX_DETAILS
    fits = fault("x" * letters, details)
    assert event_message(5, fits).event is fits
    assert event_message(5, fits).sequence == 5
    for longer in (fault("x" * (letters + 1), details), fault("x" * letters, details + 1)):
        assert event_message(5, longer).event == fits


def test_what_distinguishes_processes() -> None:
    assert identities(None) is None
    known = [(7, 5.0, "ann", "train", "c", "p", "j")]
    assert identities([FULL]) == known
    moved = msgspec.structs.replace(FULL, gpu_memory_bytes=99, utilization_ratio=0.0)
    assert identities([moved]) == known


def test_which_rows_are_devices() -> None:
    host = Device(id="h", vendor="host", backend="host", index=0, name="h", kind=DeviceKind.HOST)
    assert is_host(host)
    assert not is_host(machines.device(0))
    whole, part = machines.view(0), machines.mig_view(1, 0)
    assert physical_devices([whole, part]) == [whole]


def test_the_host_has_quantities_of_its_own() -> None:
    reading = complete(Reading(device_id="h"), frozenset(), host=True)
    families = {series[0] for series in reading.absent}
    assert families == {row.key for row in host_metrics()} | {"processes"}
    assert not families & {row.key for row in reading_metrics()}


def test_a_document_brings_the_host_back() -> None:
    reading = Reading(device_id="h", values={("host_uptime_seconds",): 5.0})
    host = Device(id="h", vendor="host", backend="host", index=0, name="h", kind=DeviceKind.HOST)
    node = machines.view(0, device=host, reading=complete(reading, frozenset(), host=True))
    shot = machines.snapshot(machines.view(0), node=node)
    back = decode(encode(shot))
    assert back.node is not None
    assert back.node.reading.values == {("host_uptime_seconds",): 5.0}
    assert back.node.reading.absent == node.reading.absent
    assert decode(encode(machines.snapshot())).node is None


def test_a_document_brings_each_label_s_value_and_reason_back() -> None:
    values: dict[Series, Number] = {("temperature_celsius", "gpu"): 40, ("power_watts",): 0}
    absent: dict[Series, Absence] = {
        ("temperature_celsius", "memory"): Absence.PERMISSION,
        ("fan_speed_ratio",): Absence.ERROR,
    }
    one = machines.device(0)
    reading = complete(Reading(device_id=one.id, values=values, absent=absent), frozenset())
    shot = machines.snapshot(machines.view(0, reading=reading))
    (back,) = decode(encode(shot)).devices
    assert back.reading.values == values
    assert back.reading.absent == reading.absent
