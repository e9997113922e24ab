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
_INDEX = {name: index for index, name in enumerate(_FIELDS)}
_ALLOCATED, _UNSEEN, _SHARED, _LOAD, _LOAD_OBSERVED, _IDLE, _MEMORY, _MEMORY_OBSERVED = range(8)
_ENERGY, _ENERGY_OBSERVED, _DIVIDED, _PEAK = range(8, 12)


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

    def add_usage(
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
        values[_ALLOCATED] += seconds
        if shared:
            values[_SHARED] += seconds
        if not isinstance(load, Absence):
            values[_LOAD] += load * seconds
            values[_LOAD_OBSERVED] += seconds
            if load < IDLE_RATIO:
                values[_IDLE] += seconds
        if not isinstance(memory_bytes, Absence):
            values[_MEMORY] += memory_bytes * seconds
            values[_MEMORY_OBSERVED] += seconds
            values[_PEAK] = max(values[_PEAK], memory_bytes)
        if not isinstance(energy_joules, Absence):
            values[_ENERGY] += energy_joules
            values[_ENERGY_OBSERVED] += seconds
            if divided:
                values[_DIVIDED] += seconds

    def miss(self, seconds: float) -> None:
        """A device was held for some seconds that nobody saw: neither busy nor idle."""
        self._values[_UNSEEN] += seconds

    def add(self, other: "Sums") -> None:
        """What another has as well."""
        own = self._values
        for index, value in enumerate(other._values[:_PEAK]):
            own[index] += value
        own[_PEAK] = max(own[_PEAK], other._values[_PEAK])

    def __getattr__(self, name: str) -> float:
        index = _INDEX.get(name)
        if index is None:
            raise AttributeError(name)
        return self._values[index]

    @property
    def load_ratio(self) -> float | None:
        """Mean load of the seconds it is known for; None without any."""
        seconds = self._values[_LOAD_OBSERVED]
        return self._values[_LOAD] / seconds if seconds > 0 else None

    @property
    def memory_bytes(self) -> float | None:
        """Mean memory on one device; None where never known."""
        seconds = self._values[_MEMORY_OBSERVED]
        return self._values[_MEMORY] / seconds if seconds > 0 else None

    @property
    def memory_peak_bytes(self) -> float | None:
        """The most memory on one device; None where never known."""
        return self._values[_PEAK] if self._values[_MEMORY_OBSERVED] > 0 else None
