"""From a snapshot to samples: which there are, of whom, with which labels and numbers."""

import msgspec
import pytest

from accelwatch.base.errors import UsageError
from accelwatch.exposition import families
from accelwatch.exposition.families import Sample, device_samples, node_samples, owner_of
from accelwatch.exposition.selection import Selection, selected, selection
from accelwatch.exposition.text import LinePrefixes, header, histogram_lines
from accelwatch.schema.catalogue.lookup import by_key, catalogue, opt_in_groups
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Kind, Tier
from accelwatch.schema.reading import Link, Process, Reading, cut_note
from accelwatch.schema.snapshot import (
    BackendState,
    BackendStatus,
    DeviceView,
    EventCount,
    Owner,
)
from support.machines import composed as machines

HOUR = 3600.0


def samples(*views: DeviceView) -> list[Sample]:
    rows = device_samples(machines.snapshot(*views), lambda device: True)
    return [sample for row in rows for sample in row]


def of(key: str, view: DeviceView) -> list[tuple[tuple[str, ...], float]]:
    return [(series[1:], value) for _, series, value in samples(view) if series[0] == key]


def read(**more: object) -> DeviceView:
    plain = Reading(device_id=machines.device(0).id)
    return machines.view(0, reading=msgspec.structs.replace(plain, **more))


def process(pid: int, **more: object) -> Process:
    return msgspec.structs.replace(Process(device_id="x", pid=pid, type="compute"), **more)


def test_a_device_is_labelled_by_vendor_name_and_uuid() -> None:
    device = Device(id="i", vendor="v", backend="b", index=0, name='a"\\\n', uuid="U-1")
    assert owner_of(device) == 'vendor="v",device="a\\"\\\\\\n",uuid="U-1"'


def test_who_a_device_is() -> None:
    whole = machines.device(
        3, part_number="900", firmware_version="G5", parent_id=None, serial=None, vbios_version=None
    )
    view = machines.view(3, device=whole)
    assert of("device_info", view) == [
        (("gpu", "NVIDIA H100 80GB HBM3", "hopper", "0000:1b:00.0", "0", ""), 1)
    ]
    assert of("device_inventory_info", view) == [(("", "900", "G5", ""), 1)]
    bare = msgspec.structs.replace(whole, part_number=None, firmware_version=None, numa_node=None)
    assert of("device_inventory_info", machines.view(3, device=bare)) == []
    assert of("device_info", machines.view(3, device=bare))[0][0][4] == ""


@pytest.mark.parametrize(
    ("state", "up", "suspended"),
    [
        (DeviceState.OK, 1, []),
        (DeviceState.DEGRADED, 1, []),
        (DeviceState.LOST, 0, []),
        (DeviceState.UNRESPONSIVE, 0, []),
        (DeviceState.SUSPENDED, None, [((), 1)]),
    ],
)
def test_how_a_device_stands(
    state: DeviceState, up: int | None, suspended: list[tuple[tuple[str, ...], float]]
) -> None:
    view = machines.view(0, state=state, health=Health.DEGRADED)
    if up is not None:
        assert of("device_up", view) == [((), up)]
    assert of("device_suspended", view) == suspended
    assert of("device_last_read_timestamp_seconds", view) == [((), machines.NOW - 0.25)]
    assert dict(of("health", view)) == {
        (health.value,): int(health is Health.DEGRADED) for health in Health
    }
    unread = machines.view(0, sample_time=None)
    assert of("device_last_read_timestamp_seconds", unread) == []


def test_error_codes_beyond_the_cap_are_added_up_from_the_oldest() -> None:
    counts = tuple(
        EventCount(code=f"c{n}", category="bus", total=n + 1, last_time=float(n)) for n in range(34)
    )
    view = machines.view(0, event_counts=counts)
    totals = dict(of("error_events_total", view))
    assert len(totals) == families.MAX_CODES + 1 == 33
    assert totals["other", "other"] == 1 + 2
    assert totals["c33", "bus"] == 34
    times = dict(of("error_event_last_timestamp_seconds", view))
    assert (len(times), times["c33", "bus"]) == (32, 33.0)
    exactly = machines.view(0, event_counts=counts[:32])
    assert ("other", "other") not in dict(of("error_events_total", exactly))


