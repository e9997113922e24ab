"""What a scenario file may say, and its loader: devices, values over time, faults over time."""

from pathlib import Path
from typing import Any

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import reading_metrics
from accelwatch.schema.device import DeviceKind, MemoryKind, normal_pci_bus_id
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import flatten
from accelwatch.system.located_yaml.document import LocatedDocument, read
from accelwatch.system.located_yaml.nodes import Location
from accelwatch_lab.replay.signals import RawNumber, Terms, fault_of, number
from accelwatch_lab.scenario.faults import (
    NODE_KINDS,
    Fault,
    FaultSpec,
    read_fault,
    read_seconds,
    read_series,
    with_current_names,
)

FORMAT = 1


class ProcessSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A process on every device of a group; `pid` is that of the first device, others count up."""

    pid: int
    command: str | None = None
    user: str | None = None
    type: str = "compute"
    # How long it has been running at the beginning.
    age: float | str = 3600.0
    gpu_memory_bytes: RawNumber | None = None
    utilization_ratio: float | None = None


class PartitionSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A partition of every device of a group."""

    name: str
    technology: str
    profile: str | None = None
    values: dict[str, Any] = {}


class GroupSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Devices of one kind."""

    vendor: str
    model: str
    count: int = 1
    kind: DeviceKind = DeviceKind.GPU
    # Beginning of the host-local names; the vendor's when left out.
    name: str = ""
    architecture: str | None = None
    driver_version: str | None = None
    memory_kind: MemoryKind = MemoryKind.DEDICATED
    # Of the first device; the others follow on the next buses.
    pci_bus_id: str | None = None
    partition_mode: str | None = None
    # By catalogue key; below it one level for each label.
    values: dict[str, Any] = {}
    # By dotted path.
    absent: dict[str, Absence] = {}
    processes: tuple[ProcessSpec, ...] = ()
    partitions: tuple[PartitionSpec, ...] = ()


class ScenarioSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    # Version of this format.
    scenario: int
    # After this it begins again; without it time just goes on.
    length: float | str | None = None
    # Of GroupSpec.
    devices: list[object]
    # Of FaultSpec.
    faults: list[object] = []


class Group(msgspec.Struct, frozen=True):
    """Devices of one kind with their compiled signals."""

    spec: GroupSpec
    signals: dict[Series, Terms]
    partitions: tuple[tuple[PartitionSpec, dict[Series, Terms]], ...]


class Scenario(msgspec.Struct, frozen=True):
    """A checked scenario."""

    groups: tuple[Group, ...]
    faults: tuple[Fault, ...]
    length_s: float


def device_names(groups: tuple[GroupSpec, ...]) -> list[list[str]]:
    """Host-local names by group; groups of one name count on."""
    counts: dict[str, int] = {}
    names = []
    for group in groups:
        stem = group.name or group.vendor
        first = counts.get(stem, 0)
        counts[stem] = first + group.count
        names.append([f"{stem}{first + at}" for at in range(group.count)])
    return names


def read_scenario(path: Path) -> Scenario:
    """Load and check a scenario file. Raises ConfigError with file, line and key of every mistake."""
    return check(read(path))


def check(document: LocatedDocument) -> Scenario:
    """A document as a scenario. Raises ConfigError with file, line and key of every mistake."""
    if not isinstance(document.data, dict):
        raise document.error((), "no scenario: a mapping with scenario and devices was expected")
    version = document.data.get("scenario")
    if isinstance(version, int) and version > FORMAT:
        raise document.error(("scenario",), f"format {version} is newer than {FORMAT}")
    spec = document.struct(document.data, ScenarioSpec, ())
    if spec is None:
        document.refuse()
        raise document.error((), "no scenario")
    located = list(document.structs(spec.devices, GroupSpec, ("devices",)))
    groups = tuple(_group(document, group, location) for location, group in located)
    named = device_names(tuple(group for _, group in located))
    names = [name for row in named for name in row]
    faults = tuple(
        _fault(document, fault, location, names)
        for location, fault in document.structs(
            [with_current_names(fault) for fault in spec.faults], FaultSpec, ("faults",)
        )
    )
    length = 0.0 if spec.length is None else read_seconds(document, spec.length, ("length",))
    document.refuse()
    return Scenario(groups, faults, length)


def _group(document: LocatedDocument, spec: GroupSpec, location: Location) -> Group:
    if not 1 <= spec.count <= 1024:
        document.complain((*location, "count"), "count must be between 1 and 1024")
    if spec.pci_bus_id is not None and len(normal_pci_bus_id(spec.pci_bus_id)) != 12:
        document.complain((*location, "pci_bus_id"), "write it as 0000:18:00.0")
    for path in spec.absent:
        read_series(document, path, (*location, "absent", path))
    for at, process in enumerate(spec.processes):
        read_seconds(document, process.age, (*location, "processes", at, "age"))
        _number(
            document, process.gpu_memory_bytes, (*location, "processes", at, "gpu_memory_bytes")
        )
    partitions = tuple(
        (partition, _signals(document, partition.values, (*location, "partitions", at, "values")))
        for at, partition in enumerate(spec.partitions)
    )
    return Group(spec, _signals(document, spec.values, (*location, "values")), partitions)


def _number(document: LocatedDocument, raw: RawNumber | None, location: Location) -> None:
    try:
        number(raw or 0)
    except ValueError as error:
        document.complain(location, str(error))


def _signals(
    document: LocatedDocument, values: dict[str, Any], location: Location
) -> dict[Series, Terms]:
    signals: dict[Series, Terms] = {}
    rows = {row.key: row for row in reading_metrics()}
    for key, tree in values.items():
        if read_series(document, key, (*location, key)) is None:
            continue
        if "." in key:
            document.complain((*location, key), "labels are written one level down")
            continue
        leaves = dict(flatten(key, tree, len(rows[key].labels)))
        if not leaves:
            labels = ", ".join(rows[key].labels)
            text = f"{key} needs one level for each label: {labels}"
            document.complain((*location, key), text)
        for series, leaf in leaves.items():
            if terms := _terms(document, leaf, (*location, *series)):
                signals[series] = terms
    return signals


def _terms(document: LocatedDocument, leaf: object, location: Location) -> Terms | None:
    if isinstance(leaf, bool) or not isinstance(leaf, int | float | str | dict):
        document.complain(location, f"{leaf!r} is neither a number nor a signal")
        return None
    terms = document.struct(leaf if isinstance(leaf, dict) else {"constant": leaf}, Terms, location)
    if terms is not None and not document.is_wrong(location) and (wrong := fault_of(terms)):
        document.complain(location, wrong)
    return terms


def _fault(
    document: LocatedDocument, spec: FaultSpec, location: Location, names: list[str]
) -> Fault:
    if spec.kind in NODE_KINDS:
        text = f"{spec.kind.value} happens to a polled node; accelwatch sim plays it"
        document.complain((*location, "kind"), text)
    # With a mistake in the devices their names are not known: one mistake is reported once.
    if spec.device not in ("*", *names) and not document.is_wrong(("devices",)):
        existing = ", ".join(sorted(names)[:8])
        document.complain((*location, "device"), f"no device {spec.device!r}; there are {existing}")
    return read_fault(document, spec, location)
