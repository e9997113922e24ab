"""What one target has sent, message by message: what is accepted, what ends the connection."""

import asyncio
import math

import msgspec
import pytest

from accelwatch.base.errors import UnmetError
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import SCHEME_HINTS
from accelwatch.fleet.follow.frames import (
    MAX_SLOTS,
    RawBackends,
    RawDevice,
    RawProcesses,
    RawTick,
)
from accelwatch.fleet.state.nodes.source import (
    MAX_CONTEXT_BYTES,
    MAX_CONTEXT_SLOTS,
    MAX_SERIES,
    MAX_WAITING_EVENTS,
    TargetSource,
)
from accelwatch.fleet.table.columns import ColumnStore
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import EventCount, Owner
from accelwatch.schema.stream.compact import Hello, Layout
from accelwatch.schema.stream.context import Event, Findings, Own, Owners
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

NOW = machines.NOW
POWER: tuple[Series, ...] = (("power_watts",),)
HOST = machines.device(0, id="host:a", kind=DeviceKind.HOST)
JOB = Owner(kind="job", scheduler="slurm", job_id="4711", user="ada")


def new_source() -> TargetSource:
    (target,) = targets_of(["a"])
    return TargetSource(target, ColumnStore())


def greeted(**hello: object) -> TargetSource:
    """A source whose stream has started."""
    source = new_source()
    source.start_stream()
    take(source, Hello(version="1", host="a", **hello))  # type: ignore[arg-type]
    return source


def take(source: TargetSource, message: object, size: int = 100, at: float = 5.0) -> bool:
    return source.accept(message, size, NOW, at)  # type: ignore[arg-type]


def layout(
    slot: int = 0, device: Device | None = None, series: tuple[Series, ...] = POWER
) -> Layout:
    return Layout(slot=slot, device=device or machines.device(slot), series=series)


def tick(
    sequence: int, *slots: int, time: float = NOW, values: tuple[object, ...] = (1.5,)
) -> RawTick:
    devices = tuple(
        RawDevice(slot, "ok", NOW - 9, "ok", NOW - 1, msgspec.Raw(msgspec.msgpack.encode(values)))
        for slot in slots
    )
    return RawTick(sequence=sequence, time=time, devices=devices)


def refused(source: TargetSource, message: object, size: int = 100) -> tuple[str, str]:
    with pytest.raises(TargetFault) as fault:
        take(source, message, size)
    return fault.value.reason, str(fault.value)


def test_a_source_that_reported_nothing_knows_nothing() -> None:
    source = new_source()
    assert (source.dialect, source.version, source.boot_id, source.mode) == ("", "", "", "")
    assert (source.connected, source.fault, source.arrived, source.opening) == (
        False,
        None,
        None,
        False,
    )
    assert (source.time, source.arrived_wall, source.interval_s) == (0.0, 0.0, 1.0)
    assert (source.faults_total, source.gaps_total, source.restarts_total) == (0, 0, 0)
    assert source.verified is True
    assert source.backends == RawBackends()
    assert (source.devices, source.host, source.events, source.rejected) == ({}, None, [], {})


def test_a_stream_starts_with_a_hello() -> None:
    for message in (layout(), tick(1), RawBackends()):
        source = new_source()
        fault = (Reason.GARBAGE, "the stream does not start with our hello")
        assert refused(source, message) == fault
    source = greeted()
    source.start_stream()
    assert refused(source, layout())[0] == Reason.GARBAGE


def test_a_hello_reports_who_speaks() -> None:
    source = new_source()
    hello = Hello(version="v" * 65, host="a", boot_id="b" * 65, interval_s=2.0)
    assert take(source, hello) is False
    assert (source.dialect, source.version, source.boot_id) == ("accelwatch", "v" * 64, "b" * 64)
    assert source.arrived is None
    assert source.connected is False


