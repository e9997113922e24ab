"""Observations of the use of a hub's devices.

Numbers of all devices of a layout are decoded in one pass. Processes are decoded where they say
more than the owners do: on devices that several share, or again when others hold one.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.devices import FleetDevice, StreamDevice
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.table.columns import Columns
from accelwatch.node.usage.observation import Observation, partitions_of
from accelwatch.node.usage.shares import Holder, Quantity, Share, shares_of
from accelwatch.schema.device import BROKEN, Device, is_self_identifying, same_address
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Process, Reading
from accelwatch.schema.snapshot import Owner
from accelwatch.schema.stream.compact import REASONS

_SERIES: tuple[Series, ...] = (
    ("utilization_ratio",),
    ("memory_used_bytes",),
    ("power_watts",),
    ("energy_joules_total", "hardware"),
    ("energy_joules_total", "integrated"),
    ("busy_seconds_total",),
)


class _Numbers(NamedTuple):
    """A device's numbers in the order of _SERIES."""

    load: Quantity
    memory_bytes: Quantity
    power_watts: Quantity
    energy_hardware: Quantity
    energy_integrated: Quantity
    busy_s: Quantity

    @property
    def energy_joules(self) -> float | None:
        """Of the counter that there is."""
        counters = (self.energy_hardware, self.energy_integrated)
        return next((counter for counter in counters if not isinstance(counter, Absence)), None)


class _Alone(NamedTuple):
    """Who was found to hold a device alone, and by what that stays so."""

    owners: tuple[Owner, ...]
    users: tuple[str, ...]
    processes_total: int
    is_reported: bool
    holder: Holder
    started_at: float | None


class NodeObservations:
    """Makes observations of nodes; remembers who holds devices alone."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        # By node, then device.
        self._alone: dict[str, dict[str, _Alone]] = {}

    def of(self, nodes: Sequence[Node]) -> list[Observation]:
        """Their devices; partitions instead of one that has some."""
        numbers = _decoded(nodes)
        observations: list[Observation] = []
        for node in nodes:
            observations += self._of_node(node, numbers)
        return observations

    def forget(self, names: Iterable[str]) -> None:
        """Remember nothing of nodes that are not among these."""
        kept = set(names)
        for name in self._alone.keys() - kept:
            del self._alone[name]

    def _of_node(self, node: Node, numbers: dict[int, _Numbers]) -> list[Observation]:
        speaks = self._fleet.state_of(node) in SPEAKING
        partitions = partitions_of(device.device for device in node.devices.values())
        alone = self._alone.setdefault(node.name, {})
        present = {id_: device for id_, device in node.devices.items() if id_ not in partitions}
        observations = [
            self._observation(node, device, partitions, numbers, alone, speaks=speaks)
            for device in present.values()
        ]
        expected_without_row = node.without_row()
        if not expected_without_row:
            return observations
        devices = [device.device for device in present.values()]
        return [
            _as_expected_device(node.name, observation, device, expected_without_row)
            for observation, device in zip(observations, devices, strict=True)
        ]

    def _observation(
        self,
        node: Node,
        device: FleetDevice,
        partitions: dict[str, int],
        numbers: dict[int, _Numbers],
        alone: dict[str, _Alone],
        *,
        speaks: bool,
    ) -> Observation:
        own = numbers[id(device)]
        owners, meter, count = device.usage.occupancy.owners, own, 1
        parent = node.devices.get(device.device.parent_id or "")
        if parent is not None:
            owners = owners or parent.usage.occupancy.owners
            if isinstance(own.power_watts, Absence):
                meter, count = numbers[id(parent)], partitions[parent.device.id]
        power, energy = meter.power_watts, meter.energy_joules
        return Observation(
            device=f"{node.name}/{device.device.id}",
            name=f"{node.name}/{device.device.name}",
            shares=_shares(device, owners, own, alone),
            load=own.load,
            memory_bytes=own.memory_bytes,
            power_watts=power if isinstance(power, Absence) else power / count,
            energy_joules=None if energy is None else energy / count,
            busy_s=None if isinstance(own.busy_s, Absence) else own.busy_s,
            sample_time=device.sample_time,
            observed=speaks and device.state not in BROKEN,
        )


def _as_expected_device(
    node: str,
    observation: Observation,
    device: Device,
    expected_without_row: Iterable[Device],
) -> Observation:
    """A device that does not say which one it is as the expected one of its address.

    A hub that was restarted while a GPU was lost has never read the uuid of that GPU.
    """
    if is_self_identifying(device) or device.parent_id is not None:
        return observation
    for candidate in expected_without_row:
        if candidate.parent_id is None and same_address(device, candidate):
            return msgspec.structs.replace(observation, device=f"{node}/{candidate.id}")
    return observation


def _shares(
    device: FleetDevice, owners: tuple[Owner, ...], own: _Numbers, alone: dict[str, _Alone]
) -> tuple[Share, ...]:
    id_, usage = device.device.id, device.usage
    is_reported = usage.rows is not None or not isinstance(device, StreamDevice)
    cache_key = (owners, usage.users, usage.processes_total, is_reported)
    before = alone.get(id_)
    if before is not None and before[: len(cache_key)] == cache_key:
        return (
            Share(
                holder=before.holder,
                load=own.load,
                memory_bytes=own.memory_bytes,
                energy=1.0,
                started_at=before.started_at,
            ),
        )
    processes = _processes(device)
    shares = shares_of(
        owners,
        processes,
        load=own.load,
        memory_bytes=own.memory_bytes,
        is_complete=processes is not None and len(processes) >= usage.processes_total,
    )
    if len(shares) == 1:
        alone[id_] = _Alone(*cache_key, shares[0].holder, shares[0].started_at)
    else:
        alone.pop(id_, None)
    return shares


def _processes(device: FleetDevice) -> tuple[Process, ...] | None:
    if isinstance(device, StreamDevice):
        return device.usage.reading(Reading(device_id=device.device.id)).processes
    return device.reading().processes


def _decoded(nodes: Iterable[Node]) -> dict[int, _Numbers]:
    """Numbers by the identity of the device object."""
    numbers: dict[int, _Numbers] = {}
    alike: dict[int, tuple[Columns, list[StreamDevice]]] = {}
    for node in nodes:
        for device in node.devices.values():
            if isinstance(device, StreamDevice) and device.tick is not None:
                alike.setdefault(id(device.columns), (device.columns, []))[1].append(device)
            else:
                raw = device.numbers(_SERIES)
                numbers[id(device)] = _Numbers(
                    *(Absence.UNSUPPORTED if number is None else float(number) for number in raw)
                )
    for columns, devices in alike.values():
        ticks = [device.tick.values for device in devices if device.tick is not None]
        block = columns.pick(_SERIES).block(ticks)
        lacking = [columns.absent.get(series, columns.absent.get(series[:1])) for series in _SERIES]
        values, tags = block.values.T.tolist(), block.tags.T.tolist()
        for device, line, letters in zip(devices, values, tags, strict=True):
            numbers[id(device)] = _Numbers(
                *(
                    (lack or REASONS.get(chr(tag), Absence.ERROR)) if math.isnan(value) else value
                    for value, tag, lack in zip(line, letters, lacking, strict=True)
                )
            )
    return numbers