def test_processes_are_counted_by_kind_and_listed_one_by_one() -> None:
    view = read(
        processes=(
            process(1, type="compute+graphics", gpu_memory_bytes=5, utilization_ratio=0.0),
            process(2, command="train", user="ann", utilization_ratio=0.5),
        )
    )
    assert dict(of("processes", view)) == {("compute",): 2, ("graphics",): 1}
    assert of("process_info", view) == [(("1", "", ""), 1), (("2", "train", "ann"), 1)]
    assert of("process_memory_used_bytes", view) == [(("1",), 5)]
    assert of("process_utilization_ratio", view) == [(("1",), 0.0), (("2",), 0.5)]


def test_a_kind_that_no_process_has_is_counted_as_none() -> None:
    assert dict(of("processes", read(processes=()))) == {("compute",): 0, ("graphics",): 0}
    view = read(processes=(process(1, type="media"),))
    assert dict(of("processes", view)) == {("compute",): 0, ("graphics",): 0, ("media",): 1}


def test_processes_that_are_not_known_are_not_counted_as_none() -> None:
    assert of("processes", read(processes=None)) == []


def test_processes_of_a_list_that_was_cut_are_listed_and_not_counted() -> None:
    view = read(processes=(process(1),), notes=(cut_note(1, 100),))
    assert of("processes", view) == []
    assert of("process_info", view) == [(("1", "", ""), 1)]


def test_the_twenty_processes_with_most_memory_are_listed() -> None:
    entries = tuple(process(n, gpu_memory_bytes=n) for n in range(1, 22))
    view = read(processes=(process(99), *entries))
    pids = [labels[0] for labels, _ in of("process_info", view)]
    assert pids == [str(n) for n in range(21, 1, -1)]


def test_links_with_a_known_end_are_listed() -> None:
    links = (
        Link(fabric="nvlink", link="0", remote="0000:2a:00.0"),
        Link(fabric="nvlink", link="1"),
    )
    assert of("link_info", read(links=links)) == [(("nvlink", "0", "0000:2a:00.0"), 1)]


JOB = Owner(kind="job", scheduler="slurm", job_id="7", user="ann", account="ml", queue="gpu")
POD = Owner(
    kind="kubernetes",
    namespace="ml",
    pod="p",
    container="c",
    pod_uid="u",
    resource="nvidia.com/gpu",
)


def test_owners_of_a_device_and_of_a_partition() -> None:
    whole = machines.view(0, owners=(JOB, POD))
    job, pod = ("slurm", "7", "ann", "ml", "gpu", ""), ("ml", "p", "c", "u", "nvidia.com/gpu")
    assert of("job_allocation_info", whole) == [(("", *job), 1)]
    assert of("kubernetes_allocation_info", whole) == [(("", *pod), 1)]
    part = msgspec.structs.replace(machines.mig_view(1, 0), owners=(JOB, POD))
    assert of("job_allocation_info", part) == [(("gi1/ci0", *job), 1)]
    assert of("kubernetes_allocation_info", part) == [(("gi1/ci0", *pod), 1)]


