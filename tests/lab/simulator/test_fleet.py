from collections.abc import Callable
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import UsageError
from accelwatch.cli.trial.sim import SimPlan, Vendor, build_fleet
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Kind
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.schema.stream.packed import unpack
from accelwatch_lab.scenario.faults import FaultKind
from accelwatch_lab.simulator.fleet import Fleet
from accelwatch_lab.simulator.models import MODELS
from accelwatch_lab.simulator.nodes import Dialect, FleetSize, build
from accelwatch_lab.simulator.serving.ticks import TickWriter

FleetOf = Callable[..., Fleet]
PAGE = Path(__file__).resolve().parents[3] / "docs/fleet/simulator.md"


def seen(fleet: Fleet, name: str, time_s: float) -> Snapshot:
    node = next(node for node in fleet.nodes if node.name == name)
    return fleet.snapshot(node, fleet.instant_at(time_s))


def device(fleet: Fleet, name: str, at: int, time_s: float) -> DeviceView:
    return seen(fleet, name, time_s).devices[at]


def test_the_same_seed_gives_the_same_fleet_at_every_time(fleet_of: FleetOf) -> None:
    one, two = fleet_of(seed=7), fleet_of(seed=7)
    for time_s in (0.0, 125.0, 333.3):
        assert seen(one, "n004", time_s) == seen(two, "n004", time_s)


def test_another_seed_gives_other_devices_and_values(fleet_of: FleetOf) -> None:
    one, two = (device(fleet_of(seed=seed), "n004", 0, 90.0) for seed in (1, 2))
    assert one.device.uuid != two.device.uuid
    assert one.reading.values["power_watts",] != two.reading.values["power_watts",]


def test_a_value_does_not_depend_on_what_was_read_before(fleet_of: FleetOf) -> None:
    fleet = fleet_of()
    late = device(fleet, "n003", 1, 200.0)
    device(fleet, "n003", 1, 10.0)
    assert device(fleet, "n003", 1, 200.0) == late


def test_devices_have_identities_of_their_own(fleet_of: FleetOf) -> None:
    nodes = fleet_of().nodes
    units = [unit.device for node in nodes for unit in node.units]
    assert len({one.id for one in units}) == len({one.serial for one in units}) == 16 * 8


@pytest.mark.parametrize("vendor", ["nvidia", "amd", "intel"])
def test_every_value_is_of_the_catalogue_and_possible(fleet_of: FleetOf, vendor: str) -> None:
    fleet = fleet_of(vendor=vendor)
    for time_s in (0.0, 90.0, 190.0, 250.0, 365.0):
        for series, value in device(fleet, "n001", 0, time_s).reading.values.items():
            row = by_key()[series[0]]
            assert len(series) == len(row.labels) + 1
            assert value >= 0
            if row.unit == "ratio":
                assert value <= 1


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 16), st.floats(0, 1500), st.floats(0, 100))
def test_counters_never_fall_whatever_faults_come_and_go(
    number: int, time_s: float, more_s: float
) -> None:
    fleet = BAD_DAY_FLEET[0]
    before = seen(fleet, f"n{number:03d}", time_s).devices
    after = seen(fleet, f"n{number:03d}", time_s + more_s).devices
    for one, two in zip(before, after, strict=True):
        for series, value in one.reading.values.items():
            if by_key()[series[0]].kind is Kind.COUNTER and series in two.reading.values:
                assert two.reading.values[series] >= value, series


BAD_DAY_FLEET: list[Fleet] = []


@pytest.fixture(autouse=True)
def _one_fleet(fleet_of: FleetOf) -> None:
    if not BAD_DAY_FLEET:
        BAD_DAY_FLEET.append(fleet_of())


def test_a_device_is_lost_at_its_time_and_comes_back(fleet_of: FleetOf) -> None:
    fleet = fleet_of()
    assert device(fleet, "n001", 3, 119.9).state is DeviceState.OK
    lost = device(fleet, "n001", 3, 130.0)
    assert lost.state is DeviceState.LOST
    assert lost.state_since == lost.sample_time == fleet.start + 120
    assert lost.sample_age_s == pytest.approx(10.0)
    assert lost.reading.absent == {("*",): Absence.LOST}
    assert lost.health is Health.FAILED
    assert [count.code for count in lost.event_counts] == ["xid_79"]
    back = device(fleet, "n001", 3, 600.0)
    assert back.state is DeviceState.OK
    assert back.health is Health.DEGRADED  # the XID is younger than ten minutes
    assert device(fleet, "n001", 2, 130.0).state is DeviceState.OK


