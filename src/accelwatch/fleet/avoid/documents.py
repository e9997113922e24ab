"""`/v1/avoid` as the API answers it; times are RFC 3339, what does not apply is empty or null."""

from enum import StrEnum

import msgspec


class ReasonKind(StrEnum):
    """Why a node is to be avoided; the words are part of the API."""

    QUARANTINED = "quarantined"
    """We hold it, or a part of it, out of its scheduler."""
    INCIDENT = "incident"
    """An incident of the node, or of a device of it, is open."""
    UNREACHABLE = "unreachable"
    """Nothing is known of it now."""
    MAINTENANCE = "maintenance"
    """A window of maintenance covers it."""


class AvoidReason(msgspec.Struct, frozen=True, kw_only=True):
    """One reason to avoid a node."""

    kind: ReasonKind
    text: str
    since: str | None = None
    until: str | None = None
    """When a window of maintenance ends."""
    incident: str = ""
    rule: str = ""
    severity: str = ""
    confidence: str = ""
    device: str = ""
    """Name of the device that an incident is about."""


class NodeToAvoid(msgspec.Struct, frozen=True, kw_only=True):
    """One node, with all reasons to avoid it."""

    node: str
    """The hub's name of it."""
    host: str
    """Its own host name; empty where no agent has reported it."""
    scheduler_name: str
    """The scheduler's name of it, where a remedy has found it or `remedy.nodes` maps it; else empty."""
    reasons: tuple[AvoidReason, ...]


class AvoidPage(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes to avoid, by name."""

    time: str
    rules: int
    """How many rules are in force; 0: no incident is ever opened here, so health is not looked at."""
    nodes_total: int
    """All nodes that the hub follows."""
    problems: tuple[str, ...] = ()
    """Why the list may be incomplete."""
    nodes: tuple[NodeToAvoid, ...] = ()