def test_a_hello_reports_which_machine() -> None:
    source = new_source()
    assert (source.host_name, source.boot_time, source.system_uuid) == ("", None, "")
    take(source, Hello(version="1", host="h" * 256, boot_time=7.0, system_uuid="u" * 65))
    assert (source.host_name, source.boot_time) == ("h" * 255, 7.0)
    assert source.system_uuid == "u" * 64


@pytest.mark.parametrize("reported", [None, -1.0, math.nan, math.inf, 253_402_300_800.0])
def test_a_boot_time_that_is_none_is_not_accepted(reported: float | None) -> None:
    source = new_source()
    take(source, Hello(version="1", host="a", boot_time=7.0))
    source.start_stream()
    take(source, Hello(version="1", host="a", boot_time=reported))
    assert source.boot_time is None


def test_a_stream_of_another_schema_is_refused_by_its_name() -> None:
    text = "the stream speaks 'accelwatch/2', this version 'accelwatch/1'"
    hello = Hello(schema="accelwatch/2", version="1", host="a")
    assert refused(new_source(), hello) == (Reason.GARBAGE, text)
    long = Hello(schema="x" * 41, version="1", host="a")
    assert f"speaks {'x' * 40!r}," in refused(new_source(), long)[1]


@pytest.mark.parametrize(
    ("reported", "taken"),
    [
        (None, 1.0),
        (0.05, 0.05),
        (0.049, 1.0),
        (60.0, 60.0),
        (60.1, 1.0),
        (-1.0, 1.0),
        (math.nan, 1.0),
        (math.inf, 1.0),
    ],
)
def test_an_interval_out_of_bounds_is_a_second(reported: float | None, taken: float) -> None:
    source = new_source()
    source.interval_s = 7.0
    take(source, Hello(version="1", host="a", interval_s=reported))
    assert source.interval_s == taken


def test_the_devices_are_those_of_the_newest_tick() -> None:
    source = greeted()
    for slot in (0, 1):
        assert take(source, layout(slot)) is False
    take(source, layout(7, HOST))
    assert source.devices == {}
    assert take(source, tick(1, 0, 1, 7)) is True
    assert list(source.devices) == [machines.device(0).id, machines.device(1).id]
    assert source.host is not None
    assert source.host.device is HOST
    assert source.devices[machines.device(1).id].number(("power_watts",)) == 1.5
    assert take(source, tick(2, 0, 1, 7)) is False
    assert take(source, tick(3, 1)) is True
    assert list(source.devices) == [machines.device(1).id]
    assert source.host is None
    take(source, layout(1, machines.device(4)))
    assert take(source, tick(4, 1)) is True
    assert list(source.devices) == [machines.device(4).id]


def test_devices_stay_over_a_reconnection_until_its_first_tick() -> None:
    source = greeted()
    take(source, layout())
    take(source, tick(5, 0))
    source.events.append(event(1))
    source.start_stream()
    assert (list(source.devices), source.events) == ([machines.device(0).id], [])
    assert source.opening is True
    take(source, Hello(version="1", host="a"))
    assert refused(source, tick(9, 0)) == (
        Reason.GARBAGE,
        "values for slot 0 do not fit its layout",
    )
    source.start_stream()
    take(source, Hello(version="1", host="a"))
    take(source, layout(0, machines.device(3)))
    assert take(source, tick(1, 0)) is True
    assert list(source.devices) == [machines.device(3).id]
    assert (source.gaps_total, source.restarts_total) == (0, 0)


@pytest.mark.parametrize("values", [(), (1.0, 2.0)])
def test_values_that_do_not_fit_the_layout_end_it(values: tuple[object, ...]) -> None:
    source = greeted()
    take(source, layout())
    fault = refused(source, tick(1, 0, values=values))
    assert fault == (Reason.GARBAGE, "values for slot 0 do not fit its layout")


@pytest.mark.parametrize("time", [-1.0, math.nan, 253_402_300_800.0])
def test_a_tick_is_of_a_time(time: float) -> None:
    assert refused(greeted(), tick(1, time=time)) == (Reason.GARBAGE, "a tick without a time")
    source = greeted()
    take(source, tick(1, time=0.0))
    assert source.time == 0.0


