"""The state while a step works on it, and what has come of the step so far."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.observed import NodeObservation
from accelwatch.remediation.policy.context.guard_memo import GuardMemo
from accelwatch.remediation.policy.context.outcome import Loudness, Note, Outcome
from accelwatch.remediation.policy.context.records import StartedRecord, StateRecord
from accelwatch.remediation.policy.context.tables import DEPARTED, StateField, StateTable
from accelwatch.remediation.policy.context.touched import Touched
from accelwatch.remediation.policy.context.world_tables import WorldTable
from accelwatch.remediation.policy.guards.data_guard import DataGuardState
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.failure_domains import FailureDomain, GroupCounts
from accelwatch.remediation.policy.guards.identity import Proof
from accelwatch.remediation.policy.state.machine_index import MachineIndex
from accelwatch.remediation.policy.state.model import Clocks, Departed, Remedy, RemedyState
from accelwatch.remediation.policy.state.node_locations import (
    counted,
    failure_domain_of,
    machine_index_of,
    proven,
)
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.world import (
    JournalStatus,
    NodeStatus,
    PendingChecks,
    World,
    unseen,
)
from accelwatch.remediation.settings import RemedySettings

V = TypeVar("V")


class StepContext:
    """All that is known, while one step changes it. Nothing of it outlives the step but its outcome."""

    def __init__(self, state: RemedyState, settings: RemedySettings, now: float) -> None:
        self.state = state
        self.settings = settings
        self.now = now
        self.world = state.world
        self.memo = GuardMemo()
        # The remedies that the end of the step has to evaluate.
        self.touched = Touched(state.world.pending_checks)
        self._before = state
        # Built at the first use.
        self._machine_index: MachineIndex | None = None
        # Those that this step has copied, and may add to.
        self._own_proofs: dict[str, Proof | Denial] | None = None
        self._departed: dict[str, list[Departed]] | None = None
        # The tables that this step has copied, and may change.
        self._own: dict[StateTable[Any], dict[str, Any]] = {}
        self._own_world: dict[WorldTable[Any], dict[str, Any]] = {}
        self._changed: dict[tuple[StateTable[Any] | StateField[Any], str], None] = {}
        self._started: StartedRecord | None = None
        self._pursue: list[Intent] = []
        self._cancel: list[Intent] = []
        self._notes: list[Note] = []

    def set_row(self, table: StateTable[V], key: str, row: V | None) -> None:
        """Set a row of a table, or remove it with None."""
        # The first change of a step copies the table: the state before the step stays as it is.
        rows = self._own.get(table)
        if rows is None:
            rows = self._own[table] = dict(table.read(self.state))
            self.state = table.replaced(self.state, rows)
        if row is None:
            rows.pop(key, None)
        else:
            rows[key] = row
        # Indexed by node; kept as long as no job has departed or was forgotten.
        if table is DEPARTED:
            self._departed = None
        self._changed[table, key] = None
        self.touched.row(table.touches, key)
        self.memo.clear()

    def set(self, field: StateField[V], value: V) -> None:
        """Set what is no table."""
        before = field.read(self.state)
        if value is before:
            return
        self.touched.field(before, value)
        self.state = field.replaced(self.state, value)
        self._changed[field, ""] = None
        self.memo.clear()

    def start_engine(self, token: int, at: float) -> None:
        """An engine begins: nothing of the world is known."""
        self.state = msgspec.structs.replace(self.state, token=token, started=at)
        self._started = StartedRecord(token=token, at=at)
        self.world = World()
        self.touched.everything = True
        self._machine_index = None
        self._own_world.clear()
        self.memo.clear()

    def unsee(self, why: str) -> None:
        """Nobody knows how old what was seen is; `why` freezes what is new."""
        self.world = unseen(self.world, self.now, why)
        self.touched.everything = True
        self._own_world.clear()
        self.memo.clear()

    def set_world_row(self, table: WorldTable[V], key: str, row: V | None) -> None:
        """Set a row of an observation, or remove it with None."""
        rows = self._own_world.get(table)
        if rows is None:
            rows = self._own_world[table] = dict(table.read(self.world))
            self.world = table.replaced(self.world, rows)
        if row is None:
            rows.pop(key, None)
        else:
            rows[key] = row
        self.touched.row(table.touches, key)
        self.memo.clear()

    def set_pending_checks(self, pending_checks: PendingChecks) -> None:
        """Set which remedies were checked, and which the next step has to check again."""
        self.world = msgspec.structs.replace(self.world, pending_checks=pending_checks)

    def set_idle_tests_due(self, at: float) -> None:
        """Before that no idle node has to be tested; Unix seconds."""
        self.world = msgspec.structs.replace(self.world, idle_tests_due=at)

    def guard(self, guard: DataGuardState) -> None:
        """How much is seen of the fleet."""
        self.touched.guard(self.world.guard, guard)
        self.world = msgspec.structs.replace(self.world, guard=guard)
        self.memo.clear()

    def journal(self, status: JournalStatus) -> None:
        """How the journal is kept, by which rules may act with or without a person's approval."""
        if status != self.world.journal:
            self.touched.everything = True
            self.world = msgspec.structs.replace(self.world, journal=status)
            self.memo.clear()

    def recount(self, *, names: bool) -> None:
        """Who belongs where has changed; with `names` also who is who."""
        self.world = msgspec.structs.replace(self.world, group_counts=None)
        self.touched.waiting = True
        if names:
            self.touched.everything = True
            self.world = msgspec.structs.replace(self.world, proofs={})
            self._machine_index = None

    def pursue(self, intent: Intent) -> None:
        """Start an intent once the records are on disk."""
        self._pursue.append(intent)

    def cancel(self, intent: Intent) -> None:
        """Cancel an intent; an intent that never started is cancelled all the same."""
        self._cancel.append(intent)

    def note(
        self, remedy: Remedy | None, text: str, loudness: Loudness = Loudness.LOG, actor: str = ""
    ) -> None:
        """Notify people."""
        node = "" if remedy is None else remedy.node
        incident = "" if remedy is None else remedy.incident
        self._notes.append(
            Note(text=text, loudness=loudness, node=node, incident=incident, actor=actor)
        )

    def call(self, text: str, node: str = "") -> None:
        """Have a person called for what no incident is about; `node` is the hub's name."""
        self._notes.append(Note(text=text, loudness=Loudness.ALERT, node=node))

    def remedy(self, node: str) -> Remedy:
        """The remedy of a node; a healthy one where there is none."""
        existing = self.state.remedies.get(node)
        if existing is not None:
            return existing
        return Remedy(node=node, stage=Stage.HEALTHY, clocks=Clocks(since=self.now, begun=self.now))

    def node_status(self, node: str) -> NodeStatus | None:
        """What the hub knows of a node."""
        return self.world.node_statuses.get(node)

    def scheduler_node(self, remedy: Remedy) -> NodeObservation | None:
        """How its scheduler shows it."""
        return self.world.scheduler_nodes.get(self.target(remedy))

    def observed_at(self, remedy: Remedy) -> float | None:
        """Unix seconds at which its scheduler showed it last; None of one that was never shown."""
        action = self.world.shown_by.get(self.target(remedy))
        scheduler = None if action is None else self.world.schedulers.get(action)
        return None if scheduler is None else scheduler.time

    def target(self, remedy: Remedy) -> str:
        """The scheduler's name of a node: as proven, else the same as the hub's."""
        if remedy.target:
            return remedy.target
        proof = self.proof(remedy.node)
        return proof.name if isinstance(proof, Proof) else remedy.node

    def departed_from(self, target: str) -> Sequence[Departed]:
        """The jobs that have left a node lately, by the scheduler's name of it."""
        if self._departed is None:
            self._departed = {}
            for departure in self.state.departed.values():
                for node in departure.nodes:
                    self._departed.setdefault(node, []).append(departure)
        return self._departed.get(target, ())

    def proof(self, node: str) -> Proof | Denial:
        """Which of the scheduler's nodes it is."""
        cached = self.world.proofs.get(node)
        if cached is None:
            cached = proven(node, self.world, self._machines(), self.settings)
            if self._own_proofs is None or self.world.proofs is not self._own_proofs:
                self._own_proofs = dict(self.world.proofs)
                self.world = msgspec.structs.replace(self.world, proofs=self._own_proofs)
            self._own_proofs[node] = cached
        return cached

    def hub_name(self, name: str) -> str:
        """The hub's name of a scheduler's node: of `remedy.nodes`, as proven, else the same."""
        if name in self._mapped or name in self.world.node_statuses:
            return self._mapped.get(name, name)
        observation = self.world.scheduler_nodes.get(name)
        if observation is None:
            return name
        for machine in self._machines().on_host(observation.address or name):
            proof = self.proof(machine.node)
            if isinstance(proof, Proof) and proof.name == name:
                return machine.node
        return name

    # Settings are frozen, and a context lives for one step.
    @cached_property
    def _mapped(self) -> dict[str, str]:
        """The hub's names by the scheduler's, as configured; most steps need none."""
        return {theirs: ours for ours, theirs in self.settings.nodes.items()}

    def _machines(self) -> MachineIndex:
        if self._machine_index is None:
            self._machine_index = machine_index_of(self.world)
        return self._machine_index

    def failure_domain(self, remedy: Remedy) -> FailureDomain:
        """Where a node belongs."""
        observation = self.scheduler_node(remedy)
        status = self.node_status(remedy.node)
        return failure_domain_of(remedy.node, status, observation, self.settings)

    @property
    def group_counts(self) -> GroupCounts:
        """The counts of all nodes; computed at the first use."""
        if self.world.group_counts is None:
            counted_now = counted(self.world, self.settings, self.hub_name)
            self.world = msgspec.structs.replace(self.world, group_counts=counted_now)
            return counted_now
        return self.world.group_counts

    def _is_current(self, intent: Intent) -> bool:
        """Whether it has not ended in this very step, as when a new engine receives its end."""
        chores, lingering = self.state.chores, self.state.lingering
        own = self.state.remedies.get(intent.node)
        # The common case without a search through all remedies.
        if own is not None and own.pursuing is intent and own.stage is not Stage.UNKNOWN:
            return True
        if intent in chores.values() or intent in lingering.values():
            return True
        return any(
            remedy.pursuing == intent and remedy.stage is not Stage.UNKNOWN
            for remedy in self.state.remedies.values()
        )

    def outcome(self) -> Outcome:
        """What the step has come to."""
        records: list[StateRecord] = [] if self._started is None else [self._started]
        for table, key in self._changed:
            record = table.changed(self._before, self.state, key)
            if record is not None:
                records.append(record)
        return Outcome(
            state=msgspec.structs.replace(
                self.state, world=msgspec.structs.replace(self.world, now=self.now)
            ),
            records=tuple(records),
            pursue=tuple(intent for intent in self._pursue if self._is_current(intent)),
            cancel=tuple(self._cancel),
            notes=tuple(self._notes),
        )
