"""Events of which an exporter only keeps count: a code, how often, and mostly when last. Pure."""

from collections.abc import Sequence

from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import EVENT_MEMORY_S
from accelwatch.schema.snapshot import EventCount
from accelwatch.system.kernel.xid import category_of

# Source of events that only a counter shows.
COUNTER = "counter"


def counted_event(count: EventCount, device_id: str, time: float, times: int) -> ErrorEvent:
    """The newest event of a count."""
    return ErrorEvent(
        code=count.code,
        category=category_of(count.code, count.category),
        time=time,
        text=f"{count.code} was counted" + (f" {times} times" if times > 1 else ""),
        source=COUNTER,
        device_id=device_id,
    )


def recent_events(
    counts: Sequence[EventCount], device_id: str, now: float
) -> tuple[ErrorEvent, ...]:
    """The newest event of each count that is recent; `now` in Unix seconds.

    A time that lies as far ahead is no better than one that is long gone: the clocks do not agree.
    """
    return tuple(
        counted_event(count, device_id, count.last_time, count.total)
        for count in counts
        if count.total > 0 and count.last_time and abs(now - count.last_time) < EVENT_MEMORY_S
    )
