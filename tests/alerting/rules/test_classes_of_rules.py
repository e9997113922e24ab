"""What a vendor's machines report of heat, throttling, PCIe, links and memory rings when it is bad.

Four devices stand beside each other as the vendor's fixture machine or its exporter's page reports them,
and one of them gets a fault. NVIDIA, AMD and Intel have packs of their own with tests of their own.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import pytest

from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import Rule
from accelwatch.fleet.dialects import read_devices
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView, Snapshot
from backends.furiosa.machines import stage
from support.machines.fixture_machines import MACHINES
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage
from support.machines.staging import two_ticks
from support.rules.pack_worlds import played

EVERY_S = 30.0
TICKS = 44
# Packs that are about something else.
OTHERS = ("host", "jobs", "kernel", "service", "storage", "fabric", "nvidia", "amd", "intel")
VENDORS_WITH_A_PACK = ("nvidia", "amd", "intel")
PAGES = ("gaudi", "ascend", "rebellions", "furiosa", "all_smi_npus", "all_smi_places", "others")

Values = dict[Series, Number]
# Makes a series bad at a tick.
Damage = Callable[[Values, Series, int], None]


class Fault(NamedTuple):
    """A class of what may be wrong, by the series that shows it."""

    # An expression for the whole name.
    series: str
    rule: str
    damage: Damage


def above(limit: str, by: float) -> Damage:
    def damage(values: Values, series: Series, _: int) -> None:
        values[series] = values["temperature_limit_celsius", series[1], limit] + by

    return damage


def put(value: float) -> Damage:
    def damage(values: Values, series: Series, _: int) -> None:
        values[series] = value

    return damage


def growing(values: Values, series: Series, tick: int) -> None:
    values[series] = 1000 * tick


def appearing(values: Values, series: Series, tick: int) -> None:
    values[series] = int(tick > 22)


def half(values: Values, series: Series, _: int) -> None:
    values[series] = values[series] // 2


def less(values: Values, series: Series, _: int) -> None:
    values[series] -= 1


def unhealthy(values: Values, series: Series, _: int) -> None:
    del values[series]
    values["fabric_state_info", "unhealthy"] = 1


HEAT, THROTTLE, PCIE = "hardware.heat", "hardware.throttle", "hardware.pcie"
FAULTS = (
    Fault(r"temperature_celsius\.gpu", f"{HEAT}.gpu", above("slowdown", 1)),
    Fault(r"temperature_celsius\.gpu", f"{HEAT}.shutdown", above("shutdown", -1)),
    Fault(r"temperature_celsius\.memory", f"{HEAT}.memory", above("max_operating", 1)),
    Fault(r"throttle_active\.thermal_hardware", f"{THROTTLE}.heat", put(1)),
    Fault(r"throttle_active\.thermal_software", f"{THROTTLE}.driver_heat", put(1)),
    Fault(r"throttle_active\.power_brake", f"{THROTTLE}.power_brake", put(1)),
    Fault(r"pcie_link_width_lanes\.current", f"{PCIE}.width", half),
    Fault(r"pcie_link_generation\.current", f"{PCIE}.speed", less),
    Fault(r"pcie_errors_total\.replay", f"{PCIE}.replay", growing),
    Fault(r"interconnect_links\.hccs\.up", "hardware.links.hccs", less),
    Fault(r"interconnect_links\.ethernet\.up", "hardware.links.ethernet", less),
    Fault(r"interconnect_links\.icn\.up", "hardware.links.icn", less),
    Fault(r"link_up\.roce\.0", "hardware.links.roce", put(0)),
    Fault(r"fabric_state_info\.healthy", "hardware.links.unhealthy", unhealthy),
    Fault(r"ecc_errors_total\.uncorrected", "hardware.memory.uncorrected_before", put(1)),
    Fault(r"ecc_errors_total\.uncorrected", "hardware.memory.uncorrected", appearing),
    Fault(r"ecc_errors_total\.corrected", "hardware.memory.corrected", growing),
    Fault(r"memory_repair_pending", "hardware.memory.repair_pending", put(1)),
    Fault(r"memory_repair_failed", "hardware.memory.repair_failed", put(1)),
    Fault(r"reset_required", "hardware.reset_required", put(1)),
    Fault(r"reset_required", "npu.reset_required", put(1)),
)
# What must be known for a rule of heat.
LIMITS = {"heat.gpu": "slowdown", "heat.shutdown": "shutdown", "heat.memory": "max_operating"}
# Series of which each is in a rule, or in the next table.
CLASSES = (
    r"temperature_limit_celsius\..*|throttle_active\..*|pcie_(link_\w+|errors_total)\..*|"
    r"interconnect_links\..*|link_up\.\w+\.0|fabric_state_info\..*|ecc_errors_total\..*|memory_repair_\w+|"
    r"reset_required"
)
# Why a series has no rule of its own.
NOT_JUDGED = {
    r"temperature_limit_celsius\.gpu\.(slowdown|shutdown)": "held against the temperature",
    r"temperature_limit_celsius\.memory\.max_operating": "held against the temperature",
    r"temperature_limit_celsius\.gpu\.(max_operating|acoustic)": "below the slowdown limit",
    r"throttle_active\.(power|clock_setting|sync_boost)": "usual under load, or set by an administrator",
    r"throttle_active\.other": "the vendor does not say what it is",
    r"pcie_link_\w+\.max": "held against what is current",
    r"interconnect_links\.\w+\.down": "ports without a cable; those that fall are missing from `up`",
    r"link_up\.(hccs|ethernet|icn|roce)\.\d+": "counted in interconnect_links; a NIC's own has a rule",
}
# Classes that are not for a vendor.
QUIET = {
    ("apple", f"{THROTTLE}.driver_heat"): "moderate pressure is usual; apple.heat tells of more",
}
# Vendors whose devices report no load and keep PCIe's speed at idle. Of others without a load nobody
# knows whether PCIe is slow by rights.
KEEP_THEIR_SPEED = {"tenstorrent", "qualcomm"}


class Shown(NamedTuple):
    """A device as a machine or a page has it."""

    origin: str
    view: DeviceView


@contextlib.contextmanager
def furiosa_with_its_driver(folder: Path) -> Iterator[Stage]:
    """The RNGD cards with the folder that their driver shows."""
    with stage(folder, "rngd-x2") as staged:
        for number in (0, 1):
            path = folder / f"sys/class/rngd_mgmt/rngd!npu{number}mgmt"
            path.mkdir(parents=True)
            (path / "throttle_reason").write_text("0x00000001\n")
        yield staged


RNGD = FixtureMachine("furiosa-rngd-driver", "furiosa", True, furiosa_with_its_driver)


@cache
def shown() -> tuple[Shown, ...]:
    """The devices of each origin, without what is wrong with them."""
    found: list[Shown] = []
    for machine in (*MACHINES, RNGD):
        jetson = machine.name.startswith("jetson")
        if not machine.healthy or machine.vendor in ("host", "kernel", "replay"):
            continue
        if machine.vendor in VENDORS_WITH_A_PACK and not jetson:
            continue
        with TemporaryDirectory() as folder, machine.stage(Path(folder)) as staged:
            found += [Shown(machine.name, view) for view in two_ticks(staged).devices]
    for page in PAGES:
        text = (FIXTURES / f"fleet/dialects/{page}.prom").read_text(encoding="utf-8")
        views = read_devices(text, 1e9).devices
        found += [
            Shown(f"page-{page}", view)
            for view in views
            if view.device.vendor not in VENDORS_WITH_A_PACK
        ]
    return tuple(Shown(origin, _well(view)) for origin, view in found)


def _well(view: DeviceView) -> DeviceView:
    values = dict(view.reading.values)
    for series, value in view.reading.values.items():
        if re.fullmatch(
            r"throttle_active|ecc_errors_total|memory_repair_\w+|reset_required", series[0]
        ):
            values[series] = 0
        if series[0] == "temperature_celsius":
            values[series] = min(value, 60)
        if series[0] == "reported_health_info":
            del values[series]
    reading = msgspec.structs.replace(view.reading, values=values)
    return msgspec.structs.replace(
        view, reading=reading, state=DeviceState.OK, health=Health.OK, health_reasons=()
    )


@cache
def rules() -> dict[str, Rule]:
    return dict(load([pack_file(name) for name in pack_names() if name not in OTHERS]).rules)


def series_of(view: DeviceView) -> set[str]:
    return {".".join(series) for series in view.reading.values}


def applies(fault: Fault, view: DeviceView) -> Series | None:
    """The series that shows the fault on the device, where all that it takes is known."""
    values = view.reading.values
    for series in values:
        if not re.fullmatch(fault.series, ".".join(series)):
            continue
        limit = LIMITS.get(fault.rule.removeprefix("hardware."))
        if limit and ("temperature_limit_celsius", series[1], limit) not in values:
            continue
        if fault.damage in (less, half) and values[series] < 2:
            continue
        load_known = ("utilization_ratio",) in values or view.device.vendor in KEEP_THEIR_SPEED
        if fault.rule == f"{PCIE}.speed" and not load_known:
            continue
        npu = view.device.kind is DeviceKind.NPU
        if series == ("reset_required",) and fault.rule.startswith("npu.") != npu:
            continue
        if fault.rule == f"{PCIE}.replay" and ("pcie_link_generation", "current") not in values:
            continue
        return series
    return None


class Tried(NamedTuple):
    """A fault on a device of an origin."""

    origin: str
    vendor: str
    fault: Fault
    series: Series
    view: DeviceView


@cache
def tried() -> tuple[Tried, ...]:
    """Each fault once for each vendor and origin."""
    found: dict[tuple[str, str, str], Tried] = {}
    for origin, view in shown():
        for fault in FAULTS:
            series = applies(fault, view)
            if series is not None:
                key = origin, view.device.vendor, fault.rule
                found.setdefault(key, Tried(origin, view.device.vendor, fault, series, view))
    return tuple(found.values())


def _beside(view: DeviceView, model: str, values: list[Values]) -> tuple[DeviceView, ...]:
    """As many of the device as there are values, with one load, and a model of their own."""
    return tuple(
        msgspec.structs.replace(
            view,
            device=msgspec.structs.replace(view.device, name=f"d{at}", model=model),
            reading=msgspec.structs.replace(view.reading, values=some),
        )
        for at, some in enumerate(values)
    )


def _values(view: DeviceView) -> Values:
    values = dict(view.reading.values)
    if ("utilization_ratio",) in values:
        values["utilization_ratio",] = 0.9
    return values


@cache
def fired() -> dict[str, set[str]]:
    """The rules that fire on each node: a node for each that is tried, and one without a fault for each
    device that is shown."""
    shots = []
    for tick in range(TICKS):
        nodes = []
        for at, one in enumerate(tried()):
            values = [_values(one.view) for _ in range(4)]
            one.fault.damage(values[0], one.series, tick)
            nodes.append((f"n{at}", _beside(one.view, f"M{at}", values)))
        for at, (_, view) in enumerate(shown()):
            values = [_values(view) for _ in range(4)]
            nodes.append((f"w{at}", _beside(view, f"W{at}", values)))
        snapshots = [
            Snapshot(host=name, time=tick * EVERY_S, version="", devices=some)
            for name, some in nodes
        ]
        shots.append((tick * EVERY_S, snapshots))
    found: dict[str, set[str]] = {}
    for id_, entities in played(rules(), shots, EVERY_S).items():
        for entity in entities:
            found.setdefault(re.split(r"[ /]", entity)[0], set()).add(id_)
    return found


def test_each_fault_rings() -> None:
    silent = [
        (one.origin, one.vendor, one.fault.rule)
        for at, one in enumerate(tried())
        if (one.fault.rule in fired().get(f"n{at}", set()))
        == ((one.vendor, one.fault.rule) in QUIET)
    ]
    assert silent == []


def test_nothing_rings_on_a_device_that_is_well() -> None:
    loud = [
        (one.origin, one.view.device.name, id_)
        for at, one in enumerate(shown())
        for id_ in fired().get(f"w{at}", set())
        if rules()[id_].severity is not Severity.INFO
    ]
    assert loud == []


def test_whatever_is_reported_has_a_rule_or_a_reason() -> None:
    reported = {
        name for _, view in shown() for name in series_of(view) if re.fullmatch(CLASSES, name)
    }
    judged = {".".join(one.series) for one in tried()}
    left = {
        name
        for name in reported - judged
        if not any(re.fullmatch(reason, name) for reason in NOT_JUDGED)
    }
    assert left == set()


def test_each_reason_is_of_something_that_is_reported() -> None:
    reported = {name for _, view in shown() for name in series_of(view)}
    for reason in NOT_JUDGED:
        assert any(re.fullmatch(reason, name) for name in reported), reason


def test_each_class_is_tried() -> None:
    assert {one.fault.rule for one in tried()} == {fault.rule for fault in FAULTS}


@pytest.mark.parametrize(
    ("rule", "vendors"),
    [
        (f"{PCIE}.width", "ascend cambricon furiosa habana hygon iluvatar metax mthreads"),
        (f"{PCIE}.width", "qualcomm rebellions tenstorrent thead"),
        (f"{PCIE}.speed", "ascend cambricon furiosa habana hygon iluvatar metax mthreads"),
        (f"{PCIE}.speed", "qualcomm rebellions tenstorrent thead"),
        (f"{HEAT}.gpu", "habana iluvatar nvidia tenstorrent thead"),
        (f"{THROTTLE}.heat", "furiosa habana rebellions thead"),
        ("hardware.memory.uncorrected_before", "ascend habana iluvatar metax neuron thead"),
    ],
)
def test_a_vendor_has_a_machine_that_shows_the_class(rule: str, vendors: str) -> None:
    found = {one.vendor for one in tried() if one.fault.rule == rule}
    assert found >= set(vendors.split())
