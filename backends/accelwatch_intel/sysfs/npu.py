"""Readings of an NPU held by intel_vpu, from the attributes of its PCI function."""

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs
from accelwatch_intel.card import Card
from accelwatch_intel.rates import Rates

# File, series, factor to base units, greatest number that can be true.
#
# Source: drivers/accel/ivpu/ivpu_sysfs.c. A clock of 0 is real.
_ROWS = (
    ("npu_current_frequency_mhz", ("clock_hertz", "npu"), 1_000_000, 20_000),
    ("npu_max_frequency_mhz", ("clock_limit_hertz", "npu", "max"), 1_000_000, 20_000),
    ("npu_memory_utilization", ("memory_used_bytes",), 1, 1 << 48),
)


def read(card: Card, rates: Rates, now: float, out: Collected) -> None:
    """Clock, memory in use (of the host's) and busy ratio since the last reading."""
    for file, series, factor, highest in _ROWS:
        value = sysfs.read_int(card.folder / file)
        if isinstance(value, int) and 0 <= value <= highest:
            out.put(series[0], value * factor, *series[1:])
        else:
            out.miss(series[0], Absence.ERROR if isinstance(value, int) else value, *series[1:])
    busy_us = sysfs.read_int(card.folder / "npu_busy_time_us")
    if isinstance(busy_us, Absence):
        out.miss("utilization_ratio", busy_us)
        return
    rate = rates.per_second("npu_busy_time_us", busy_us, now)
    if rate is None:
        out.miss("utilization_ratio", Absence.NOT_COLLECTED)
    else:
        out.put("utilization_ratio", min(rate / 1e6, 1.0))
