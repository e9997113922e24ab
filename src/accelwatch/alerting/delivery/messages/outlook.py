"""What is known of an incident besides itself: what will be done about it, and if it may come back."""

from collections.abc import Callable
from typing import NamedTuple

from accelwatch.alerting.incidents.model.incident import Incident


class Outlook(NamedTuple):
    """What a queue asks whoever acts on incidents; the defaults are that nobody does."""

    # What people are asked about an incident now, as one text; empty for nothing.
    request_names: Callable[[Incident], str] = lambda _: ""
    # Seconds within which it is decided what is asked or done about an incident that begins.
    decides_within_s: Callable[[Incident], float] = lambda _: 0.0
    # Whether it is known what will be done about an incident.
    is_decided: Callable[[Incident], bool] = lambda _: False
    # For how many seconds from now on the end of an incident, by its id, waits.
    resolve_wait_s: Callable[[str], float] = lambda _: 0.0
