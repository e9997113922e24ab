"""Two exporters on one node tell of the same device: joined by uuid or PCI id. Pure."""

from collections.abc import Sequence
from itertools import zip_longest

from accelwatch.fleet.state.readings import Held
from accelwatch.fleet.state.usage import UNUSED, Usage, joined
from accelwatch.schema.device import Device, normal_pci_bus_id
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading


def identity(device: Device) -> str:
    """What two descriptions of one device have in common within a node."""
    if device.uuid:
        bare = device.uuid.lower().removeprefix("gpu-").removeprefix("mig-")
        return f"{device.vendor}:{bare}"
    if device.pci_bus_id and device.parent_id is None:
        return f"{device.vendor}:{normal_pci_bus_id(device.pci_bus_id)}"
    return device.id


class Joined:
    """A device that several sources tell of: the first of them, its gaps filled by the others."""

    __slots__ = ("_parts", "_told", "_usage", "device")

    def __init__(self, parts: Sequence[Held]) -> None:
        self._parts = parts
        self._told: tuple[Usage, ...] = ()
        self._usage = UNUSED
        self.device = parts[0].device

    @property
    def usage(self) -> Usage:
        """Who uses it, by all sources."""
        told = tuple(part.usage for part in self._parts)
        if any(one is not before for one, before in zip_longest(told, self._told)):
            self._told, self._usage = told, joined(told)
        return self._usage

    @property
    def state(self) -> str:
        """A word of DeviceState, from the first source."""
        return self._parts[0].state

    @property
    def health(self) -> str:
        """A word of Health, from the first source."""
        return self._parts[0].health

    @property
    def state_since(self) -> float:
        """Unix seconds, from the first source."""
        return self._parts[0].state_since

    @property
    def sample_time(self) -> float | None:
        """Unix seconds, from the first source."""
        return self._parts[0].sample_time

    @property
    def first(self) -> Held:
        """What the first source tells."""
        return self._parts[0]

    def number(self, series: Series) -> Number | None:
        """The value of a series from the first source that has it."""
        for part in self._parts:
            value = part.number(series)
            if value is not None:
                return value
        return None

    def release(self) -> None:
        """Let go of what was kept to find numbers."""
        for part in self._parts:
            part.release()

    def numbers(self, wanted: Sequence[Series]) -> list[Number | None]:
        """The same of several."""
        found = self._parts[0].numbers(wanted)
        for part in self._parts[1:]:
            if None not in found:
                break
            others = part.numbers(wanted)
            found = [b if a is None else a for a, b in zip(found, others, strict=True)]
        return found

    def reading(self) -> Reading:
        """Every value; processes of the first source that tells any.

        Absences are those of the first source, for what no source has.
        """
        readings = [part.reading() for part in self._parts]
        values: dict[Series, Number] = {}
        for reading in reversed(readings):
            values.update(reading.values)
        keys = {series[0] for series in values}
        absent = {
            series: reason
            for series, reason in readings[0].absent.items()
            if series not in values and (len(series) > 1 or series[0] not in keys)
        }
        told = next((one for one in readings if one.processes is not None), readings[0])
        if told.processes is not None:
            absent.pop(("processes",), None)
        return Reading(
            device_id=self.device.id,
            values=values,
            absent=absent,
            processes=told.processes,
            notes=told.notes,
        )


def merged(sources: Sequence[dict[str, Held]]) -> dict[str, Held]:
    """Devices of several sources, best first, as one: by uuid, and by PCI id where one has no uuid."""
    groups: list[list[Held]] = []
    by_name: dict[str, list[Held]] = {}
    for devices in sources:
        found: dict[int, list[Held]] = {}
        for held in devices.values():
            names = _names(held.device)
            group = next((by_name[name] for name in names if name in by_name), None)
            if group is None or id(group) in found:  # one source never tells of a device twice
                group = []
                groups.append(group)
            group.append(held)
            found[id(group)] = group
            for name in names:
                by_name.setdefault(name, group)
    return {group[0].device.id: group[0] if len(group) == 1 else Joined(group) for group in groups}


def _names(device: Device) -> list[str]:
    names = [identity(device)]
    if device.pci_bus_id and device.parent_id is None:
        names.append(f"{device.vendor}:{normal_pci_bus_id(device.pci_bus_id)}")
    return names