def test_a_hung_device_times_out(fleet_of: FleetOf) -> None:
    hung = device(fleet_of(), "n002", 0, 150.0)
    assert hung.state is DeviceState.UNRESPONSIVE
    assert hung.reading.absent == {("*",): Absence.TIMEOUT}


@pytest.mark.parametrize(
    ("kind", "state", "reason"),
    [
        ("gone", DeviceState.LOST, Absence.LOST),
        ("permission", DeviceState.EXCLUDED, Absence.PERMISSION),
        ("suspended", DeviceState.SUSPENDED, Absence.SUSPENDED),
        ("error", DeviceState.DEGRADED, Absence.ERROR),
    ],
)
def test_a_device_that_cannot_be_read_says_why(
    fleet_of: FleetOf, tmp_path: Path, kind: str, state: DeviceState, reason: Absence
) -> None:
    file = tmp_path / "day.yaml"
    file.write_text(
        f"scenario: 1\nfaults: [{{kind: {kind}, nodes: n001, device: 1, at: 5, back: 9}}]"
    )
    fleet = fleet_of(scenario=file)
    suffering = device(fleet, "n001", 1, 6.0)
    assert (suffering.state, suffering.reading.absent) == (state, {("*",): reason})
    assert device(fleet, "n001", 1, 9.0).state is DeviceState.OK
    assert device(fleet, "n001", 0, 6.0).state is DeviceState.OK


def test_one_quantity_can_be_absent_for_a_while(fleet_of: FleetOf, tmp_path: Path) -> None:
    file = tmp_path / "day.yaml"
    fault = (
        "{kind: absent, nodes: n001, device: 1, quantity: clock_hertz, reason: timeout, back: 5}"
    )
    file.write_text(f"scenario: 1\nfaults: [{fault}]")
    fleet = fleet_of(scenario=file)
    reading = device(fleet, "n001", 1, 2.0).reading
    assert reading.absent["clock_hertz",] is Absence.TIMEOUT
    assert "clock_hertz" not in {series[0] for series in reading.values}
    later = device(fleet, "n001", 1, 5.0).reading
    assert "clock_hertz" in {series[0] for series in later.values}
    assert ("clock_hertz",) not in later.absent


@pytest.mark.parametrize("word", FaultKind)
def test_every_fault_is_on_the_page(word: str) -> None:
    assert f"`{word}`" in PAGE.read_text()


def test_a_hot_device_throttles_and_counts_the_seconds(fleet_of: FleetOf) -> None:
    fleet = fleet_of()
    hot, cool = (device(fleet, "n003", 1, second).reading.values for second in (170.0, 110.0))
    assert hot["throttle_active", "thermal_hardware"] == 1
    assert hot["throttle_seconds_total", "thermal_hardware"] == pytest.approx(50.0)
    assert hot["clock_hertz", "sm"] < 0.7 * cool["clock_hertz", "sm"]
    assert hot["temperature_celsius", "gpu"] > cool["temperature_celsius", "gpu"]
    after = device(fleet, "n003", 1, 300.0).reading.values
    assert after["throttle_active", "thermal_hardware"] == 0
    assert after["throttle_seconds_total", "thermal_hardware"] == pytest.approx(120.0)


def test_ecc_errors_grow_and_ask_for_a_reset(fleet_of: FleetOf) -> None:
    values = device(fleet_of(), "n004", 2, 150.0).reading.values
    assert values["ecc_errors_total", "uncorrected"] == 2 * 30 + 1
    assert values["reset_required",] == values["memory_repair_pending",] == 1


def test_links_go_down(fleet_of: FleetOf) -> None:
    values = device(fleet_of(), "n005", 5, 150.0).reading.values
    assert values["interconnect_links", "nvlink", "up"] == 15
    assert values["interconnect_links", "nvlink", "down"] == 3