def test_a_partition_is_reported_under_its_device() -> None:
    part = machines.mig_view(1, 0)
    found = [
        (series, value)
        for owner, series, value in samples(machines.view(0), part)
        if owner == owner_of(machines.device(0)) and series[0].startswith("partition")
    ]
    assert found == [
        (("partition_info", "gi1/ci0", "MIG-1", "mig", "1g.10gb"), 1),
        (("partition_memory_size_bytes", "gi1/ci0"), 10 << 30),
        (("partition_memory_used_bytes", "gi1/ci0"), 3 << 30),
        (("partition_compute_active_ratio", "gi1/ci0"), 0.5),
    ]
    bare = msgspec.structs.replace(
        part.device, uuid=None, partition=None, partition_technology=None, partition_profile=None
    )
    alone = msgspec.structs.replace(part, device=bare)
    assert of("partition_info", alone) == [((bare.id, "", "", ""), 1)]
    assert {owner for owner, _, _ in samples(alone)} == {owner_of(bare)}


def test_only_kept_devices_have_a_row_each() -> None:
    shot = machines.snapshot(machines.view(0), machines.view(1), machines.mig_view(2, 1))
    rows = list(device_samples(shot, lambda device: device.index != 0))
    assert [row[0][1][0] for row in rows] == ["device_info", "partition_info"]


def node(**more: object) -> list[Sample]:
    return list(node_samples(msgspec.structs.replace(machines.snapshot(), **more)))


def test_devices_are_counted_by_vendor_and_state_without_their_partitions() -> None:
    views = (
        machines.view(0),
        machines.view(1),
        machines.lost_view(2),
        machines.mig_view(3, 0),
        machines.view(4, device=machines.device(4, vendor="a\nb")),
    )
    counts = {
        (owner, series[1]): value
        for owner, series, value in node_samples(machines.snapshot(*views))
        if series[0] == "devices"
    }
    assert len(counts) == 2 * len(DeviceState)
    assert {key: value for key, value in counts.items() if value} == {
        ('vendor="nvidia"', "ok"): 2,
        ('vendor="nvidia"', "lost"): 1,
        ('vendor="a\\nb"', "ok"): 1,
    }


def test_drivers_of_backends_with_devices_are_reported() -> None:
    def backend(name: str, devices: int) -> BackendStatus:
        return BackendStatus(
            name=name,
            vendor=name,
            state=BackendState.OK,
            versions={"driver": "1", "lib": "2"},
            devices=devices,
        )

    found = [
        sample
        for sample in node(backends=(backend("x", 1), backend("y", 0)))
        if sample[1][0] == "driver_info"
    ]
    assert found == [
        ('vendor="x"', ("driver_info", "driver", "1"), 1),
        ('vendor="x"', ("driver_info", "lib", "2"), 1),
    ]


def test_the_host_and_ourselves_have_no_device() -> None:
    host = machines.view(0, reading=Reading(device_id="h", values={("host_uptime_seconds",): HOUR}))
    own = {
        ("exporter_window_seconds",): 60,
        ("exporter_sample_interval_seconds", "nvidia"): 2.0,
    }
    found = node(node=host, own=own)
    assert ("", ("host_uptime_seconds",), HOUR) in found
    assert ("", ("exporter_window_seconds",), 60) in found
    assert ('vendor="nvidia"', ("exporter_sample_interval_seconds",), 2.0) in found
    assert not [one for one in node(node=None) if one[1][0].startswith("host")]


