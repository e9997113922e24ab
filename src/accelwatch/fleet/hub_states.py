"""How each of several hubs stands whose nodes are one fleet."""

import msgspec

HUB_UP, HUB_LATE, HUB_DOWN = "up", "late", "down"


class HubState(msgspec.Struct, frozen=True, kw_only=True):
    """One of several hubs whose nodes are one picture."""

    name: str
    # HUB_UP; HUB_LATE when its last answer is overdue; HUB_DOWN when what it said counts no more.
    state: str
    # Seconds since its last answer; None when it never gave one.
    age_s: float | None
    # Seconds by which the next one is overdue; 0 while it is not.
    late_s: float = 0.0
    # What is wrong with it, for a person, on one line; empty when nothing is.
    fault: str = ""
    # Of its last answer.
    version: str = ""
    nodes_total: int = 0
    devices_total: int = 0
    # Its devices and nodes that are not shown, beyond what is kept of it.
    omitted: int = 0
