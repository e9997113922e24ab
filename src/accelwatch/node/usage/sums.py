"""Integrals over a time: seconds held, load, memory, energy, idle, and seconds without data."""

from array import array
from collections.abc import Sequence

from accelwatch.base.absence import Absence
from accelwatch.node.usage.shares import IDLE_RATIO, Quantity

_FIELDS = (
    "held_s",
    "unseen_s",
    "shared_s",
    "load_s",
    "load_known_s",
    "idle_s",
    "memory_byte_s",
    "memory_known_s",
    "energy_joules",
    "energy_known_s",
    "divided_s",
)
_PLACE = {name: place for place, name in enumerate(_FIELDS)}
_HELD, _UNSEEN, _SHARED, _LOAD, _LOAD_KNOWN, _IDLE, _MEMORY, _MEMORY_KNOWN = range(8)
_ENERGY, _ENERGY_KNOWN, _DIVIDED, _PEAK = range(8, 12)


class Sums:
    """Integrals in device-seconds and base units; each quantity has the seconds it is known for."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[float] | None = None) -> None:
        """`values` are those of another. Raises ValueError when they are not as many."""
        self._values = array("d", bytes(8 * (_PEAK + 1)) if values is None else values)
        if len(self._values) != _PEAK + 1:
            raise ValueError(f"{len(self._values)} sums instead of {_PEAK + 1}")

    def values(self) -> list[float]:
        """All of them, for another that goes on with them."""
        return self._values.tolist()

    def hold(
        self,
        seconds: float,
        *,
        load: Quantity,
        memory_bytes: Quantity,
        energy_joules: Quantity,
        shared: bool,
        divided: bool,
    ) -> None:
        """A device was held for some seconds with these numbers; the energy is of all of them."""
        values = self._values
        values[_HELD] += seconds
        if shared:
            values[_SHARED] += seconds
        if not isinstance(load, Absence):
            values[_LOAD] += load * seconds
            values[_LOAD_KNOWN] += seconds
            if load < IDLE_RATIO:
                values[_IDLE] += seconds
        if not isinstance(memory_bytes, Absence):
            values[_MEMORY] += memory_bytes * seconds
            values[_MEMORY_KNOWN] += seconds
            values[_PEAK] = max(values[_PEAK], memory_bytes)
        if not isinstance(energy_joules, Absence):
            values[_ENERGY] += energy_joules
            values[_ENERGY_KNOWN] += seconds
            if divided:
                values[_DIVIDED] += seconds

    def miss(self, seconds: float) -> None:
        """A device was held for some seconds that nobody saw: neither busy nor idle."""
        self._values[_UNSEEN] += seconds

    def add(self, other: "Sums") -> None:
        """What another has as well."""
        own = self._values
        for place, value in enumerate(other._values[:_PEAK]):
            own[place] += value
        own[_PEAK] = max(own[_PEAK], other._values[_PEAK])

    def __getattr__(self, name: str) -> float:
        place = _PLACE.get(name)
        if place is None:
            raise AttributeError(name)
        return self._values[place]

    @property
    def load_ratio(self) -> float | None:
        """Mean load of the seconds it is known for; None without any."""
        known = self._values[_LOAD_KNOWN]
        return self._values[_LOAD] / known if known > 0 else None

    @property
    def memory_bytes(self) -> float | None:
        """Mean memory on one device; None where never known."""
        known = self._values[_MEMORY_KNOWN]
        return self._values[_MEMORY] / known if known > 0 else None

    @property
    def memory_peak_bytes(self) -> float | None:
        """The most memory on one device; None where never known."""
        return self._values[_PEAK] if self._values[_MEMORY_KNOWN] > 0 else None
