"""One device as Sysman shows it: its parts, found once, and where their values go."""

from collections.abc import Callable, Iterable
from ctypes import Structure, c_void_p
from typing import Any

import msgspec

from accelwatch.base.errors import ReadError
from accelwatch.schema.reading import Collected, Number
from accelwatch_intel.rates import Rates
from accelwatch_intel.sysman import structures
from accelwatch_intel.sysman.calls import Sysman

# Kind of part to the call that finds its handles, the call that describes one, and the structure.
_KINDS: dict[str, tuple[str, str, type[Structure]]] = {
    "memory": ("zesDeviceEnumMemoryModules", "zesMemoryGetProperties", structures.MemoryProperties),
    "power": ("zesDeviceEnumPowerDomains", "zesPowerGetProperties", structures.PowerProperties),
    "frequency": (
        "zesDeviceEnumFrequencyDomains",
        "zesFrequencyGetProperties",
        structures.FrequencyProperties,
    ),
    "temperature": (
        "zesDeviceEnumTemperatureSensors",
        "zesTemperatureGetProperties",
        structures.TemperatureProperties,
    ),
    "engine": ("zesDeviceEnumEngineGroups", "zesEngineGetProperties", structures.EngineProperties),
    "ras": ("zesDeviceEnumRasErrorSets", "zesRasGetProperties", structures.RasProperties),
    "fabric": (
        "zesDeviceEnumFabricPorts",
        "zesFabricPortGetProperties",
        structures.FabricPortProperties,
    ),
}


class Component(msgspec.Struct, frozen=True):
    """A component of a device. `tile` is None when it belongs to the whole device."""

    handle: c_void_p
    tile: int | None
    properties: Any


class Sink:
    """Where values go: the whole device and its tiles. A value already read elsewhere stays."""

    def __init__(self, card_values: Collected, tiles: dict[int, Collected]) -> None:
        self.card_values = card_values
        self.tiles = tiles
        # Keys of which the whole device got a value here.
        self.sources: set[str] = set()

    def fill(self, tile: int | None, value: Number, key: str, *labels: str) -> None:
        """Put a value where none is yet; values of tiles that are not shown are dropped."""
        out = self.card_values if tile is None else self.tiles.get(tile)
        if out is None or (key, *labels) in out.values:
            return
        out.put(key, value, *labels)
        if tile is None:
            self.sources.add(key)

    def spread(
        self,
        values: dict[int | None, Number],
        combine: Callable[[Iterable[Number]], Number],
        key: str,
        *labels: str,
    ) -> None:
        """Put values by tile; the device's own is combined from them where it has none."""
        for tile, value in values.items():
            self.fill(tile, value, key, *labels)
        if values and None not in values:
            self.fill(None, combine(values.values()), key, *labels)


class SysmanCard:
    """A device's handle, its parts and the memory of its counters."""

    def __init__(self, sysman: Sysman, handle: c_void_p) -> None:
        self.sysman = sysman
        self.handle = handle
        self.rates = Rates()
        self._components: dict[str, tuple[Component, ...]] = {}

    def components(self, kind: str) -> tuple[Component, ...]:
        """Parts of a kind, found once. Raises the ReadError of the call that finds them."""
        if kind not in self._components:
            self._components[kind] = tuple(self._find(kind))
        return self._components[kind]

    def _find(self, kind: str) -> Iterable[Component]:
        find, describe, structure = _KINDS[kind]
        for handle in self.sysman.handles(find, self.handle):
            properties: Any = self.sysman.get(describe, handle, structure)
            tile = properties.subdeviceId if properties.onSubdevice else None
            yield Component(handle, tile, properties)

    def get_each(
        self, kind: str, call: str, structure: type[Structure]
    ) -> list[tuple[Component, Any]]:
        """A structure of each part of a kind; parts that cannot be read are left out.

        Raises the first error when no part could be read.
        """
        answers: list[tuple[Component, Any]] = []
        failure: ReadError | None = None
        for component in self.components(kind):
            try:
                answers.append((component, self.sysman.get(call, component.handle, structure)))
            except ReadError as error:
                failure = failure or error
        if failure is not None and not answers:
            raise failure
        return answers
