"""Compares what nodes of one kind run, and says who differs from the many."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from accelwatch.fleet.odd.documents import Difference, OddValue
from accelwatch.fleet.state.nodes.devices import FleetDevice
from accelwatch.fleet.state.nodes.node import Node

# Quantities of the host whose first label is the field of a difference, and the second its value.
OF_HOST = frozenset({"host_setting_info", "host_library_info"})
# Of a value of these.
MOST_CHARACTERS = 120
# In a group of two nobody is the odd one out.
LEAST_NODES = 3
# Fields of a difference, and the device's own.
OF_DEVICES: Mapping[str, str] = MappingProxyType(
    {
        "driver": "driver_version",
        "firmware": "firmware_version",
        "vbios": "vbios_version",
        "partition_mode": "partition_mode",
    }
)


# Nodes with different values of this label are not compared, unless another label is requested.
USUAL_LABEL = "cluster"


class Kind(NamedTuple):
    """What is compared with each other."""

    group: str
    label: str
    field: str


class Observation(NamedTuple):
    """A value, the node that has it, and the names of the devices of it that do."""

    kind: Kind
    value: str
    node: str
    # Empty for what a node has once.
    devices: tuple[str, ...] = ()


def observations_of(node: Node, label: str) -> list[Observation]:
    """Everything of a node that is compared; a value that is not known is left out."""
    group_label = node.labels.get(label, "") if label else ""
    devices: dict[tuple[Kind, str], list[str]] = defaultdict(list)
    for kind, value, name in _of_devices(node, group_label):
        devices[kind, value].append(name)
    observations = [
        Observation(kind, value, node.name, tuple(names))
        for (kind, value), names in devices.items()
    ]
    for source in node.sources.values():
        if source.host is not None:
            observations += _of_host(source.host, group_label, node.name)
        if source.host_name and source.version:
            observations.append(Observation(Kind("agents", "", "agent"), source.version, node.name))
    return list(dict.fromkeys(observations))


def _of_host(host: FleetDevice, label: str, node: str) -> Iterator[Observation]:
    group = host.device.model or "unknown machine"
    if host.device.driver_version:
        yield Observation(Kind(group, label, "kernel"), host.device.driver_version, node)
    for series, value in host.reading().values.items():
        if series[0] in OF_HOST and len(series) == 3 and value:
            _, field, text = series
            yield Observation(Kind(group, label, field), text[:MOST_CHARACTERS], node)


def _of_devices(node: Node, label: str) -> Iterator[tuple[Kind, str, str]]:
    for present in node.devices.values():
        device = present.device
        if device.parent_id is not None:
            continue
        group = f"{device.vendor} {device.model or 'unknown model'}"
        for field, name in OF_DEVICES.items():
            value: str | None = getattr(device, name)
            if value:
                yield Kind(group, label, field), value, device.name


def differences(observations: Iterable[Observation]) -> list[Difference]:
    """What differs, by group and field; the usual value is that of more than half of the nodes."""
    by_kind: dict[Kind, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for kind, value, node, devices in observations:
        by_kind[kind][value][node] = len(devices)
    results = (_difference(kind, values) for kind, values in sorted(by_kind.items()))
    return [difference for difference in results if difference is not None]


def _difference(kind: Kind, values: Mapping[str, Mapping[str, int]]) -> Difference | None:
    nodes = {node for at in values.values() for node in at}
    if len(values) < 2 or len(nodes) < LEAST_NODES:
        return None
    most = max(values, key=lambda value: len(values[value]))
    usual = most if 2 * len(values[most]) > len(nodes) else None
    odd = [
        OddValue(value=value, nodes=tuple(sorted(at)), devices=sum(at.values()))
        for value, at in values.items()
        if value != usual
    ]
    return Difference(
        group=kind.group,
        label=kind.label,
        field=kind.field,
        usual=usual,
        usual_nodes=0 if usual is None else len(values[usual]),
        nodes=len(nodes),
        odd=tuple(sorted(odd, key=lambda value: (len(value.nodes), value.value))),
    )
