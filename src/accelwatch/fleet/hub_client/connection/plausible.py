"""Messages of a hub whose numbers cannot be: with them nothing could be added up or shown. Pure."""

import math
from operator import attrgetter

from accelwatch.base.errors import WireError
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.picture.model import FIELDS
from accelwatch.fleet.wire import FleetDocument, FleetHello, FleetTick

# Seconds between two ticks; with more a hub would count as answering for ever.
_LONGEST_INTERVAL_S = 3600.0
# Of one count or sum of bytes: of 32 hubs the sum still goes into 64 bits.
_MOST = (1 << 59) - 1
_slot, _values = attrgetter("slot"), attrgetter("values")


def check_hello(hello: FleetHello) -> None:
    """Raise TargetFault for an implausible interval, and for fields that were not requested."""
    if not 0 < hello.interval_s <= _LONGEST_INTERVAL_S:
        raise _damage(f"an interval of {hello.interval_s:g} s")
    if hello.fields != FIELDS:
        raise _damage("fields that were not asked for")


def check_tick(tick: FleetTick) -> None:
    """Raise TargetFault for damage that decodes."""
    if set(map(len, map(_values, tick.devices))) - {len(FIELDS)}:
        raise _damage("values that are not of the fields asked for")
    if min(map(_slot, tick.devices), default=0) < 0:
        raise _damage("a device without a place")
    if not math.isfinite(tick.time):
        raise _damage("a tick of no time")
    _check_document(tick.fleet)


def _check_document(fleet: FleetDocument) -> None:
    sums = (fleet.memory_used_bytes or 0, fleet.memory_size_bytes or 0)
    totals = (fleet.nodes_total, fleet.devices_total)
    by_state = (fleet.nodes, fleet.devices, fleet.health)
    counts = (*sums, *totals, *(count for counted in by_state for count in counted.values()))
    if not all(0 <= count <= _MOST for count in counts):
        raise _damage("a count that cannot be")
    if not all(math.isfinite(value or 0) for value in (fleet.power_watts, fleet.utilization_ratio)):
        raise _damage("a sum that is no number")
    try:
        # Their times are read for sentences about outages.
        _ = fleet.troubles
    except WireError as error:
        raise _damage(str(error)) from error


def _damage(text: str) -> TargetFault:
    return TargetFault(Reason.GARBAGE, f"no message of a hub: {text[:200]}")
