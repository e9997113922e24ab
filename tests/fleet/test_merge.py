"""Exporters of one node are merged by one set of rules: in one page, over targets, over streams."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import merge
from accelwatch.fleet.follow.frames import FrameReader
from accelwatch.fleet.merge import identity
from accelwatch.fleet.state.nodes.devices import FleetDevice, ReadDevice, StreamDevice
from accelwatch.fleet.state.nodes.joined import merged
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.table.columns import ColumnStore
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Link, Number, Reading, wholly_absent
from accelwatch.schema.snapshot import DeviceView, EventCount, Owner
from support.fleet.hub_peers import stream_bytes
from support.machines import composed as machines

NAMES = ("first", "second", "third")
Sources = Sequence[Sequence[DeviceView]]


class Result(msgspec.Struct, frozen=True):
    """What is known of a device in the end."""

    device: Device
    state: str
    health: str
    reasons: tuple[str, ...]
    reading: Reading
    owners: tuple[Owner, ...]
    event_counts: tuple[EventCount, ...]


def one_page(sources: Sources) -> list[Result]:
    views = merge(dict(zip(NAMES, sources, strict=False)), NAMES)
    return [
        Result(
            view.device,
            view.state.value,
            view.health.value,
            view.health_reasons,
            view.reading,
            view.owners,
            view.event_counts,
        )
        for view in views
    ]


def targets(sources: Sources) -> list[Result]:
    held = [{view.device.id: ReadDevice(view) for view in views} for views in sources]
    return _results(merged(list(zip(NAMES, held, strict=False))))


def streams(sources: Sources) -> list[Result]:
    return _results(merged(list(zip(NAMES, map(_streamed, sources), strict=False))))


def _streamed(views: Sequence[DeviceView]) -> dict[str, FleetDevice]:
    source = TargetSource(targets_of(["n01"])[0], ColumnStore())
    source.start_stream()
    for message, size in FrameReader(1 << 20).feed(stream_bytes(machines.snapshot(*views))):
        source.accept(message, size, machines.NOW, 0.0)
    return source.devices


def _results(devices: dict[str, FleetDevice]) -> list[Result]:
    assert list(devices) == [held.device.id for held in devices.values()]
    found = []
    for held in devices.values():
        reading = held.reading()
        wanted = list({**machines.values(0), **reading.values})
        assert held.numbers(wanted) == [reading.values.get(series) for series in wanted]
        assert [held.number(series) for series in wanted] == held.numbers(wanted)
        assert held.keys([series[0] for series in wanted]) == {one[0] for one in reading.values}
        usage = held.usage
        assert held.usage is usage
        found.append(
            Result(
                held.device,
                held.state,
                held.health,
                usage.health_reasons,
                reading,
                usage.occupancy.owners,
                usage.event_counts,
            )
        )
    return found


WAYS = [one_page, targets, streams]
Way = Callable[[Sources], list[Result]]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def view(values: Mapping[Series, Number] | None = None, **changes: Any) -> DeviceView:
    """A device, by default one of few words, that goes by another id in each source."""
    facts = {"model": None, "serial": None, **changes.pop("facts", {})}
    device = machines.device(0, **facts)
    reading = Reading(device_id=device.id, values=dict(values or {}), **changes.pop("reading", {}))
    return machines.view(0, device=device, reading=reading, **changes)


@each_way
def test_a_lost_device_has_no_values_and_its_facts(way: Way) -> None:
    gone = view(state=DeviceState.LOST)
    gone = msgspec.structs.replace(
        gone, health=Health.FAILED, reading=wholly_absent(gone.device.id, Absence.LOST)
    )
    frozen = view({("power_watts",): 300.0}, facts={"model": "H100", "serial": "165"})
    (found,) = way([[gone], [frozen]])
    assert (found.state, found.health) == ("lost", "failed")
    assert found.reading.values == {}
    assert found.reading.absent == {("*",): Absence.LOST}
    assert (found.device.model, found.device.serial) == ("H100", "165")


@each_way
@pytest.mark.parametrize(
    "state", [state for state in DeviceState if state not in ("ok", "degraded")]
)
def test_a_source_that_calls_a_device_gone_reports_no_values_of_it(
    way: Way, state: DeviceState
) -> None:
    there = view({("power_watts",): 300.0})
    gone = view({("fan_speed_ratio", "0"): 0.5}, state=state, health=Health.FAILED)
    (found,) = way([[there], [gone]])
    assert found.reading.values == {("power_watts",): 300.0}
    assert (found.state, found.health) == ("ok", "ok")
    (found,) = way([[gone], [there]])
    assert found.reading.values == {("fan_speed_ratio", "0"): 0.5}
    assert (found.state, found.health) == (state, "failed")


@each_way
def test_a_device_that_is_degraded_still_reports(way: Way) -> None:
    first = view({("power_watts",): 300.0}, state=DeviceState.DEGRADED, health=Health.DEGRADED)
    other = view({("fan_speed_ratio", "0"): 0.5})
    for parts in ([first], [other]), ([other], [first]):
        (found,) = way(parts)
        assert found.reading.values == {("power_watts",): 300.0, ("fan_speed_ratio", "0"): 0.5}


@each_way
def test_all_series_of_a_key_come_from_one_source_but_those_that_are_independent(way: Way) -> None:
    first = view({("energy_joules_total", "hardware"): 5, ("temperature_celsius", "gpu"): 40})
    second = view(
        {
            ("energy_joules_total", "integrated"): 9,
            ("temperature_celsius", "gpu"): 41,
            ("temperature_celsius", "memory"): 50,
            ("ecc_errors_total", "corrected"): 1,
        }
    )
    third = view({("ecc_errors_total", "uncorrected"): 2, ("temperature_celsius", "memory"): 51})
    (found,) = way([[first], [second], [third]])
    assert found.reading.values == {
        ("energy_joules_total", "hardware"): 5,
        ("temperature_celsius", "gpu"): 40,
        ("temperature_celsius", "memory"): 50,
        ("ecc_errors_total", "corrected"): 1,
    }
    assert found.reading.sources == {"ecc_errors_total": "second"}


INDEPENDENT: list[tuple[Series, Series]] = [
    (("temperature_celsius", "gpu"), ("temperature_celsius", "memory")),
    (
        ("temperature_limit_celsius", "gpu", "slowdown"),
        ("temperature_limit_celsius", "gpu", "shutdown"),
    ),
    (("clock_hertz", "sm"), ("clock_hertz", "memory")),
    (("clock_limit_hertz", "sm", "max"), ("clock_limit_hertz", "memory", "max")),
    (("power_limit_watts", "max"), ("power_limit_watts", "default")),
]


@each_way
@pytest.mark.parametrize(("one", "other"), INDEPENDENT)
def test_independent_series_fill_each_other(way: Way, one: Series, other: Series) -> None:
    (found,) = way([[view({one: 60})], [view({other: 70})]])
    assert found.reading.values == {one: 60, other: 70}


@each_way
def test_absences_are_the_first_sources_for_what_nobody_has(way: Way) -> None:
    absent = {
        ("fan_speed_ratio",): Absence.UNSUPPORTED,
        ("power_watts",): Absence.ERROR,
        ("temperature_celsius", "memory"): Absence.TIMEOUT,
        ("temperature_celsius", "gpu"): Absence.TIMEOUT,
        ("processes",): Absence.PERMISSION,
    }
    first = view(reading={"absent": absent})
    values: dict[Series, Number] = {
        ("fan_speed_ratio", "0"): 0.5,
        ("temperature_celsius", "gpu"): 40,
    }
    other = view(values, reading={"absent": {("performance_state",): Absence.ERROR}})
    (found,) = way([[first], [other]])
    assert found.reading.absent == {
        ("power_watts",): Absence.ERROR,
        ("temperature_celsius", "memory"): Absence.TIMEOUT,
        ("processes",): Absence.PERMISSION,
    }


def health_ways() -> list[tuple[str, str, str]]:
    first_wins = [("failed", "ok", "failed"), ("degraded", "ok", "degraded")]
    worse_wins = [("degraded", "failed", "failed"), ("ok", "failed", "failed")]
    unknown = [
        ("unknown", "ok", "ok"),
        ("unknown", "degraded", "degraded"),
        ("ok", "unknown", "ok"),
    ]
    both = [("ok", "degraded", "degraded"), ("failed", "degraded", "failed")]
    return [*first_wins, *worse_wins, *unknown, *both, ("unknown", "unknown", "unknown")]


@each_way
@pytest.mark.parametrize(("first", "second", "expected"), health_ways())
def test_no_source_hides_what_another_sees_wrong(
    way: Way, first: str, second: str, expected: str
) -> None:
    one = view(health=Health(first), health_reasons=("fabric", "memory"))
    two = view(health=Health(second), health_reasons=("memory", "bus"))
    (found,) = way([[one], [two]])
    assert found.health == expected
    assert found.reasons == ("fabric", "memory", "bus")


@each_way
def test_an_exporter_that_reads_badly_says_nothing_about_a_healthy_device(way: Way) -> None:
    bad = view(state=DeviceState.DEGRADED, health=Health.DEGRADED, health_reasons=("half read",))
    (found,) = way([[view()], [bad]])
    assert (found.health, found.reasons) == ("ok", ())
    (found,) = way([[bad], [view()]])
    assert (found.health, found.reasons) == ("degraded", ("half read",))
    dying = msgspec.structs.replace(bad, health=Health.FAILED)
    (found,) = way([[view()], [dying]])
    assert (found.health, found.reasons) == ("failed", ("half read",))


@each_way
def test_owners_are_united_and_events_are_those_of_the_first_that_counts(way: Way) -> None:
    pod, job = Owner(kind="kubernetes", pod="p"), Owner(kind="job", job_id="1")
    counts = [
        EventCount(code=f"xid_{code}", category="bus", total=1, last_time=0.0) for code in (79, 80)
    ]
    first = view(owners=(pod,))
    second = view(owners=(job, pod), event_counts=tuple(counts[:1]))
    third = view(event_counts=tuple(counts[1:]))
    (found,) = way([[first], [second], [third]])
    assert found.owners == (pod, job)
    assert found.event_counts == tuple(counts[:1])


@each_way
def test_processes_are_those_of_the_first_that_reports_any(way: Way) -> None:
    running = machines.processes(machines.device(0).id)
    reported = view(reading={"processes": running})
    untold = view(reading={"absent": {("processes",): Absence.PERMISSION}})
    idle = view(reading={"processes": ()})
    (found,) = way([[untold], [reported]])
    assert [one.pid for one in found.reading.processes or ()] == [one.pid for one in running]
    assert found.reading.absent == {}
    assert found.reading.sources == {"processes": "second"}
    (found,) = way([[idle], [reported]])
    assert found.reading.processes == ()
    gone = msgspec.structs.replace(reported, state=DeviceState.LOST)
    (found,) = way([[untold], [gone]])
    assert found.reading.processes is None


@pytest.mark.parametrize("way", [one_page, targets], ids=lambda way: way.__name__)
def test_links_notes_and_sources_are_kept(way: Way) -> None:
    link, other_link = Link(fabric="nvlink", link="0"), Link(fabric="nvlink", link="1")
    first = view(
        {("power_watts",): 1}, reading={"sources": {"*": "nvml"}, "notes": ("slow", "old")}
    )
    second = view(
        {("power_watts",): 2, ("fan_speed_ratio", "0"): 0.5, ("performance_state",): 0},
        reading={
            "links": (link,),
            "notes": ("old", "half"),
            "sources": {"*": "dcgm", "performance_state": "sysfs"},
        },
    )
    third = view(reading={"links": (other_link,)})
    (found,) = way([[first], [second], [third]])
    assert found.reading.links == (link,)
    assert found.reading.notes == ("slow", "old", "half")
    assert found.reading.sources == {
        "*": "nvml",
        "fan_speed_ratio": "dcgm",
        "performance_state": "sysfs",
    }


def bare(device_id: str, **facts: Any) -> DeviceView:
    changes = {"uuid": None, "pci_bus_id": None, **facts}
    return machines.view(0, device=machines.device(0, id=device_id, **changes))


SAME = [
    (bare("a", uuid="GPU-AB"), bare("b", uuid="ab")),
    (bare("a", uuid="MIG-AB", parent_id="p", partition="x"), bare("b", uuid="ab", parent_id="q")),
    (bare("a", pci_bus_id="0000:05:00.0"), bare("b", pci_bus_id="00000000:05:00.0")),
    (bare("a", uuid="u", pci_bus_id="0000:05:00.0"), bare("b", pci_bus_id="0000:05:00.0")),
    (bare("a", pci_bus_id="0000:05:00.0"), bare("b", uuid="u", pci_bus_id="0000:05:00.0")),
    (bare("a"), bare("a")),
    (bare("a/x", parent_id="a", partition="x"), bare("b", parent_id="a", partition="x")),
]
OTHERS = [
    (bare("a"), bare("b")),
    (bare("a", uuid="u"), bare("b", uuid="v")),
    (bare("a/x", parent_id="a", partition="x"), bare("b", parent_id="a", partition="y")),
    (bare("a/x", parent_id="a", name="x"), bare("b", parent_id="a", name="y")),
    (
        bare("a/x", parent_id="a", partition="x", pci_bus_id="0000:05:00.0"),
        bare("b", pci_bus_id="0000:05:00.0"),
    ),
]


@each_way
@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_device_under_two_names(way: Way, one: DeviceView, other: DeviceView) -> None:
    (found,) = way([[one], [other]])
    assert found.device.id == one.device.id


@each_way
@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_two_devices_stay_two(way: Way, one: DeviceView, other: DeviceView) -> None:
    assert [found.device.id for found in way([[one], [other]])] == [one.device.id, other.device.id]


@each_way
def test_one_source_never_reports_a_device_twice(way: Way) -> None:
    board = {"pci_bus_id": "0000:05:00.0"}
    pair = [bare("a", uuid="u", **board), bare("b", uuid="v", **board)]
    assert len(way([pair])) == 2
    found = way([[bare("x", **board)], pair])
    assert [one.device.id for one in found] == ["x", "b"]
    assert found[0].device.uuid == "u"
    found = way([pair, [bare("x", **board)]])
    assert [one.device.id for one in found] == ["a", "b"]


@each_way
def test_a_name_that_the_second_source_brings_joins_the_third(way: Way) -> None:
    by_address = bare("a", pci_bus_id="0000:05:00.0")
    both = bare("b", pci_bus_id="0000:05:00.0", uuid="u")
    (found,) = way([[by_address], [both], [bare("c", uuid="u", serial="s")]])
    assert found.device.id == "a"


@each_way
def test_a_device_goes_by_the_uuids_of_all_that_report_it(way: Way) -> None:
    address = {"pci_bus_id": "0000:05:00.0"}
    devices = [bare("a", uuid="u", **address), bare("b", uuid="v", **address), bare("c", uuid="v")]
    (found,) = way([[one] for one in devices])
    assert found.device.uuid == "u"


def test_a_change_of_owners_or_users_in_any_part_is_seen() -> None:
    first = _streamed([view()])
    second = _streamed([view()])
    (joined,) = merged([("one", first), ("two", second)]).values()
    assert joined.usage.occupancy.names == {}
    (part,) = second.values()
    assert isinstance(part, StreamDevice)
    part.usage = part.usage.with_owners((Owner(kind="job", job_id="7"),))
    assert joined.usage.occupancy.shown == {"job": "7"}
    part.usage = part.usage.with_processes(b"\x90", 0, ("ada",))
    assert joined.usage.occupancy.shown == {"job": "7", "user": "ada"}
    assert joined.usage.users == ("ada",)


@each_way
def test_partitions_follow_their_device_and_their_parent_may_come_later(way: Way) -> None:
    parent = bare("nvidia:GPU-A", uuid="GPU-A")
    other = bare("nvidia:a", uuid="a")
    part = bare("nvidia:a/gi7", parent_id="nvidia:a", partition="gi7")
    nameless = bare("nvidia:a/x", parent_id="nvidia:a", name="gi8")
    found = way([[parent], [part, nameless, other]])
    ids = ["nvidia:GPU-A", "nvidia:GPU-A/gi7", "nvidia:GPU-A/gi8"]
    assert [one.device.id for one in found] == ids
    assert [one.device.parent_id for one in found] == [None, ids[0], ids[0]]
    assert [one.reading.device_id for one in found] == ids
    own = bare("own", parent_id="nvidia:GPU-A", partition="gi7")
    found = way([[parent, own], [other, part]])
    assert [one.device.id for one in found] == [ids[0], "own"]


FACTS = {
    **{"model": "H", "architecture": "h", "uuid": "u", "serial": "s", "part_number": "p"},
    **{"firmware_version": "f", "vbios_version": "v", "driver_version": "d", "numa_node": 0},
    **{"pci_bus_id": "0000:05:00.0", "partition_profile": "1g", "partition_mode": "enabled"},
}


@each_way
@pytest.mark.parametrize("fact", FACTS)
def test_each_fact_is_filled_by_who_knows_it(way: Way, fact: str) -> None:
    without = bare("a", **dict.fromkeys(FACTS), absent={fact: Absence.ERROR, "x": Absence.ERROR})
    known = bare("a", **{**dict.fromkeys(FACTS), fact: FACTS[fact]})
    later = bare("a", **dict.fromkeys(FACTS, None) | {fact: 1 if fact == "numa_node" else "later"})
    (found,) = way([[without], [known], [later]])
    assert getattr(found.device, fact) == FACTS[fact]
    assert found.device.absent == {"x": Absence.ERROR}
    (found,) = way([[known], [later]])
    assert getattr(found.device, fact) == FACTS[fact]


def test_the_identity_of_a_device_is_the_best_of_its_names() -> None:
    device = machines.device(0, uuid="GPU-AB", pci_bus_id="00000000:05:00.0", id="x")
    assert identity(device) == "uuid:ab"
    device = msgspec.structs.replace(device, uuid=None)
    assert identity(device) == "pci:0000:05:00.0"
    assert identity(msgspec.structs.replace(device, pci_bus_id=None)) == "id:x"
    part = msgspec.structs.replace(device, parent_id="p", partition="gi1")
    assert identity(part) == "partition:p/gi1"


SERIES: list[Series] = [
    ("power_watts",),
    ("temperature_celsius", "gpu"),
    ("temperature_celsius", "memory"),
    ("ecc_errors_total", "corrected"),
    ("ecc_errors_total", "uncorrected"),
    ("memory_repair_failed",),
]
_values = st.dictionaries(st.sampled_from(SERIES), st.integers(0, 1))
_absent = st.dictionaries(st.sampled_from(SERIES), st.sampled_from(Absence))


@st.composite
def drawn_view(draw: st.DrawFn) -> DeviceView:
    """A device as some exporter reports it."""
    values = draw(_values)
    absent = {one: why for one, why in draw(_absent).items() if one not in values}
    return view(
        values,
        reading={"absent": absent},
        facts=draw(st.fixed_dictionaries({"serial": st.sampled_from([None, "s", "t"])})),
        state=draw(st.sampled_from(DeviceState)),
        health=draw(st.sampled_from(Health)),
        health_reasons=draw(st.sampled_from([(), ("bus",), ("memory", "bus")])),
    )


@given(st.lists(drawn_view(), min_size=1, max_size=3))
def test_every_way_comes_to_the_same(parts: list[DeviceView]) -> None:
    sources = [[part] for part in parts]
    assert one_page(sources) == targets(sources) == streams(sources)
