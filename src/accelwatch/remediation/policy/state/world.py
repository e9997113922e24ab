"""What is seen of nodes from the hub's side and the scheduler's; never restored, only seen anew."""

from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import NodeObservation, ReservationObservation
from accelwatch.remediation.policy.guards.data_guard import DataGuardState
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.failure_domains import GroupCounts
from accelwatch.remediation.policy.guards.identity import Proof

NEVER_RECEIVED = 0.0
"""Of what nobody knows when it was so: older than anything."""


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub knows of a node."""

    node: str
    """The hub's name."""
    time: float
    """Unix seconds of its newest data."""
    healthy: bool | None = None
    """True: data is there and every rule that could act says False on it. None: nobody can tell."""
    interval_s: float = 1.0
    """How often it is heard when all is well."""
    late: bool = False
    """Whether it has fallen silent: long before it is given up, and often only for a moment."""
    late_devices: tuple[str, ...] = ()
    """Ids of devices that another source than the newest tells of, which has fallen silent."""
    down: bool = False
    """Whether the hub has given it up: it has been silent for longer than a node that is only late."""
    generation: str = ""
    """Of boot and hardware: another one is another machine to whoever verifies."""
    boot_id: str = ""
    system_uuid: str = ""
    host_name: str = ""
    boot_time: float | None = None
    """Unix seconds, on the node's own clock."""
    serials: Mapping[str, str] = {}
    """Of its devices, by slot."""
    labels: Mapping[str, str] = {}
    rack: str = ""
    model: str = ""
    ceiling: str = "resume"
    """How far the first profile that fits lets rules go here, at this moment."""


def undated(status: NodeStatus) -> NodeStatus:
    """Who a node is; how it was is known, but not when."""
    return msgspec.structs.replace(status, time=NEVER_RECEIVED, healthy=None)


class Scheduler(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a scheduler has answered."""

    time: float
    """Unix seconds of its last answer."""
    unavailable: str = ""
    """Why it did not answer the last time; empty when it did."""
    probes: bool = False
    """Whether it can be made to find out that its daemon on a node is silent."""
    controller_boot: str = ""
    """Of which start of its controller the last answer was; empty where it does not say."""
    impossible: Mapping[IntentKind, str] = {}
    """What it can do to no node, and why."""


class Good(msgspec.Struct, frozen=True, kw_only=True):
    """An unbroken row of looks at a node that were all fresh and good."""

    generation: str
    since: float
    """Unix seconds of the first."""
    until: float
    """Unix seconds of the latest."""


class PendingChecks(msgspec.Struct, frozen=True, kw_only=True):
    """Since when nobody has to look at all remedies, and at which of them somebody has to."""

    at: float | None = None
    """Unix seconds of the last look at all of them."""
    again: frozenset[str] = frozenset()
    """Nodes whose remedies were changed by the last look itself."""
    waiting: bool = False
    """Whether it has changed what those depend on that wait to take a node out."""
    everything: bool = False
    """Whether it has changed what all depend on."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What is seen now."""

    now: float | None = None
    """Unix seconds of the latest step."""
    node_statuses: Mapping[str, NodeStatus] = {}
    """By the hub's name of the node."""
    good: Mapping[str, Good] = {}
    """Likewise; who is not here was bad, or not to be judged, when he was seen last."""
    scheduler_nodes: Mapping[str, NodeObservation] = {}
    """By the scheduler's name of the node."""
    shown_by: Mapping[str, str] = {}
    """By which action each node was seen."""
    schedulers: Mapping[str, Scheduler] = {}
    """By action."""
    guard: DataGuardState = DataGuardState()
    late: Mapping[str, float] = {}
    """By the hub's name of a node that has fallen silent: Unix seconds since when that is known."""
    probed: Mapping[str, float] = {}
    """By the hub's name of the node: Unix seconds of its last probe."""
    reservations: Mapping[str, tuple[ReservationObservation, ...]] = {}
    """By action: those of ours that keep nodes for jobs."""
    not_before: Mapping[str, float] = {}
    """By name of a reservation: Unix seconds before which what shows it is no reason to give it back."""
    settled: Mapping[str, float] = {}
    """Unix seconds of the last look of an action at a node: what was surveyed before is out of date."""
    group_counts: GroupCounts | None = None
    """None: it has to be counted again."""
    proofs: Mapping[str, Proof | Denial] = {}
    """By the hub's name: which of the scheduler's nodes it is, as far as somebody has asked."""
    pending_checks: PendingChecks = PendingChecks()


def unseen(world: World, now: float, why: str) -> World:
    """Who is who and where stays known, how it is with them does not; `why` freezes what is new."""
    return msgspec.structs.replace(
        world,
        node_statuses={node: undated(status) for node, status in world.node_statuses.items()},
        guard=msgspec.structs.replace(world.guard, why=why, troubled=world.guard.monotonic),
        good={},
        schedulers={},
        settled={},
        late=dict.fromkeys(world.late, now),
        probed={},
        not_before={},
    )
