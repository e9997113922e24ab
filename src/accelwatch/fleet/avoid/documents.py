"""`/v1/avoid` as the API answers it; times are RFC 3339, what does not apply is empty or null."""

from enum import StrEnum

import msgspec


class ReasonKind(StrEnum):
    """Why a node is to be avoided; the words are part of the API."""

    # We hold it, or a part of it, out of its scheduler.
    QUARANTINED = "quarantined"
    # An incident of the node, or of a device of it, is open.
    INCIDENT = "incident"
    # Nothing is known of it now.
    UNREACHABLE = "unreachable"
    # A window of maintenance covers it.
    MAINTENANCE = "maintenance"


class AvoidReason(msgspec.Struct, frozen=True, kw_only=True):
    """One reason to avoid a node."""

    kind: ReasonKind
    text: str
    since: str | None = None
    # When a window of maintenance ends.
    until: str | None = None
    incident: str = ""
    rule: str = ""
    severity: str = ""
    confidence: str = ""
    # Name of the device that an incident is about.
    device: str = ""


class NodeToAvoid(msgspec.Struct, frozen=True, kw_only=True):
    """One node, with all reasons to avoid it."""

    # The hub's name of it.
    node: str
    # Its own host name; empty where no agent has reported it.
    host: str
    # The scheduler's name of it, where a remedy has found it or `remedy.nodes` maps it; else empty.
    scheduler_name: str
    reasons: tuple[AvoidReason, ...]


class AvoidPage(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes to avoid, by name."""

    time: str
    # How many rules are in force; 0: no incident is ever opened here, so health is not evaluated.
    rules: int
    # All nodes that the hub follows.
    nodes_total: int
    # Of several hubs: whether all have answered. The list lacks the nodes of those that have not.
    whole: bool = True
    # Why the list may be incomplete.
    problems: tuple[str, ...] = ()
    nodes: tuple[NodeToAvoid, ...] = ()
