"""Our own text read back: what is exposed is what the fleet sees."""

import re

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import ForeignReader, read_devices
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import Link, Reading, complete
from accelwatch.schema.snapshot import DeviceView, Owner, Snapshot
from accelwatch_prometheus import PrometheusExporter
from support.machines import composed as machines

NOW = machines.NOW
GROUPS = ["processes", "links", "pcie", "pools", "host", "histograms", "pipes"]


def text(snapshot: Snapshot, openmetrics: bool = False) -> str:
    options = {"groups": GROUPS, "openmetrics": openmetrics}
    return PrometheusExporter().render(snapshot, options).decode()


def back(*views: DeviceView) -> tuple[DeviceView, ...]:
    read = read_devices(text(machines.snapshot(*views)), NOW)
    assert read.dialects == ("accelwatch",)
    assert not read.rejected
    return read.devices


@pytest.mark.parametrize("openmetrics", [False, True])
def test_eight_devices_come_back_as_they_were(openmetrics: bool) -> None:
    snapshot = machines.snapshot()
    read = read_devices(text(snapshot, openmetrics), NOW)
    assert len(read.devices) == 8
    for was, now in zip(snapshot.devices, read.devices, strict=True):
        assert now.device == was.device
        assert now.reading.values == was.reading.values
        assert now.reading.absent == was.reading.absent
        assert (now.state, now.health) == (was.state, was.health)
        assert (now.sample_time, now.sample_age_s) == (was.sample_time, was.sample_age_s)


def test_processes_come_back() -> None:
    was = machines.view()
    (now,) = back(was)
    expected = [
        (one.pid, one.user, one.command, one.gpu_memory_bytes)
        for one in was.reading.processes or ()
    ]
    found = now.reading.processes or ()
    assert [(one.pid, one.user, one.command, one.gpu_memory_bytes) for one in found] == expected


@pytest.mark.parametrize(
    ("counts", "expected"), [((), None), ((0,), ()), ((0, 0), ()), ((0, 2), None), ((2,), None)]
)
def test_no_processes_are_none_only_where_they_are_counted(
    counts: tuple[int, ...], expected: tuple[()] | None
) -> None:
    device = 'vendor="nvidia",device="nvidia0",uuid="GPU-1"'
    page = f"accel_device_info{{{device}}} 1\naccel_power_watts{{{device}}} 5\n" + "".join(
        f'accel_processes{{{device},type="{kind}"}} {count}\n'
        for kind, count in zip(("compute", "graphics"), counts, strict=False)
    )
    (view,) = read_devices(page, NOW).devices
    assert view.reading.processes == expected


def test_a_lost_device_stays_lost_and_its_event_is_known() -> None:
    was = machines.lost_view(3)
    well, now = back(machines.view(), was)
    assert (well.state_since, now.state_since) == (NOW, NOW - 600)
    assert (now.state, now.health) == (DeviceState.LOST, Health.FAILED)
    assert now.reading.absent == {("*",): Absence.LOST}
    assert now.event_counts == was.event_counts
    assert now.sample_age_s == 600


@pytest.mark.parametrize(
    "state", [DeviceState.LOST, DeviceState.UNRESPONSIVE, DeviceState.SUSPENDED]
)
def test_the_count_of_states_shows_which_it_is(state: DeviceState) -> None:
    gone = msgspec.structs.replace(machines.lost_view(1), state=state)
    assert back(machines.view(), gone)[1].state is state


def test_each_of_several_devices_that_are_down_has_its_own_state() -> None:
    states = (DeviceState.LOST, DeviceState.UNRESPONSIVE, DeviceState.EXCLUDED)
    down = [
        msgspec.structs.replace(machines.lost_view(number), state=state)
        for number, state in enumerate(states)
    ]
    assert tuple(view.state for view in back(*down)) == states


def test_what_only_says_that_a_device_is_down_does_not_say_that_it_is_lost() -> None:
    page = text(machines.snapshot(machines.lost_view(1)))
    page = "\n".join(
        line
        for line in page.splitlines()
        if "unreadable_info" not in line and "accel_devices" not in line
    )
    (view,) = read_devices(page + "\n", NOW).devices
    assert view.state is DeviceState.DEGRADED
    assert view.reading.absent == {("*",): Absence.ERROR}


def test_a_partition_comes_back() -> None:
    parent, part = machines.view(0), machines.mig_view(9, parent=0)
    _, now = back(parent, part)
    assert now.device.parent_id == parent.device.id
    assert now.device.id == part.device.id
    assert now.device.partition == "gi1/ci0"
    assert (now.device.partition_technology, now.device.partition_profile) == ("mig", "1g.10gb")
    assert now.reading.values == part.reading.values


@pytest.mark.parametrize(
    ("text", "read_at"),
    [
        ("", NOW),
        ("device_up 1", NOW),
        ("device_up 0", None),
        (f"device_last_read_timestamp_seconds {NOW - 5}", NOW - 5),
        ("device_last_read_timestamp_seconds NaN", None),
    ],
)
def test_a_device_was_read_now_only_where_nothing_else_is_reported(
    text: str, read_at: float | None
) -> None:
    device = '{vendor="nvidia",device="nvidia0",uuid="GPU-1"}'
    page = f"accel_device_info{device} 1\naccel_power_watts{device} 5\n"
    family, _, value = text.partition(" ")
    page += f"accel_{family}{device} {value}\n" if text else ""
    (view,) = read_devices(page, NOW).devices
    assert view.sample_time == read_at
    assert view.sample_age_s == (None if read_at is None else NOW - read_at)


