"""A small fleet for tests of the state machine: what is told of it, and a stand-in for those who act."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import msgspec

from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.observed import (
    HoldState,
    JobObservation,
    NodeObservation,
    Observed,
    ReservationObservation,
)
from accelwatch.action.step import Measured, RefusalKind
from accelwatch.alerting.rules.document import JobPolicy, Mode, QuarantineLevel, When
from accelwatch.remediation.policy.context.outcome import Note, Outcome
from accelwatch.remediation.policy.context.records import StateRecord
from accelwatch.remediation.policy.context.tables import replay
from accelwatch.remediation.policy.guards.data_guard import FleetCoverage
from accelwatch.remediation.policy.state.case import Case, Limit, Policy
from accelwatch.remediation.policy.state.changes import (
    CaseChanged,
    Change,
    Command,
    Started,
    Verb,
    WorldObservation,
)
from accelwatch.remediation.policy.state.model import Remedy, RemedyState
from accelwatch.remediation.policy.state.pursued import Poll, Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.world import NodeStatus
from accelwatch.remediation.policy.step.step import step
from accelwatch.remediation.settings import Budget, RemedySettings

ACTION = "slurm"
START = 1_000_000.0
SETTINGS = RemedySettings(ceiling="resume", budget=Budget(share=0.25, most=10, min_available=0.7))
POLICY = Policy(
    rule="nvidia.gpu.lost",
    mode=Mode.AUTO,
    level=QuarantineLevel.NODE,
    when=When.NOW,
    ladder=(Limit("reboot", 2), Limit("service")),
    passive_s=60.0,
)
JOB = JobKey("c", "17", 900_000.0)


@dataclass
class Node:
    """One machine as it really is."""

    name: str
    rack: str
    hold_state: HoldState = HoldState.OPEN
    mark: OwnerAnnotation | None = None
    set_by: str = ""
    answering: bool = True
    agent: bool = True
    late: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    model: str = ""
    # Whether the hub says that it is down; only of one whose agent is silent.
    given_up: bool = False
    healthy: bool | None = True
    boot: int = 1
    serial: str = ""
    ceiling: str = "resume"
    jobs: tuple[JobKey, ...] = ()
    jobs_missing: str = ""
    # Of all jobs that ever were there.
    restartable: frozenset[JobKey] = frozenset()
    maintenance: bool = False
    incarnation: str = ""
    undone: str = ""
    # What alone our mark takes out, and which of the jobs use that.
    quarantined_devices: tuple[str, ...] = ()
    device_jobs: tuple[JobKey, ...] | None = ()
    # How it was shown last; the same is shown again while nothing has changed.
    shown: tuple[object, NodeObservation] | None = None

    @property
    def boot_id(self) -> str:
        return f"{self.name}-{self.boot}"

    def seen(self) -> NodeObservation:
        key = (
            self.hold_state,
            self.mark,
            self.set_by,
            self.answering,
            self.boot,
            self.jobs,
            self.jobs_missing,
            self.restartable,
            self.maintenance,
            self.incarnation,
            self.undone,
            self.quarantined_devices,
            self.device_jobs,
        )
        if self.shown is None or self.shown[0] != key:
            self.shown = (key, self._seen())
        return self.shown[1]

    def _seen(self) -> NodeObservation:
        return NodeObservation(
            name=self.name,
            hold_state=self.hold_state,
            answering=self.answering,
            annotation=self.mark,
            set_by=self.set_by,
            address=self.name,
            boot_id=self.boot_id,
            jobs=self.jobs,
            jobs_missing=self.jobs_missing,
            restartable=self.restartable.intersection(self.jobs),
            pools=("train",),
            maintenance=self.maintenance,
            incarnation=self.incarnation,
            undone=self.undone,
            quarantined_devices=self.quarantined_devices,
            device_jobs=self.device_jobs if self.quarantined_devices else None,
        )

    def status(self, now: float) -> NodeStatus:
        return NodeStatus(
            node=self.name,
            time=now,
            healthy=self.healthy,
            generation=f"{self.boot}/{self.serial}",
            boot_id=self.boot_id,
            host_name=self.name,
            serials={"0": self.serial},
            labels={"rack": self.rack, **self.labels},
            late=self.late,
            rack=self.rack,
            model=self.model,
            ceiling=self.ceiling,
        )


class WholeNameNode(Node):
    """The hub calls it by its whole host name; its boot id proves which node of the scheduler it is."""

    def status(self, now: float) -> NodeStatus:
        return msgspec.structs.replace(super().status(now), node=f"{self.name}.site")


@dataclass
class Ground:
    """A fleet, the engine's state over it, and what is on its way."""

    count: int = 40
    settings: RemedySettings = SETTINGS
    now: float = START
    # By how much the hub's clock was set back; its count of seconds goes on.
    back_s: float = 0.0
    state: RemedyState = field(default_factory=RemedyState)
    nodes: dict[str, Node] = field(default_factory=dict)
    # By node: what was begun, and has not ended.
    flying: dict[str, Intent] = field(default_factory=dict)
    started: list[Intent] = field(default_factory=list)
    cancelled: list[Intent] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    records: list[StateRecord] = field(default_factory=list)
    unavailable: str = ""
    probes: bool = False
    quarantines_devices: bool = True
    # How often the scheduler's controller was started.
    boots: int = 1
    # What the scheduler can do to no node, and why.
    impossible: Mapping[IntentKind, str] = field(default_factory=dict)
    reservations: tuple[ReservationObservation, ...] = ()
    # Nodes that are silent from the beginning.
    late: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for at in range(self.count):
            name = f"n{at:02d}"
            late = name in self.late
            self.nodes[name] = Node(name, f"r{at // 8}", serial=f"board-{at}", late=late)
        self.start()

    def start(self) -> None:
        """Begin, and look around until something may be done."""
        self.step(Started(token=1, at=self.now), look=False)
        self.step()
        for _ in range(6):
            self.now += 30
            self.step()

    def killed(self) -> None:
        """The engine is killed: another one goes on with what the journal has."""
        self.state = RemedyState()
        for record in self.records:
            self.state = replay(self.state, record)
        self.step(Started(token=self.state.token + 1, at=self.now), look=False)

    def step(
        self, *changes: Change, seen: tuple[WorldObservation, ...] = (), look: bool = True
    ) -> Outcome:
        """One moment; with `look` everything that can be seen is seen first."""
        looks = self.looks() if look else ()
        outcome = step(self.state, changes, (*looks, *seen), self.now, self.settings)
        self.state = outcome.state
        self.started += outcome.pursue
        self.cancelled += outcome.cancel
        self.notes += outcome.notes
        self.records += outcome.records
        chores = self.state.chores.values()
        for intent in outcome.pursue:
            if intent not in chores:
                self.flying[intent.node] = intent
        return outcome

    def looks(self) -> tuple[WorldObservation, ...]:
        """All that can be seen now."""
        silent = sum(not node.agent for node in self.nodes.values())
        coverage = FleetCoverage(
            time=self.now,
            monotonic=self.now + self.back_s,
            late_s=0.0,
            agents=len(self.nodes),
            silent=silent,
        )
        statuses = [node.status(self.now) for node in self.nodes.values() if node.agent]
        statuses += [
            silent_status(self.state.world.node_statuses[node.name])
            for node in self.nodes.values()
            if node.given_up
        ]
        if self.unavailable:
            poll = Poll(action=ACTION, time=self.now, unavailable=self.unavailable)
        else:
            nodes = tuple(node.seen() for node in self.nodes.values())
            poll = Poll(
                action=ACTION,
                time=self.now,
                nodes=nodes,
                reservations=self.reservations,
                probes=self.probes,
                quarantines_devices=self.quarantines_devices,
                controller_boot=str(self.boots),
                impossible=self.impossible,
            )
        return (coverage, *statuses, poll)

    def controller_starts(self, *, loses_state: bool = False) -> None:
        """The scheduler's controller is started anew, with its state or without."""
        self.boots += 1
        for node in self.nodes.values() if loses_state else ():
            node.hold_state, node.mark, node.set_by, node.jobs = HoldState.OPEN, None, "", ()

    def set_back(self, seconds: float) -> None:
        """The hub's clock is set back; nothing is seen at that moment."""
        self.now -= seconds
        self.back_s += seconds

    def wait(self, seconds: float, every: float = 30.0) -> None:
        """Let time pass, with everything seen."""
        until = self.now + seconds
        while self.now < until:
            self.now = min(self.now + every, until)
            self.step()

    def fault(self, name: str, incident: str = "", **fields: object) -> Case:
        """A rule fires on a node."""
        self.nodes[name].healthy = False
        case = Case(
            incident=incident or f"i-{name}",
            policy=POLICY,
            since=self.now,
            evidence_at=self.now,
            serial=self.nodes[name].serial,
        )
        case = msgspec.structs.replace(case, **fields)
        self.step(CaseChanged(node=name, case=case))
        return case

    def clear(self, name: str, case: Case) -> None:
        """The rule has cleared."""
        self.nodes[name].healthy = True
        self.step(CaseChanged(node=name, case=msgspec.structs.replace(case, open=False)))

    def send_command(self, verb: Verb, node: str = "", **fields: object) -> Outcome:
        """A person asks for something."""
        command = Command(verb=verb, by="ana", at=self.now, node=node)
        return self.step(msgspec.structs.replace(command, **fields))

    def end(
        self,
        name: str,
        ending: PursuitResult = PursuitResult.ACHIEVED,
        refusal: RefusalKind | None = None,
        moved_to: tuple[str, ...] = (),
        job: JobObservation | None = None,
        original: Mapping[str, str] = MappingProxyType({}),
        took_effect: bool = False,
        measured: Measured | None = None,
    ) -> None:
        """What is on its way for a node ends so; when it is achieved, the world is so."""
        intent = self.flying.pop(name)
        node = self.nodes[name]
        if ending is PursuitResult.ACHIEVED:
            self.apply(intent)
        self.now += 1
        observed = Observed(time=self.now, node=node.seen(), job=job)
        pursued = Pursued(
            intent=intent,
            result=ending,
            time=self.now,
            text="as the test says",
            refusal=refusal,
            observed=observed,
            moved_to=moved_to,
            original=dict(original),
            was_applied=took_effect or ending is PursuitResult.ACHIEVED,
            measured=measured,
        )
        self.step(seen=(pursued,))
        self.now += 1
        self.step()

    def end_chore(
        self,
        kind: IntentKind,
        ending: PursuitResult = PursuitResult.ACHIEVED,
        refusal: RefusalKind | None = None,
        job: JobObservation | None = None,
        node: str = "",
        original: Mapping[str, str] = MappingProxyType({}),
        measured: Measured | None = None,
    ) -> None:
        """The chore of a kind ends so; of a node, where there are several."""
        chores = [one for one in self.state.chores.values() if one.kind is kind]
        (intent,) = [one for one in chores if node in ("", one.node)]
        moved_to = () if job is None else job.nodes
        self.now += 1
        pursued = Pursued(
            intent=intent,
            result=ending,
            time=self.now,
            text="as the test says",
            refusal=refusal,
            observed=Observed(time=self.now, job=job),
            moved_to=moved_to,
            original=dict(original),
            measured=measured,
        )
        self.step(seen=(pursued,))

    def apply(self, intent: Intent) -> None:
        """Let an intent come true."""
        node = self.nodes[intent.node]
        match intent.kind:
            case IntentKind.QUARANTINE:
                taken_out(node, intent)
            case IntentKind.RELEASE:
                node.hold_state, node.mark, node.set_by = HoldState.OPEN, None, ""
                node.quarantined_devices = ()
            case IntentKind.REBOOT | IntentKind.POWER_CYCLE:
                node.boot += 1
            case IntentKind.MOVE_JOB | IntentKind.CANCEL_JOB:
                node.jobs = tuple(job for job in node.jobs if job != intent.job)
            case IntentKind.FENCE:
                node.jobs = ()  # held in the queue, each until it is moved
            case _:
                pass

    def remedy(self, name: str) -> Remedy | None:
        return self.state.remedies.get(name)

    def stage(self, name: str) -> Stage:
        remedy = self.remedy(name)
        return Stage.HEALTHY if remedy is None else remedy.stage

    def kinds(self, name: str) -> list[IntentKind]:
        """What was begun for a node so far."""
        return [intent.kind for intent in self.started if intent.node == name]

    def of_kind(self, kind: IntentKind) -> list[Intent]:
        """What of a kind was begun so far."""
        return [intent for intent in self.started if intent.kind is kind]


def taken_out(node: Node, intent: Intent) -> None:
    """A node bears our mark, of the whole of it or of some of its devices."""
    devices = {device.id for device in intent.devices}
    is_of_node = node.hold_state is HoldState.OURS and not node.quarantined_devices
    node.quarantined_devices = tuple(
        sorted(devices | set(node.quarantined_devices)) if devices and not is_of_node else ()
    )
    node.hold_state, node.mark, node.set_by = HoldState.OURS, intent.mark, "accelwatch"


def silent_status(status: NodeStatus) -> NodeStatus:
    """What is told of a node that was heard so, and not since."""
    return msgspec.structs.replace(status, healthy=None, down=True)


def job_policy(**fields: object) -> Policy:
    """One that moves jobs."""
    return msgspec.structs.replace(POLICY, job=JobPolicy.REQUEUE, **fields)
