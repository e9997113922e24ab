"""What guards and conditions read of a step: each view names what its readers need, and sets nothing.

`StepContext` is all of them. A reader of a view can neither change the state nor start anything.
"""

from collections.abc import Sequence
from typing import Protocol

from accelwatch.action.observed import NodeObservation
from accelwatch.remediation.policy.context.guard_memo import GuardMemo
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.failure_domains import FailureDomain, GroupCounts
from accelwatch.remediation.policy.guards.identity import Proof
from accelwatch.remediation.policy.state.model import Departed, Remedy, RemedyState
from accelwatch.remediation.policy.state.world import NodeStatus, World
from accelwatch.remediation.settings import RemedySettings


class CaseView(Protocol):
    """For what speaks against a node: the state, the settings, the time, and how the hub sees it."""

    @property
    def now(self) -> float:
        """Unix seconds."""

    @property
    def state(self) -> RemedyState:
        """Remedies, holds, and what people said."""

    @property
    def settings(self) -> RemedySettings:
        """What the site has set."""

    def node_status(self, node: str) -> NodeStatus | None:
        """What the hub knows of a node."""

    def hub_name(self, name: str) -> str:
        """The hub's name of a scheduler's node."""


class NodeView(CaseView, Protocol):
    """For a node and its jobs: besides that how its scheduler shows it, and which jobs have left it."""

    @property
    def world(self) -> World:
        """What is seen now."""

    def scheduler_node(self, remedy: Remedy) -> NodeObservation | None:
        """How its scheduler shows it."""

    def target(self, remedy: Remedy) -> str:
        """The scheduler's name of a node."""

    def departed_from(self, target: str) -> Sequence[Departed]:
        """The jobs that have left a node lately, by the scheduler's name of it."""


class StepView(NodeView, Protocol):
    """For what may be done now: besides that which machine a node is, and how many are out where."""

    @property
    def memo(self) -> GuardMemo:
        """What the guards have answered in this step."""

    @property
    def group_counts(self) -> GroupCounts:
        """All nodes counted."""

    def remedy(self, node: str) -> Remedy:
        """The remedy of a node; a healthy one where there is none."""

    def proof(self, node: str) -> Proof | Denial:
        """Which of the scheduler's nodes it is."""

    def failure_domain(self, remedy: Remedy) -> FailureDomain:
        """Where a node belongs."""

    def observed_at(self, remedy: Remedy) -> float | None:
        """Unix seconds at which its scheduler showed it last; None of one that was never shown."""