def test_what_arrives_makes_a_source_well_and_what_fails_is_counted() -> None:
    source = greeted()
    first, second = TargetFault(Reason.CONNECT, "a"), TargetFault(Reason.TIMEOUT, "b")
    source.fail(first)
    source.fail(second)
    assert (source.connected, source.fault, source.faults_total) == (False, second, 2)
    take(source, tick(1, time=NOW - 70), at=9.0)
    assert (source.connected, source.fault, source.faults_total) == (True, None, 2)
    assert (source.arrived, source.arrived_wall, source.time) == (9.0, NOW, NOW - 70)
    assert source.skew.seconds == -70.0
    source.arrive(None, NOW + 1, 10.0)
    assert (source.arrived, source.arrived_wall, source.time) == (10.0, NOW + 1, NOW + 1)
    assert source.skew.seconds == -70.0


@pytest.mark.parametrize("slot", [-1, MAX_SLOTS])
def test_a_slot_out_of_bounds_is_refused(slot: int) -> None:
    text = f"more than {MAX_SLOTS} devices or too many series"
    assert refused(greeted(), layout(slot, machines.device(0))) == (Reason.TOO_LARGE, text)
    take(greeted(), layout(MAX_SLOTS - 1, machines.device(0)))


def test_series_are_bounded() -> None:
    most = tuple(("power_watts", str(number)) for number in range(MAX_SERIES))
    source = greeted()
    take(source, layout(0, series=most))
    assert refused(source, layout(0, series=(*most, ("power_watts",))))[0] == Reason.TOO_LARGE


def test_layouts_without_end_are_refused_and_a_new_stream_may_start() -> None:
    source = greeted()
    for _ in range(2):
        take(source, layout(), size=16 << 20)
    text = "too many layouts; the stream restarts"
    assert refused(source, layout(), size=1) == (Reason.TOO_LARGE, text)
    source.start_stream()
    take(source, Hello(version="1", host="a"))
    take(source, layout(), size=32 << 20)


def test_a_series_has_a_name() -> None:
    text = "a series of slot 3 has no name"
    assert refused(greeted(), layout(3, series=((),))) == (Reason.GARBAGE, text)
    unnamed = msgspec.structs.replace(layout(3), absent=(((), "u"),))
    assert refused(greeted(), unnamed) == (Reason.GARBAGE, text)


def event(number: int) -> Event:
    fault_event = ErrorEvent(code="xid_79", category=Category.BUS, time=NOW, text="", source="nvml")
    return Event(sequence=number, event=fault_event)


def test_what_stands_beside_the_numbers_is_kept_with_its_device() -> None:
    source = greeted()
    take(source, layout())
    take(source, layout(1))
    counts = (EventCount(code="xid_79", category="bus", total=1, last_time=NOW),)
    take(source, Owners(slot=0, owners=(JOB,)))
    rows = msgspec.Raw(b"\x90")
    take(source, RawProcesses(slot=0, total=3, users=("eva",), rows=rows))
    take(source, Findings(slot=0, health_reasons=("hot",), event_counts=counts))
    take(source, Owners(slot=9, owners=(JOB,)))
    take(source, tick(1, 0, 1))
    first, second = source.devices.values()
    assert first.usage.occupancy.owners == (JOB,)
    assert (first.usage.users, first.usage.processes_total, first.usage.rows) == (
        ("eva",),
        3,
        b"\x90",
    )
    assert (first.usage.health_reasons, first.usage.event_counts) == (("hot",), counts)
    assert second.usage.occupancy.owners == ()


def test_another_layout_keeps_the_owner_of_the_same_device_only() -> None:
    source = greeted()
    take(source, layout())
    take(source, Owners(slot=0, owners=(JOB,)))
    for device, owners in ((machines.device(0, model="x"), (JOB,)), (machines.device(5), ())):
        take(source, layout(0, device))
        take(source, tick(1, 0))
        (held,) = source.devices.values()
        assert held.usage.occupancy.owners == owners


