"""Looks on all night: what is done, which jobs stand still, and what is not as it must be."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from accelwatch.action.observed import JobState
from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.state.changes import Change, Started, WorldObservation
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.step.step import step
from accelwatch.remediation.settings import RemedySettings
from night.machines import AGENT_EVERY_S
from night.scenario import Fault, Kind
from remediation.virtual_time import START
from support.remediation.invariants import BrokenError, Watch

if TYPE_CHECKING:
    from night.play import Night

MOST_OUT_S = 600.0
# What befalls a node within that time is told as the same incident.
AGAIN_S = 2400.0
# Within which the place of a job that has ended is given back.
ROUNDS_S = 120.0
TOLERANCE_S = 1.5


class Property(StrEnum):
    """What must be so of a night."""

    JOBS = "every job that can run runs within 10 min of its fault"
    REASON = "no node is out without a reason"
    RESERVATIONS = "no reservation without a job"
    MESSAGES = "at most two messages an incident"
    AUDIT = "the audit chain is whole"
    INVARIANTS = "no invariant of the state machine is broken"
    EVIDENCE = "no drain on a reading older than two intervals"
    CONFIDENCE = "no drain on low confidence without approval"
    FOR_NOTHING = "no drain of a node that is not to be drained"
    WELL = "the hub logs no error and says that it is well"
    NOTIFIED = "what waits for a person was told"


class Observer:
    """Of one night."""

    def __init__(self, night: "Night") -> None:
        self._night = night
        # By node: the fault that is not over.
        self.struck: dict[str, Fault] = {}
        self.broken: dict[Property, list[str]] = {one: [] for one in Property}
        # By node: when the latest of its faults was over.
        self._since: dict[str, float] = {}
        self._watch: Watch | None = None
        self._effects = 0
        self._reserved: set[str] = set()

    def on_start(self, fault: Fault) -> None:
        self.struck.update(dict.fromkeys(fault.nodes, fault))

    def complain(self, what: Property, text: str) -> None:
        """Write down, once, that a property is broken."""
        if text not in self.broken[what]:
            self.broken[what].append(text)

    def hub_errs(self, text: str) -> None:
        """A hub has logged an error."""
        self.complain(Property.WELL, text)

    def step(
        self,
        state: RemedyState,
        changes: Sequence[Change],
        observations: Sequence[WorldObservation],
        now: float,
        settings: RemedySettings,
    ) -> Outcome:
        """The state machine's own, and after it every invariant."""
        outcome = step(state, changes, observations, now, settings)
        watch = self._watch = self._watch or Watch(settings)
        for one in observations:
            if isinstance(one, Pursued) and watch.flying.get(one.intent.node) == one.intent:
                del watch.flying[one.intent.node]
        try:
            watch.check(state, outcome, now, any(isinstance(one, Started) for one in changes))
        except BrokenError as error:
            self.complain(Property.INVARIANTS, f"{clock(now - START)} {error}")
        return outcome

    def look(self) -> None:
        """Once a second."""
        world = self._night.world
        for effect in world.effects[self._effects :]:
            if effect.kind == "drain" and effect.operation:
                self._drained(effect.target, effect.time)
        self._effects = len(world.effects)
        for fault in self._night.scenario.faults:
            if fault.job and fault.moves_job and fault.runs_after_s is None:
                self._job_of(fault)
        self._reservations()
        for name in list(self.struck):
            over = self.struck[name].lasts_until <= self._night.now
            if over and self._night.is_usable(name) and self._is_done_with(name):
                del self.struck[name]
                self._since[name] = self._night.now

    def was_struck(self, name: str) -> bool:
        """Whether something is wrong with a node, or was so lately that it would be the same again."""
        since = self._since.get(name)
        return name in self.struck or (since is not None and self._night.now - since < AGAIN_S)

    def _is_done_with(self, name: str) -> bool:
        hub = self._night.hub
        if hub is None or hub.remedies is None or self._night.machines.all[name].ailment:
            return False
        return name not in hub.remedies.engine.state.remedies

    def _drained(self, name: str, time: float) -> None:
        night, fault = self._night, self.struck.get(name)
        when = clock(time - START)
        age_s = time - night.machines.all[name].reported_at
        if age_s > 2 * AGENT_EVERY_S + TOLERANCE_S:
            text = f"{when} {name} is drained on a reading {age_s:.0f} s old"
            self.complain(Property.EVIDENCE, text)
        if fault is None:
            text = f"{when} {name} is drained, and nothing is wrong with it"
            self.complain(Property.FOR_NOTHING, text)
            return
        if fault.drained_after_s is None:
            fault.drained_after_s = time - START - fault.at
        if fault.kind is Kind.LOW:
            self.complain(Property.CONFIDENCE, f"{when} {name} is drained: {fault.kind}")
        elif not fault.may_drain:
            self.complain(Property.FOR_NOTHING, f"{when} {name} is drained: {fault.kind}")
        night.admin.sees_drain(fault)

    def _job_of(self, fault: Fault) -> None:
        """Whether the job of a fault runs again; if not, whether it could."""
        night = self._night
        job = night.world.jobs[fault.job]
        ended_well = job.state is JobState.FINISHED and not job.failed
        if ended_well or night.jobs.is_productive(fault.job):
            struck_now = set(fault.nodes) & set(job.nodes) and not night.is_usable(fault.nodes[0])
            if not struck_now and night.now > fault.at:
                fault.runs_after_s = night.now - fault.at
            return
        if self._could_run(fault.job):
            fault.out_s += 1.0
        if fault.out_s > MOST_OUT_S:
            what = f"{fault.kind} on {fault.nodes[0]}"
            self.complain(Property.JOBS, f"{clock(fault.at)} job {fault.job} does not run: {what}")

    def _could_run(self, id_: str) -> bool:
        world = self._night.world
        others = {name for job in world.jobs.values() if job.key.id != id_ for name in job.nodes}
        usable = [one for one in world.nodes if one not in others and self._night.is_usable(one)]
        return len(usable) >= world.work[id_].width

    def _reservations(self) -> None:
        for id_, job in self._night.world.jobs.items():
            ended_at = self._night.world.work[id_].ended_at
            late = ended_at is not None and self._night.clock.wall() - ended_at > ROUNDS_S
            if (
                late
                and job.state is JobState.FINISHED
                and job.reserved
                and id_ not in self._reserved
            ):
                self._reserved.add(id_)
                where = ", ".join(job.reserved)
                text = (
                    f"{clock(self._night.now)} {where} is reserved for job {id_}, which has ended"
                )
                self.complain(Property.RESERVATIONS, text)


def clock(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{second:02d}"
