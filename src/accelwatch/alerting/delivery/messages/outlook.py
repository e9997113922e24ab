"""What is known of an incident besides itself: what will be done about it, and if it may come back."""

from collections.abc import Callable
from typing import NamedTuple

from accelwatch.alerting.incidents.model.incident import Incident


class Outlook(NamedTuple):
    """What a queue reads of remediation; the defaults are for a hub without it."""

    # The open requests for approval of an incident, as one text; empty for none.
    request_names: Callable[[Incident], str] = lambda _: ""
    # Seconds within which requests or actions on a new incident are decided.
    decides_within_s: Callable[[Incident], float] = lambda _: 0.0
    # Whether the actions on an incident are decided.
    is_decided: Callable[[Incident], bool] = lambda _: False
    # For how many seconds from now on the end of an incident, by its id, waits.
    resolve_wait_s: Callable[[str], float] = lambda _: 0.0
