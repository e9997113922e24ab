"""Energy of a card from its hwmon counters, and the power between two reads of a counter.

Neither driver has a power reading: power is the energy since the last reading over the time. Which
counters there are differs by card and kernel: i915 has one without a label, xe `card` or `pkg` or both.
"""

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_intel.rates import Rates
from accelwatch_intel.sysfs.hwmon import MOST_WATTS, Sensors, by_reach, record, scaled

PACKAGE = "pkg"


def read_energy(
    sensors: Sensors, rates: Rates, now: float, out: Collected, *, detail: bool
) -> str | None:
    """Energy counter of the whole card and its power; with `detail` those of the package too.

    Returns the label of the counter that was used for the card, None where there is none. The first
    reading has no power, and a counter that stands still is an error, for a card always draws some.
    """
    labels = sensors.of("energy")
    joules = {number: _joules(sensors, number) for number in by_reach(labels)}
    watts = {
        number: _power(f"{sensors.folder}/{number}", value, rates, now)
        for number, value in joules.items()
    }
    channel = _card_channel(joules)
    if channel is None:
        return None
    record(out, joules[channel] or Absence.ERROR, "energy_joules_total", "hardware")
    record(out, watts[channel], "power_watts")
    for number in joules if detail else ():
        if labels[number] == PACKAGE and number != channel:
            record(out, watts[number], "power_component_watts", "package")
    return labels[channel]


def _card_channel(joules: dict[int, float | Absence]) -> int | None:
    """The widest counter, unless it has never counted and a narrower one has.

    xe of kernel 6.16 shows 0 for ever as the energy of a Battlemage card, beside a true package.
    """
    widest = next(iter(joules), None)
    if widest is None or joules[widest] != 0:
        return widest
    counting = (
        number for number, value in joules.items() if not isinstance(value, Absence) and value > 0
    )
    return next(counting, widest)


def _joules(sensors: Sensors, number: int) -> float | Absence:
    value = scaled(sensors.folder / f"energy{number}_input", 1e6)
    return Absence.ERROR if isinstance(value, float) and value < 0 else value


def _power(name: str, joules: float | Absence, rates: Rates, now: float) -> float | Absence:
    if isinstance(joules, Absence):
        return joules
    watts = rates.per_second(name, joules, now)
    if watts is None:
        return Absence.NOT_COLLECTED
    if watts == 0:
        return rates.still
    return watts if watts <= MOST_WATTS else Absence.ERROR
