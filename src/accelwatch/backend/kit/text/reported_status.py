"""A word in which a vendor's command sums up how a device is."""

from collections.abc import Mapping

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected

_CHARS = 64


def record_status(out: Collected, text: str | None, meanings: Mapping[str, str]) -> None:
    """The word in lower case, and what it means for health; another word is shown and means nothing."""
    if text is None:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
        return
    status = " ".join(text.lower().split())[:_CHARS]
    out.put("reported_status_info", 1, status)
    if status in meanings:
        out.put("reported_health_info", 1, meanings[status])