MORE = """
scenario: 1
jobs:
  - {name: first, id: "1", nodes: n003, at: 0s, lasts: 2m, warm_up: 0}
  - {name: second, id: "2", nodes: n003, at: 3m, warm_up: 0}
faults:
  - {kind: link_errors, nodes: n001, device: 0, at: 1m, back: 2m, count: 50}
  - {kind: remap, nodes: n001, device: 1, at: 1m, back: 2m, severity: uncorrected, count: 2}
  - {kind: remap, nodes: n001, device: 2, at: 1m}
  - {kind: reboot, nodes: n003, at: 4m, back: 5m}
  - {kind: nfs_stall, nodes: n002, at: 1m, back: 2m}
"""


@pytest.fixture
def more(fleet_of: FleetOf, tmp_path: Path) -> Fleet:
    file = tmp_path / "more.yaml"
    file.write_text(MORE)
    return fleet_of(scenario=file)


def test_links_send_again(more: Fleet) -> None:
    crc = ("interconnect_errors_total", "nvlink", "crc")
    readings = [device(more, "n001", 0, second).reading.values[crc] for second in (59, 90, 200)]
    assert readings == [0, 1500, 3000]


def test_rows_are_remapped(more: Fleet) -> None:
    during, after = (device(more, "n001", 1, second).reading.values for second in (90, 130))
    assert during["memory_remapped_rows", "uncorrected"] == 2
    assert during["memory_repair_pending",] == 1
    assert after["memory_remapped_rows", "uncorrected"] == 2
    assert after["memory_repair_pending",] == 0
    worn = device(more, "n001", 2, 90).reading.values
    assert worn["memory_remapped_rows", "corrected"] == 1
    assert worn["memory_repair_pending",] == 0


def test_a_node_that_was_rebooted_counts_from_zero(more: Fleet) -> None:
    node = next(node for node in more.nodes if node.name == "n003")
    refused = more.condition(node, more.instant_at(250.0)).refusal
    assert refused is FaultKind.NODE_DOWN
    before, after = seen(more, "n003", 230.0), seen(more, "n003", 301.0)
    assert after.boot_id != before.boot_id
    assert after.node is not None
    assert after.node.device.boot_id == after.boot_id
    energy = ("energy_joules_total", "hardware")
    readings = [one.devices[0].reading.values[energy] for one in (before, after)]
    assert 0 < readings[1] < 1000 < readings[0]


def test_a_file_server_falls_silent_and_answers(more: Fleet) -> None:
    during, after = seen(more, "n002", 90.0), seen(more, "n002", 130.0)
    assert [event.code for event in during.events] == ["nfs_not_responding"]
    assert [event.code for event in after.events] == ["nfs_not_responding", "nfs_ok"]
    assert {event.device_id for event in after.events} == {""}
    hosts = [one.node for one in (during, after) if one.node is not None]
    assert [host.reading.values["host_blocked_processes",] for host in hosts] == [24, 0]


def test_a_node_has_jobs_in_turn(more: Fleet) -> None:
    owners = [device(more, "n003", 0, second).owners for second in (60, 150, 200)]
    assert [[owner.job_id for owner in one] for one in owners] == [["1"], [], ["2"]]


def test_a_straggler_is_slow_but_busy(fleet_of: FleetOf) -> None:
    node = seen(fleet_of(), "n006", 150.0)
    slow, peer = (node.devices[at].reading.values for at in (6, 5))
    assert slow["clock_hertz", "sm"] < 0.6 * peer["clock_hertz", "sm"]
    assert slow["power_watts",] < 0.6 * peer["power_watts",]
    assert slow["utilization_ratio",] > 0.5


def test_events_come_again(fleet_of: FleetOf) -> None:
    fleet = fleet_of()
    counts = [device(fleet, "n007", 7, second).event_counts for second in (59.0, 60.0, 185.0)]
    assert [[count.total for count in one] for one in counts] == [[], [1], [3]]
    events = seen(fleet, "n007", 185.0).events
    assert [event.time - fleet.start for event in events] == [60.0, 120.0, 180.0]


def test_a_clock_that_is_wrong_is_wrong_everywhere(fleet_of: FleetOf) -> None:
    fleet = fleet_of()
    node = seen(fleet, "n013", 130.0)
    assert node.time == fleet.start + 130 - 86400
    assert node.devices[0].sample_time == node.time


def test_only_nodes_with_a_job_work(fleet_of: FleetOf) -> None:
    fleet = fleet_of()
    idle, busy = (device(fleet, name, 0, 150.0) for name in ("n014", "n008"))
    assert idle.reading.values["utilization_ratio",] == 0
    assert idle.owners == () == idle.reading.processes
    assert busy.owners[0].job_id == "4711"
    assert busy.reading.values["utilization_ratio",] > 0.5


