"""Observations of nodes by the hub and the scheduler; never restored, only observed again."""

from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import NodeObservation, ReservationObservation
from accelwatch.remediation.policy.guards.data_guard import DataGuardState
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.failure_domains import GroupCounts
from accelwatch.remediation.policy.guards.identity import Proof

# Of what nobody knows when it was so: older than anything.
NEVER_RECEIVED = 0.0


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub knows of a node."""

    # The hub's name.
    node: str
    # Unix seconds of its newest data.
    time: float
    # True: every rule that could act evaluates to False on its data. None: unknown.
    healthy: bool | None = None
    # How often it reports when all is well.
    interval_s: float = 1.0
    # Whether it has fallen silent: long before it is given up, and often only for a moment.
    late: bool = False
    # Ids of devices whose source is another than the newest, and has fallen silent.
    late_devices: tuple[str, ...] = ()
    # Whether the hub has given it up: it has been silent for longer than a node that is only late.
    down: bool = False
    # Of boot and hardware: another one is another machine to whoever verifies.
    generation: str = ""
    boot_id: str = ""
    system_uuid: str = ""
    host_name: str = ""
    # Unix seconds, on the node's own clock.
    boot_time: float | None = None
    # Of its devices, by slot.
    serials: Mapping[str, str] = {}
    labels: Mapping[str, str] = {}
    rack: str = ""
    model: str = ""
    # How far the first profile that fits lets rules go here, at this moment.
    ceiling: str = "resume"


def undated(status: NodeStatus) -> NodeStatus:
    """Who a node is; how it was is known, but not when."""
    return msgspec.structs.replace(status, time=NEVER_RECEIVED, healthy=None)


class Scheduler(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a scheduler has answered."""

    # Unix seconds of its last answer.
    time: float
    # Why it did not answer the last time; empty when it did.
    unavailable: str = ""
    # Whether it can be made to find out that its daemon on a node is silent.
    probes: bool = False
    # Whether it can quarantine single devices of a node.
    quarantines_devices: bool = False
    # Of which start of its controller the last answer was; empty where it does not say.
    controller_boot: str = ""
    # What it can do to no node, and why.
    impossible: Mapping[IntentKind, str] = {}


class Good(msgspec.Struct, frozen=True, kw_only=True):
    """An unbroken row of statuses of a node that were all fresh and good."""

    generation: str
    # Unix seconds of the first.
    since: float
    # Unix seconds of the latest.
    until: float


class PendingChecks(msgspec.Struct, frozen=True, kw_only=True):
    """Since when not all remedies need a check, and which of them still do."""

    # Unix seconds of the last check of all of them.
    at: float | None = None
    # Nodes whose remedies were changed by the last look itself.
    again: frozenset[str] = frozenset()
    # Whether it has changed what remedies that wait for a quarantine depend on.
    waiting: bool = False
    # Whether it has changed what all depend on.
    everything: bool = False


class JournalStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the journal of the engine is kept."""

    # Why a fail-over of its database may lose what was written; empty where nothing is lost.
    loss_risk: str = ""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What is seen now."""

    # Unix seconds of the latest step.
    now: float | None = None
    # By the hub's name of the node.
    node_statuses: Mapping[str, NodeStatus] = {}
    # Likewise; who is not here was bad, or not to be judged, when he was seen last.
    good: Mapping[str, Good] = {}
    # By the scheduler's name of the node.
    scheduler_nodes: Mapping[str, NodeObservation] = {}
    # By which action each node was seen.
    shown_by: Mapping[str, str] = {}
    # By action.
    schedulers: Mapping[str, Scheduler] = {}
    guard: DataGuardState = DataGuardState()
    journal: JournalStatus = JournalStatus()
    # By the hub's name of a node that has fallen silent: Unix seconds since when that is known.
    late: Mapping[str, float] = {}
    # By the hub's name of the node: Unix seconds of its last probe.
    probed: Mapping[str, float] = {}
    # By action: those of ours that keep nodes for jobs.
    reservations: Mapping[str, tuple[ReservationObservation, ...]] = {}
    # By name of a reservation: Unix seconds before which what shows it is no reason to give it back.
    not_before: Mapping[str, float] = {}
    # Unix seconds of the last look of an action at a node: what was polled before is out of date.
    settled: Mapping[str, float] = {}
    # None: it has to be counted again.
    group_counts: GroupCounts | None = None
    # By the hub's name: which of the scheduler's nodes it is, as far as that was computed.
    proofs: Mapping[str, Proof | Denial] = {}
    pending_checks: PendingChecks = PendingChecks()
    # Unix seconds before which no idle node has to be tested, as far as is known.
    idle_tests_due: float = NEVER_RECEIVED


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
        idle_tests_due=NEVER_RECEIVED,
    )