def test_a_selection_is_what_was_requested() -> None:
    assert selection() == Selection()
    plain = Selection()
    assert (plain.profile, plain.groups, plain.backends) == ("default", frozenset(), frozenset())
    assert (plain.openmetrics, plain.inventory) == (False, True)
    arguments = selection(
        profile="minimal", groups=["ecc"], backends=["amd"], openmetrics=True, inventory=False
    )
    assert arguments == Selection(
        profile="minimal",
        groups=frozenset({"ecc"}),
        backends=frozenset({"amd"}),
        openmetrics=True,
        inventory=False,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"profile": "maximal"}, "no profile 'maximal'; there are minimal, default"),
        ({"groups": ["eccc"]}, "no opt-in group 'eccc'; did you mean ecc?"),
        (
            {"groups": ["zzzzzzzz"]},
            f"no opt-in group 'zzzzzzzz'; there are {', '.join(opt_in_groups())}",
        ),
    ],
)
def test_what_there_is_instead_is_named(
    arguments: dict[str, str | list[str]], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        selection(**arguments)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_a_group_adds_its_rows_to_a_profile_in_the_catalogues_order() -> None:
    minimal = selected("minimal", frozenset())
    more = selected("minimal", frozenset({"ecc"}))
    added = [row for row in more if row not in minimal]
    assert {row.tier for row in minimal} == {Tier.MINIMAL, Tier.SELF}
    assert added == [row for row in catalogue() if row.group == "ecc" and row not in minimal]
    assert list(more) == [row for row in catalogue() if row in more]
    assert added


def test_a_line_starts_with_family_owner_and_labels() -> None:
    prefixes = LinePrefixes()
    row = by_key()["temperature_celsius"]
    made = prefixes.make(row, 'device="d"', ("temperature_celsius", 'a"b'))
    assert made == f'{row.family}{{device="d",{row.labels[0]}="a\\"b"}} '
    assert prefixes.make(row, "", ("temperature_celsius", "x")) == (
        f'{row.family}{{{row.labels[0]}="x"}} '
    )
    assert prefixes.make(row, "", ("temperature_celsius", "")) == f"{row.family} "
    assert prefixes.make(row, 'device="d"', ("temperature_celsius", "")) == (
        f'{row.family}{{device="d"}} '
    )
    assert prefixes.cached['device="d"', ("temperature_celsius", 'a"b')] == made


def test_beginnings_of_lines_are_forgotten_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("accelwatch.exposition.text._MAX_PREFIXES", 2)
    prefixes, row = LinePrefixes(), by_key()["power_watts"]
    sizes = []
    for owner in "abc":
        prefixes.make(row, owner, ("power_watts",))
        sizes.append(len(prefixes.cached))
    assert sizes == [1, 2, 1]


def test_headers_say_what_a_family_is() -> None:
    counter = next(row for row in catalogue() if row.kind is Kind.COUNTER)
    name = counter.family
    assert name.endswith("_total")
    assert header(counter, openmetrics=False).splitlines()[1] == f"# TYPE {name} counter"
    short = name.removesuffix("_total")
    lines = header(counter, openmetrics=True).splitlines()
    assert lines == [f"# HELP {short} {counter.help}", f"# TYPE {short} counter"]
    for kind, word in (
        (Kind.GAUGE, "gauge"),
        (Kind.INFO, "gauge"),
        (Kind.STATE, "gauge"),
        (Kind.HISTOGRAM, "histogram"),
    ):
        row = msgspec.structs.replace(counter, kind=kind)
        assert header(row, openmetrics=True).splitlines()[1] == f"# TYPE {row.family} {word}"


def test_help_is_one_line() -> None:
    row = msgspec.structs.replace(by_key()["power_watts"], help="a\\b\nc")
    assert header(row, openmetrics=False).splitlines()[0] == f"# HELP {row.family} a\\\\b\\nc"


def test_a_histogram_has_a_line_for_each_edge_the_sum_and_the_count() -> None:
    row = msgspec.structs.replace(
        next(row for row in catalogue() if row.kind is Kind.HISTOGRAM), key="h", buckets=(1, 2.5)
    )
    assert histogram_lines(row, 'd="x"', (1, 3, 4), 7.5) == [
        'accel_h_bucket{d="x",le="1.0"} 1\n',
        'accel_h_bucket{d="x",le="2.5"} 3\n',
        'accel_h_bucket{d="x",le="+Inf"} 4\n',
        'accel_h_sum{d="x"} 7.5\n',
        'accel_h_count{d="x"} 4\n',
    ]
    assert histogram_lines(row, "", (0, 0, 0), 0)[0] == 'accel_h_bucket{le="1.0"} 0\n'
    assert histogram_lines(row, "", (0, 0, 0), 0)[3:] == ["accel_h_sum 0\n", "accel_h_count 0\n"]
