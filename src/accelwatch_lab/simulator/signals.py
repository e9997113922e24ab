"""The waveforms behind a device's values: a function of the job's load, the device's traits, time."""

import random
from functools import cache

import msgspec

from accelwatch_lab.simulator.jobs import Load

# Names of what `signals` returns. Shares of 1; `_s` are integrals over time, `_peak` upper bounds.
SIGNALS = (
    "busy",
    "work",
    "occupancy",
    "bandwidth",
    "memory",
    "power",
    "heat",
    "clock",
    "busy_s",
    "work_s",
    "full_power_s",
    "busy_peak",
    "power_peak",
    "heat_peak",
    "memory_peak",
)

_LENGTH = 4096
_MASK = _LENGTH - 1
_IDLE_POWER = 0.11
_WORK_POWER = 0.84
_IDLE_MEMORY = 0.006


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What makes one device unlike its neighbours."""

    # Where it reads the noise.
    salt: int
    # Share of the load that it turns into work, near 1.
    efficiency: float
    # Added to its heat.
    warmth: float
    # How long its counters had been running when the scenario began.
    age_s: float
    # How much of that it was busy.
    busy_before_s: float


# The table of a seed is read at every tick of every device.
@cache
def noise(seed: int) -> tuple[float, ...]:
    """Evenly distributed numbers in -1 ... 1, the same for the same seed."""
    source = random.Random(f"accelwatch-sim/{seed}")  # noqa: S311 - a test signal
    return tuple(round(source.uniform(-1.0, 1.0), 4) for _ in range(_LENGTH))


def signals(
    load: Load, traits: Traits, time_s: float, table: tuple[float, ...], strength: float
) -> tuple[float, ...]:
    """Values of SIGNALS; `strength` scales the noise, 0 turns it off. A new draw every second."""
    at = int(time_s) + traits.salt
    first = table[at & _MASK] * strength
    second = table[(at * 5 + 1723) & _MASK] * strength
    efficiency = traits.efficiency
    heat_peak = 0.16 + 0.64 * load.mean * efficiency + traits.warmth
    power_peak = _IDLE_POWER + _WORK_POWER * min(1.0, load.mean * efficiency + 0.14) + 0.01
    busy = work = 0.0
    if load.busy:
        busy = min(1.0, max(0.0, load.busy + 0.02 * first))
    if load.work:
        work = min(1.0, max(0.0, load.work * efficiency + 0.02 * second))
    power = _IDLE_POWER + _WORK_POWER * work + 0.008 * first
    memory = load.memory + _IDLE_MEMORY + (0.008 * second if load.memory else 0.0)
    busy_s = traits.busy_before_s + load.busy_s
    work_s = traits.busy_before_s * 0.9 + load.work_s * efficiency
    return (
        busy,
        work,
        0.48 * work * (1.0 + 0.03 * first),
        0.52 * work,
        memory,
        power,
        heat_peak - 0.02 + 0.02 * first,
        0.97 + 0.03 * first if load.work else (1.0 if load.busy else 0.2),
        busy_s,
        work_s,
        _IDLE_POWER * (traits.age_s + time_s) + _WORK_POWER * work_s,
        1.0 if load.busy else 0.0,
        power_peak,
        heat_peak,
        memory + 0.016,
    )