def test_shares_of_the_fleet_are_disjoint(
    fleet_of: FleetOf, tmp_path: "pytest.TempPathFactory"
) -> None:
    from pathlib import Path

    file = Path(str(tmp_path)) / "shares.yaml"
    kinds = ("node_down", "slow_loris", "garbage")
    lines = "".join(f"  - {{kind: {kind}, nodes: 10%}}\n" for kind in kinds)
    file.write_text(f"scenario: 1\nfaults:\n{lines}")
    faults = fleet_of(nodes=100, scenario=file).scenario.faults
    assert [len(fault.nodes) for fault in faults] == [10, 10, 10]
    assert len({name for fault in faults for name in fault.nodes}) == 30


def test_npus_are_among_the_nodes_of_the_demonstration() -> None:
    nodes = build(FleetSize(nodes=24, npus=True))
    assert [node.vendor for node in nodes[10:14]] == ["amd", "rebellions", "intel", "furiosa"]
    assert {unit.device.kind for unit in nodes[11].units} == {DeviceKind.NPU}
    assert nodes[11].units[0].device.name == "rbln0"
    plain = build(FleetSize(nodes=24, npus=True, vendor="amd"))
    assert {node.vendor for node in plain} == {"amd"}


def test_what_a_vendor_does_not_report_is_not_made_up(fleet_of: FleetOf) -> None:
    fleet = fleet_of(vendor="tenstorrent", dialect="own")
    views = [device(fleet, node.name, 0, 300.0) for node in fleet.nodes]
    for view in views:
        assert view.reading.absent["utilization_ratio",] is Absence.UNSUPPORTED
        assert view.reading.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    processes = [one for view in views for one in view.reading.processes or ()]
    assert {one.gpu_memory_bytes for one in processes} == {None}
    assert {one.absent["gpu_memory_bytes"] for one in processes} == {Absence.UNSUPPORTED}


def test_a_mixed_fleet_has_every_vendor_and_dialect(fleet_of: FleetOf) -> None:
    nodes = fleet_of(nodes=64, vendor="mixed", dialect="mixed").nodes
    assert {node.vendor for node in nodes} == {"nvidia", "amd", "intel"}
    assert {node.dialect for node in nodes} == set(Dialect)
    assert all(
        node.vendor == "nvidia" or node.dialect in (Dialect.OWN, Dialect.ALL_SMI) for node in nodes
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 0}, "--nodes must be between"),
        ({"devices": 65}, "--devices must be between"),
        ({"vendor": "acme"}, "no vendor 'acme'"),
        ({"dialect": "klingon"}, "no dialect 'klingon'"),
        ({"dialect": "dcgm", "vendor": "mixed"}, "add --vendor nvidia"),
        ({"interval": "1ms"}, "at least 50ms"),
        ({"ports": "few"}, "there are many, one"),
    ],
)
def test_a_fleet_that_cannot_be_is_refused(changes: dict[str, object], message: str) -> None:
    plan = SimPlan(**changes)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=message):
        build_fleet(plan, ManualClock())


def test_a_quantity_that_is_absent_has_its_letter_in_packed_ticks(
    tmp_path: Path, fleet_of: FleetOf
) -> None:
    file = tmp_path / "scenario.yaml"
    faults = (
        "{kind: absent, nodes: n001, device: 0, at: 0s, quantity: power_watts, reason: permission}"
    )
    file.write_text(f"scenario: 1\nfaults: [{faults}]\n", encoding="utf-8")
    fleet = fleet_of(scenario=file, nodes=1, devices=2)
    node, now = fleet.nodes[0], fleet.instant_at(10.0)
    condition = fleet.condition(node, now)
    _, readings = TickWriter(fleet).devices(node, now, condition, as_bytes=True)
    series = node.units[0].plan.series
    values = unpack(msgspec.msgpack.decode(readings)[0][5])
    assert len(values) == len(series)
    letters = {one: value for one, value in zip(series, values, strict=True) if value in ("p", "")}
    assert letters == {("power_watts",): "p"}


def test_the_help_names_every_vendor_that_can_be_played() -> None:
    (option,) = (part for part in get_args(Vendor)[1:] if hasattr(part, "help"))
    assert option.help == f"{', '.join(MODELS)} or mixed."
