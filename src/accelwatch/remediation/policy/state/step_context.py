"""The state while a step works on it, and what has come of the step so far."""

from collections.abc import Sequence
from typing import Any

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.observed import NodeSeen
from accelwatch.remediation.policy.guards.census import Census, Place
from accelwatch.remediation.policy.guards.data_guard import DataGuardState
from accelwatch.remediation.policy.guards.denial import Answer, Denial
from accelwatch.remediation.policy.guards.identity import Proof
from accelwatch.remediation.policy.state.crowd import Crowd
from accelwatch.remediation.policy.state.model import Departed, Remedy, RemedyState
from accelwatch.remediation.policy.state.outcome import (
    Loudness,
    Note,
    Outcome,
    StateRecord,
    record_of,
)
from accelwatch.remediation.policy.state.places import counted, crowd_of, place_of, proven
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.touched import Touched
from accelwatch.remediation.policy.state.world import Looked, NodeHeard, World, unseen
from accelwatch.remediation.settings import RemedySettings


class StepContext:
    """All that is known, while one step changes it. Nothing of it outlives the step but its outcome."""

    def __init__(self, state: RemedyState, settings: RemedySettings, now: float) -> None:
        self.state = state
        self.settings = settings
        self.now = now
        self.world = state.world
        self.memo: dict[object, Answer] = {}
        """Answers of the guards; anything that changes makes them void."""
        self.touched = Touched(state.world.looked)
        """Whom the end of the step has to look at."""
        self._before = state
        self._crowd: Crowd | None = None
        """Only when somebody asks who is who."""
        self._departed: dict[str, list[Departed]] | None = None
        self._own: set[str] = set()
        self._own_seen: set[str] = set()
        self._changed: dict[tuple[str, str], None] = {}
        self._pursue: list[Intent] = []
        self._cancel: list[Intent] = []
        self._notes: list[Note] = []

    def put(self, table: str, key: str, value: object) -> None:
        """Set a row of a table, or take it out with None."""
        rows: Any = getattr(self.state, table)
        if table not in self._own:
            rows = dict(rows)
            self.state = msgspec.structs.replace(self.state, **{table: rows})
            self._own.add(table)
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = value
        if table == "departed":
            self._departed = None
        self._changed[table, key] = None
        self.touched.row(table, key)
        self.memo.clear()

    def set(self, field: str, value: object) -> None:
        """Set what is no table."""
        before = getattr(self.state, field)
        if value is before:
            return
        self.touched.field(field, before, value)
        self.state = msgspec.structs.replace(self.state, **{field: value})
        self._changed[field, ""] = None
        self.memo.clear()

    def begin(self, token: int, at: float) -> None:
        """An engine begins: nothing of the world is known."""
        self.state = msgspec.structs.replace(self.state, token=token, started=at)
        self._changed["started", ""] = None
        self.world = World()
        self.touched.everything = True
        self._crowd = None
        self._own_seen.clear()
        self.memo.clear()

    def unsee(self, why: str) -> None:
        """Nobody knows how old what was seen is; `why` freezes what is new."""
        self.world = unseen(self.world, self.now, why)
        self.touched.everything = True
        self._own_seen.clear()
        self.memo.clear()

    def look(self, table: str, key: str, value: object) -> None:
        """Set a row of what is seen, or take it out with None."""
        rows: Any = getattr(self.world, table)
        if table not in self._own_seen:
            rows = dict(rows)
            self.world = msgspec.structs.replace(self.world, **{table: rows})
            self._own_seen.add(table)
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = value
        self.touched.row(table, key)
        self.memo.clear()

    def looked(self, looked: Looked) -> None:
        """Who was looked at, and whom the next step has to look at again."""
        self.world = msgspec.structs.replace(self.world, looked=looked)

    def guard(self, guard: DataGuardState) -> None:
        """How much is seen of the fleet."""
        self.touched.guard(self.world.guard, guard)
        self.world = msgspec.structs.replace(self.world, guard=guard)
        self.memo.clear()

    def recount(self, *, names: bool) -> None:
        """Who belongs where has changed; with `names` also who is who."""
        self.world = msgspec.structs.replace(self.world, census=None)
        self.touched.waiting = True
        if names:
            self.touched.everything = True
            self.world = msgspec.structs.replace(self.world, proofs={})
            self._own_seen.discard("proofs")
            self._crowd = None

    def pursue(self, intent: Intent) -> None:
        """Have an intent begun after the records are on disk."""
        self._pursue.append(intent)

    def cancel(self, intent: Intent) -> None:
        """Have an intent ended; one that was not even told to anybody is cancelled all the same."""
        self._cancel.append(intent)

    def note(
        self, remedy: Remedy | None, text: str, loudness: Loudness = Loudness.LOG, actor: str = ""
    ) -> None:
        """Have people told."""
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
        known = self.state.remedies.get(node)
        if known is not None:
            return known
        return Remedy(node=node, stage=Stage.HEALTHY, since=self.now, begun=self.now)

    def heard(self, node: str) -> NodeHeard | None:
        """What the hub knows of a node."""
        return self.world.heard.get(node)

    def seen(self, remedy: Remedy) -> NodeSeen | None:
        """How its scheduler shows it."""
        return self.world.seen.get(self.target(remedy))

    def seen_at(self, remedy: Remedy) -> float | None:
        """Unix seconds at which its scheduler showed it last; None of one that was never shown."""
        action = self.world.seen_by.get(self.target(remedy))
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
            for one in self.state.departed.values():
                for node in one.nodes:
                    self._departed.setdefault(node, []).append(one)
        return self._departed.get(target, ())

    def proof(self, node: str) -> Proof | Denial:
        """Which of the scheduler's nodes it is."""
        known = self.world.proofs.get(node)
        if known is None:
            if self._crowd is None:
                self._crowd = crowd_of(self.world)
            known = proven(node, self.world, self._crowd, self.settings)
            rows = dict(self.world.proofs)
            rows[node] = known
            self.world = msgspec.structs.replace(self.world, proofs=rows)
        return known

    def place(self, remedy: Remedy) -> Place:
        """Where a node belongs."""
        return place_of(remedy.node, self.heard(remedy.node), self.seen(remedy), self.settings)

    @property
    def census(self) -> Census:
        """All nodes counted; only when somebody asks."""
        if self.world.census is None:
            counted_now = counted(self.world, self.settings)
            self.world = msgspec.structs.replace(self.world, census=counted_now)
            return counted_now
        return self.world.census

    def idle(self, remedy: Remedy) -> bool:
        """Whether nothing is on its way that we want of the node."""
        return remedy.pursuing is None and remedy.node not in self.state.lingering

    def _wanted(self, intent: Intent) -> bool:
        """Whether it has not ended in this very step, as when an engine begins and hears of its end."""
        chores, lingering = self.state.chores, self.state.lingering
        own = self.state.remedies.get(intent.node)
        if own is not None and own.pursuing is intent and own.stage is not Stage.UNKNOWN:
            return True
        if intent in chores.values() or intent in lingering.values():
            return True
        return any(
            one.pursuing == intent and one.stage is not Stage.UNKNOWN
            for one in self.state.remedies.values()
        )

    def outcome(self) -> Outcome:
        """What the step has come to."""
        records: list[StateRecord] = []
        for table, key in self._changed:
            record = record_of(self._before, self.state, table, key)
            if record is not None:
                records.append(record)
        return Outcome(
            state=msgspec.structs.replace(
                self.state, world=msgspec.structs.replace(self.world, now=self.now)
            ),
            records=tuple(records),
            pursue=tuple(intent for intent in self._pursue if self._wanted(intent)),
            cancel=tuple(self._cancel),
            notes=tuple(self._notes),
        )