def test_usage_is_kept_of_so_many_devices() -> None:
    source = greeted()
    for slot, owners in ((MAX_CONTEXT_SLOTS - 1, (JOB,)), (MAX_CONTEXT_SLOTS, ())):
        take(source, layout(slot, machines.device(1)))
        take(source, Owners(slot=slot, owners=(JOB,)))
        take(source, tick(1, slot))
        (held,) = source.devices.values()
        assert held.usage.occupancy.owners == owners


def test_messages_beside_the_ticks_are_bounded() -> None:
    source = greeted()
    backends = RawBackends(errors=msgspec.Raw(b"\x91"))
    take(source, backends, size=MAX_CONTEXT_BYTES)
    assert (source.backends, source.rejected) == (backends, {})
    for number in (1, 2):
        take(source, RawBackends(), size=MAX_CONTEXT_BYTES + 1)
        assert (source.backends, source.rejected) == (backends, {"too_large": number})
    for number in range(MAX_WAITING_EVENTS + 5):
        take(source, event(number))
    assert [one.sequence for one in source.events] == list(range(MAX_WAITING_EVENTS))


def test_what_an_agent_says_of_itself_is_of_its_present_stream() -> None:
    source = greeted()
    up = ("collector_up", "nvidia")
    take(source, Own(values=(1.0,)))
    assert source.own == {}
    take(source, Own(series=(up,), values=(1,)))
    take(source, Own(series=(up,), values=()))
    assert source.own == {up: 1}
    take(source, Own(values=(0,)))
    assert source.own == {up: 0}
    source.start_stream()
    assert source.own == {}


def test_an_exposition_replaces_the_devices_before() -> None:
    source = new_source()
    host = machines.view(0, device=HOST)
    source.read([machines.view(0), host, machines.view(1)], 15.0)
    assert list(source.devices) == [machines.device(0).id, machines.device(1).id]
    assert source.host is not None
    assert source.interval_s == 15.0
    assert source.arrived is None
    source.read([machines.view(2)], 15.0)
    assert list(source.devices) == [machines.device(2).id]
    assert source.host is None


def test_a_source_that_never_answered_knows_nothing_of_how_it_is_read() -> None:
    bench = Bench("n1")
    source = bench.fleet.source(bench.targets["n1"].key)
    assert source is not None
    assert (source.read_s, source.verified, bench.fleet.store) == (None, True, None)


def test_each_page_states_its_devices_anew() -> None:
    bench = Bench("n1")
    source = bench.fleet.source(bench.targets["n1"].key)
    assert source is not None
    restated = [source.restated]
    for _ in range(3):
        source.read([machines.view(0)], 5.0)
        restated.append(source.restated)
    assert restated == [0, 1, 2, 3]


def test_each_change_of_a_state_is_one() -> None:
    source = greeted()
    take(source, layout())
    restated = []
    for sequence, state in enumerate(("ok", "ok", "lost", "ok", "ok"), start=1):
        changed = msgspec.structs.replace(tick(sequence, 0).devices[0], state=state)
        take(source, RawTick(sequence=sequence, time=NOW, devices=(changed,)))
        restated.append(source.restated)
    assert restated == [1, 1, 2, 3, 3]


def test_only_a_device_that_is_missing_can_be_acknowledged() -> None:
    bench = Bench("n1")
    bench.report("n1", machines.view(0))
    with pytest.raises(UnmetError, match=r"^no device 'x' is missing on n1$"):
        asyncio.run(bench.fleet.acknowledge("n1", "x"))


def test_only_one_that_never_answered_is_probed_for_its_protocol() -> None:
    guessed = TargetFault(Reason.CLOSED, f"closed without an answer{SCHEME_HINTS['http']}")
    stranger, known = new_source(), greeted()
    take(known, layout())
    take(known, tick(1, 0))
    for source in (stranger, known):
        source.fail(guessed)
    assert "does it expect TLS?" in str(stranger.fault)
    assert str(known.fault) == "closed without an answer"
    assert known.fault is not None
    assert known.fault.reason is Reason.CLOSED