@pytest.mark.parametrize(
    ("pid", "known"),
    [("7", [7]), ("1234567890", [1234567890]), ("12345678901", []), ("-7", []), ("", [])],
)
def test_a_process_has_a_number_of_at_most_ten_digits(pid: str, known: list[int]) -> None:
    device = 'vendor="nvidia",device="nvidia0",uuid="GPU-1"'
    page = f'accel_device_info{{{device}}} 1\naccel_process_info{{{device},pid="{pid}"}} 1\n'
    (view,) = read_devices(page, NOW).devices
    assert [one.pid for one in view.reading.processes or ()] == known


@pytest.mark.parametrize(
    ("name", "index"), [("nvidia123456", 123456), ("nvidia1234567", 0), ("x", 0)]
)
def test_the_index_is_the_number_behind_the_name(name: str, index: int) -> None:
    page = f'accel_device_info{{vendor="nvidia",device="{name}",uuid="GPU-1"}} 1\n'
    (view,) = read_devices(page, NOW).devices
    assert view.device.index == index


def test_owners_links_and_histograms_come_back() -> None:
    owners = (
        Owner(kind="kubernetes", namespace="ml", pod="run-0", container="c", pod_uid="u"),
        Owner(kind="job", scheduler="slurm", job_id="4711", user="anna"),
    )
    histograms = {"sampled_utilization_ratio": ((1, 2, 3, 4, 5, 6, 7), 3.5)}
    base = machines.view()
    reading = msgspec.structs.replace(
        base.reading,
        values={**base.reading.values, ("link_up", "nvlink", "0"): 1},
        links=(Link(fabric="nvlink", link="0", remote="0000:05:00.0", up=True),),
    )
    was = machines.view(owners=owners, histograms=histograms, reading=reading)
    (now,) = back(was)
    assert now.owners == owners
    assert now.histograms == histograms
    assert now.reading.links == reading.links


@pytest.mark.parametrize("part", ["bucket", "sum", "nothing"])
def test_a_histogram_with_a_part_that_is_no_number_is_none(part: str) -> None:
    histograms = {"sampled_utilization_ratio": ((1, 2, 3, 4, 5, 6, 7), 3.5)}
    page = text(machines.snapshot(machines.view(histograms=histograms)))
    broken, changed = re.subn(rf"(?m)^(accel_\S*_{part}{{.*}}) \S+$", r"\1 NaN", page, count=1)
    assert changed == (part != "nothing")
    (view,) = read_devices(broken, NOW).devices
    assert view.histograms == ({} if changed else histograms)


def test_the_host_comes_back() -> None:
    host_reading = Reading(device_id="host", values={("host_load_average", "1"): 2.5}, processes=())
    node = machines.view(reading=complete(host_reading, frozenset()))
    read = read_devices(text(machines.snapshot(node=node)), NOW)
    assert read.node is not None
    assert read.node.reading.values == {("host_load_average", "1"): 2.5}
    assert read.node.reading.processes == ()


def test_a_follower_sees_each_change() -> None:
    reader = ForeignReader()
    for watts in (10.5, 20.5):
        reading = Reading(device_id="x", values={("power_watts",): watts}, processes=())
        (view,) = reader.read(text(machines.snapshot(machines.view(reading=reading))), NOW).devices
        assert view.reading.values == {("power_watts",): watts}
    assert reader.read("", NOW).devices == ()


def test_hostile_values_in_our_text() -> None:
    lines = "".join(
        f'accel_{name}{{vendor="nvidia",device="nvidia0",uuid="GPU-1"{labels}}} {value}\n'
        for name, labels, value in (
            ("device_info", ',kind="toaster",numa_node="many"', 1),
            ("power_watts", "", "NaN"),
            ("temperature_celsius", ',sensor="gpu"', "+Inf"),
            ("error_events_total", ',code="x",category="bus"', "NaN"),
            ("device_last_read_timestamp_seconds", "", "NaN"),
            ("process_info", ',pid="1"', 1),
            ("process_memory_used_bytes", ',pid="1"', "Inf"),
            ("process_utilization_ratio", ',pid="1"', "NaN"),
            ("health", ',state="ok"', 1),
            ("health", ',state="failed"', 1),
        )
    )
    read = read_devices(lines + "accel_power_watts 5\naccel_no_such_family 1\n", NOW)
    (view,) = read.devices
    assert view.reading.values == {}
    assert view.reading.absent[("power_watts",)] is Absence.ERROR
    (process,) = view.reading.processes or ()
    assert (process.gpu_memory_bytes, process.utilization_ratio) == (None, None)
    assert (view.health, view.event_counts) == (Health.UNKNOWN, ())
    assert dict(read.rejected) == {"no_device": 1, "unknown": 1, "not_finite": 2}
