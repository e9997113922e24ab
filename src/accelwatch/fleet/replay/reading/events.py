"""Events of an archive as a hub would send them. An archive keeps code and text; the rest follows."""

from collections.abc import Callable
from functools import lru_cache

from accelwatch.archive.history.rows import EventRow
from accelwatch.fleet.state.transitions import OWN_CATEGORIES
from accelwatch.fleet.wire import FleetEvent
from accelwatch.schema.event import Category, ErrorEvent, severity
from accelwatch.system.kernel.xid import category_of

SOURCE = "archive"


def error_event(row: EventRow) -> ErrorEvent:
    """An event with the category that its code has."""
    return ErrorEvent(
        code=row.code or row.kind,
        category=_category(row.code),
        time=row.time / 1000,
        text=row.text,
        source=SOURCE,
        device_id=row.device or "",
    )


# Codes repeat over a whole archive, and the catalogue of codes is constant.
@lru_cache(maxsize=4096)
def _category(code: str) -> Category:
    return OWN_CATEGORIES.get(code) or category_of(code, Category.OTHER)


def fleet_event(row: EventRow, name: Callable[[str], str]) -> FleetEvent:
    """An event as the Fleet screen has it; `name` gives the short name of a device."""
    event = error_event(row)
    return FleetEvent(
        sequence=row.time,
        node=row.node,
        device=event.device_id,
        name=name(event.device_id) if event.device_id else "",
        code=event.code,
        category=event.category.value,
        severity=severity(event),
        time=event.time,
        text=event.text,
        source=SOURCE,
        subject="",
        trusted=True,
    )
