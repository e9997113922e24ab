"""A scheduler in memory with the habits of a real one, and the action that speaks to it.

Time is whatever the clock says. Every effect on it is logged with the operation that caused it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.following import followed
from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.observed import (
    HoldState,
    JobObservation,
    JobState,
    NodeObservation,
    Observed,
    ReservationObservation,
)
from accelwatch.action.step import (
    Achieved,
    Committed,
    Proposal,
    Recovery,
    Refusal,
    RefusalKind,
    Report,
    ReportStatus,
    StartedStep,
    Step,
    StepKind,
    Wait,
)
from accelwatch.base.clock import Clock

# From requeue to start: what batch_sched_delay is in Slurm.
START_AFTER_S = 2.0
BOOT_S = 60.0
# After which a message to a daemon has timed out: MessageTimeout in Slurm.
MESSAGE_S = 10.0
# How long after it was asked a controller that hung applies what it was asked for.
LATE_S = 12.0


@dataclass
class Node:
    name: str
    mark: OwnerAnnotation | None = None
    reason: str = ""
    set_by: str = ""
    set_at: float | None = None
    down: bool = False
    answering: bool = True
    powered: bool = True
    boot_id: str = "boot-1"
    boot_time: float = 0.0
    booting_until: float | None = None
    resets: int = 0
    tested: int = 0
    test_fails: bool = False
    tickets: int = 0
    probed: int = 0
    # Jobs with processes on it, whatever the scheduler believes.
    alive: set[str] = field(default_factory=set)


@dataclass
class Job:
    key: JobKey
    nodes: tuple[str, ...]
    user: str = "user"
    state: JobState = JobState.RUNNING
    restarts: int = 0
    # The user's own wish, or what somebody made of it.
    exclude: str = ""
    # Nodes kept for it.
    reserved: tuple[str, ...] = ()
    requeueable: bool = True
    interactive: bool = False
    may_start: float | None = None
    failed: bool = False
    signals: int = 0


@dataclass(frozen=True)
class Effect:
    """Something that has happened to the world."""

    time: float
    kind: str
    target: str
    # Empty for what people and the scheduler itself did.
    operation: str


class FakeScheduler:
    """Nodes, jobs, spares and people."""

    def __init__(self, clock: Clock, nodes: Sequence[str], spares: Sequence[str] = ()) -> None:
        self.clock = clock
        self.nodes = {name: Node(name) for name in (*nodes, *spares)}
        self.jobs: dict[str, Job] = {}
        # By node: the incident that has drawn it.
        self.spares: dict[str, str] = dict.fromkeys(spares, "")
        self.effects: list[Effect] = []
        self.unavailable = ""
        # Until then nobody is answered, and what was asked for happens afterwards.
        self.hung_until: float | None = None
        # How often its controller was started.
        self.boots = 1
        self._later: list[tuple[float, Callable[[], None]]] = []

    def add_job(self, id_: str, *nodes: str, **how: object) -> Job:
        key = JobKey("fake", id_, self.clock.wall())
        job = Job(key, nodes, **how)  # type: ignore[arg-type]
        self.jobs[id_] = job
        for name in nodes:
            self.nodes[name].alive.add(id_)
        return job

    def log(self, kind: str, target: str, operation: str = "") -> None:
        self.effects.append(Effect(self.clock.wall(), kind, target, operation))

    def count(self, kind: str, target: str) -> int:
        return sum((one.kind, one.target) == (kind, target) for one in self.effects)

    def after(self, seconds: float, happen: Callable[[], None]) -> None:
        self._later.append((self.clock.wall() + seconds, happen))

    def pass_time(self) -> None:
        """Let happen what is due; whoever looks does so first."""
        now = self.clock.wall()
        if self.hung_until is not None and now < self.hung_until:
            return
        due = sorted((one for one in self._later if one[0] <= now), key=lambda one: one[0])
        self._later = [one for one in self._later if one[0] > now]
        for _, happen in due:
            happen()
        for node in self.nodes.values():
            if node.booting_until is not None and now >= node.booting_until:
                node.booting_until, node.answering, node.powered = None, True, True
                name, _, number = node.boot_id.rpartition("-")
                node.boot_id = f"{name}-{int(number) + 1}"
                node.boot_time = now
        for job in self.jobs.values():
            self._advance(job, now)

    def _advance(self, job: Job, now: float) -> None:
        if job.state is JobState.COMPLETING:
            held = [self.nodes[name] for name in job.nodes]
            if all(node.answering or not node.powered for node in held):
                for node in held:
                    node.alive.discard(job.key.id)
                job.state, job.may_start = JobState.WAITING, now + START_AFTER_S
                job.nodes = ()
        elif job.state is JobState.WAITING and job.may_start is not None and now >= job.may_start:
            free = [name for name in self.nodes if self.is_free(name, job)]
            wanted = job.reserved or tuple(free)
            good = [name for name in wanted if name in free]
            if good:
                job.nodes, job.state = (good[0],), JobState.RUNNING
                job.restarts += 1
                self.nodes[good[0]].alive.add(job.key.id)
                self.log("start", f"{job.key.id}@{good[0]}")

    def is_free(self, name: str, job: Job) -> bool:
        node = self.nodes[name]
        held = node.mark is not None or node.reason or node.down
        taken = any(name in one.nodes for one in self.jobs.values() if one is not job)
        kept = any(name in one.reserved for one in self.jobs.values() if one is not job)
        spare = name in self.spares and not self.spares[name] and name not in job.reserved
        return not (
            held or taken or kept or spare or not node.powered or name in job.exclude.split(",")
        )

    def admin_drains(self, name: str, reason: str = "swap the riser") -> None:
        node = self.nodes[name]
        node.mark, node.reason, node.set_by = None, reason, "root"
        node.set_at = self.clock.wall()
        self.log("admin drains", name)

    def admin_resumes(self, name: str) -> None:
        node = self.nodes[name]
        node.mark, node.reason, node.set_by, node.set_at, node.down = None, "", "", None, False
        self.log("admin resumes", name)

    def controller_starts(self, *, loses_state: bool = False) -> None:
        """The controller is started anew, with its state or without."""
        self.boots += 1
        self.log("controller starts", "")
        if loses_state:
            self.jobs.clear()
            for node in self.nodes.values():
                node.mark, node.reason, node.set_by, node.set_at = None, "", "", None
                node.down = False
                node.alive.clear()
            self.spares = dict.fromkeys(self.spares, "")

    def see(self, name: str) -> NodeObservation:
        node = self.nodes.get(name)
        if node is None:
            return NodeObservation(name=name, hold_state=HoldState.MISSING)
        hold_state = HoldState.OPEN
        if node.mark is not None:
            hold_state = HoldState.OURS
        elif node.down:
            hold_state = HoldState.DOWN
        elif node.reason:
            hold_state = HoldState.FOREIGN
        return NodeObservation(
            name=name,
            hold_state=hold_state,
            answering=node.answering,
            annotation=node.mark,
            reason=node.reason,
            set_by=node.set_by,
            set_at=node.set_at,
            address=name,
            boot_id=node.boot_id,
            boot_time=node.boot_time,
            pools=("train",),
            jobs=tuple(job.key for job in self.jobs.values() if name in job.nodes),
            owners={str(one.key): one.user for one in self.jobs.values() if name in one.nodes},
            rebooting=node.booting_until is not None,
        )

    def see_job(self, key: JobKey) -> JobObservation:
        job = self.jobs.get(key.id)
        if job is None or job.key != key:
            return JobObservation(key=key, state=JobState.MISSING)
        return JobObservation(
            key=key,
            state=job.state,
            user=job.user,
            nodes=job.nodes,
            restarts=job.restarts,
            may_start=job.may_start,
            requeueable=job.requeueable,
            failed=job.failed,
            interactive=job.interactive,
        )


_ONCE = StepKind(idempotent=False, reversible=False)
_SLOWLY = StepKind(idempotent=False, reversible=False, settle_s=300.0)
_AGAIN = StepKind(idempotent=True, reversible=True)
STEPS: Mapping[str, StepKind] = {
    "drain": _AGAIN,
    "undrain": _AGAIN,
    "power_off": StepKind(idempotent=True, reversible=False),
    "signal": _ONCE,
    "exclude": _AGAIN,
    "keep_place": _AGAIN,
    "requeue": _ONCE,
    "cancel": StepKind(idempotent=True, reversible=False),
    "restore": _AGAIN,
    "draw": _AGAIN,
    "return": _AGAIN,
    "reset": _ONCE,
    "reboot": _SLOWLY,
    "power_cycle": _SLOWLY,
    "test": StepKind(idempotent=True, reversible=False),
    "ticket": _ONCE,
    "probe": _ONCE,
    "swap": _AGAIN,
}
# Where nothing that is seen proves that it cannot happen yet.
NEVER_AGAIN = frozenset({"reset", "reboot", "power_cycle"})
IRREVERSIBLE = frozenset(name for name, kind in STEPS.items() if not kind.idempotent)


class FakeAction:
    """Speaks to a FakeScheduler as a plug-in speaks to a real one."""

    intents: ClassVar[frozenset[IntentKind]] = frozenset(IntentKind)
    steps: ClassVar[Mapping[str, StepKind]] = STEPS

    def __init__(self, world: FakeScheduler) -> None:
        self.world = world
        # Called before and after each effect; may raise what ends everything.
        self.before_effect: Callable[[Step], None] = lambda _: None
        self.after_effect: Callable[[Step], None] = lambda _: None
        # What is said to the next steps instead of doing them; None: do this one.
        self.answers: list[Report | None] = []
        self.performed: list[tuple[Step, Committed]] = []
        # How long a call takes that changes something; they go one after another.
        self.call_s = 0.0
        self._calls = asyncio.Lock()

    async def observe_all(self) -> Sequence[NodeObservation]:
        await self._answers()
        return [self.world.see(name) for name in self.world.nodes]

    @property
    def controller_boot(self) -> str:
        return str(self.world.boots)

    async def _answers(self) -> None:
        world = self.world
        world.pass_time()
        if world.hung_until is not None and world.clock.wall() < world.hung_until:
            await asyncio.sleep(min(10.0, world.hung_until - world.clock.wall()))
            raise ActionUnavailableError("the controller does not answer")
        if world.unavailable:
            raise ActionUnavailableError(world.unavailable)

    async def reservations(self) -> Sequence[ReservationObservation]:
        await self._answers()
        return [
            ReservationObservation(name=f"job-{job.key}", node=job.reserved[0], job=job.key)
            for job in self.world.jobs.values()
            if job.reserved
        ]

    async def observe(self, intent: Intent) -> Observed:
        await self._answers()
        world = self.world
        node = world.nodes.get(intent.node)
        own: dict[str, str] = {}
        if node is not None:
            own = {
                "resets": str(node.resets),
                "tested": str(node.tested),
                "failing": "yes" if node.test_fails else "",
                "tickets": str(node.tickets),
                "probed": "yes" if node.probed else "",
            }
        if intent.spare:
            own["drawn"] = world.spares.get(intent.spare, "")
        job = None if intent.job is None else world.see_job(intent.job)
        known = None if intent.job is None else world.jobs.get(intent.job.id)
        if known is not None:
            own |= {"exclude": known.exclude, "place": ",".join(known.reserved)}
        dead = node is not None and (not node.powered or not node.alive)
        return Observed(
            time=world.clock.wall(),
            node=world.see(intent.node),
            job=job,
            proven_dead=dead,
            own=own,
        )

    def propose(self, intent: Intent, observed: Observed) -> Proposal:
        return _PROPOSALS[intent.kind](intent, observed)

    async def perform(self, step: Step, operation: Committed) -> Report:
        if self.call_s:
            async with self._calls:
                return await self._perform(step, operation)
        return await self._perform(step, operation)

    async def _perform(self, step: Step, operation: Committed) -> Report:
        if why := operation.withdrawn():
            return Report(status=ReportStatus.NOT_STARTED, text=why)
        if self.call_s:
            await asyncio.sleep(self.call_s)
        self.performed.append((step, operation))
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            return answer
        self.before_effect(step)
        world = self.world
        if world.hung_until is not None and world.clock.wall() < world.hung_until:
            world.after(world.hung_until - world.clock.wall(), lambda: self.apply(step, operation))
            await asyncio.sleep(60)
        self.apply(step, operation)
        self.after_effect(step)
        return Report(status=ReportStatus.DONE)

    def apply(self, step: Step, operation: Committed) -> None:
        """What the scheduler does with it, careless as it is."""
        world, what = self.world, step.arguments
        target = what["node"] if step.kind == "draw" else what.get("job") or what["node"]
        world.log(step.kind, target, operation.operation)
        _EFFECTS[step.kind](world, what, operation)

    def recover(self, started_step: StartedStep, observed: Observed) -> Recovery:
        return _recovered(started_step, observed)

    async def close(self) -> None:
        """Nothing is held."""


def _drain(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    node = world.nodes[what["node"]]
    node.mark, node.reason = operation.annotation, what["reason"]
    node.set_by, node.set_at = "accelwatch", world.clock.wall()


def _undrain(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    node = world.nodes[what["node"]]
    node.mark, node.reason, node.set_by, node.set_at = None, "", "", None


def _power_off(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    node = world.nodes[what["node"]]
    node.powered, node.answering = False, False
    node.alive.clear()


def _job(world: FakeScheduler, what: Mapping[str, str]) -> Job:
    return world.jobs[what["job"]]


def _signal(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    _job(world, what).signals += 1


def _exclude(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    _job(world, what).exclude = what["nodes"]  # replaces, does not merge


def _keep_reservation(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    _job(world, what).reserved = tuple(filter(None, what["nodes"].split(",")))


def _requeue(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    job = _job(world, what)
    if job.state in (JobState.RUNNING, JobState.COMPLETING):
        job.state = JobState.COMPLETING
    elif job.state is JobState.FINISHED:
        job.state, job.failed = JobState.WAITING, False
        job.may_start = world.clock.wall() + START_AFTER_S


def _cancel(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    job = _job(world, what)
    for name in job.nodes:
        world.nodes[name].alive.discard(job.key.id)
    job.state, job.nodes = JobState.FINISHED, ()


def _restore(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    job = _job(world, what)
    job.exclude, job.reserved = what["exclude"], ()


def _draw(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    world.spares[what["spare"]] = operation.annotation.incident


def _return(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    world.spares[what["spare"]] = ""


def _reset(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    world.nodes[what["node"]].resets += 1


def _reboot(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    node = world.nodes[what["node"]]
    node.answering, node.booting_until = False, world.clock.wall() + BOOT_S
    node.alive.clear()


def _test(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    world.nodes[what["node"]].tested += 1


def _ticket(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    world.nodes[what["node"]].tickets += 1


def _probe(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    """Its daemon is silent, which the scheduler finds out after a while."""
    node = world.nodes[what["node"]]
    node.probed += 1

    def found_out() -> None:
        node.answering = False

    world.after(MESSAGE_S, found_out)


def _swap(world: FakeScheduler, what: Mapping[str, str], operation: Committed) -> None:
    job = _job(world, what)
    job.nodes = tuple(name for name in job.nodes if name != what["node"])


_EFFECTS: Mapping[str, Callable[[FakeScheduler, Mapping[str, str], Committed], None]] = {
    "drain": _drain,
    "undrain": _undrain,
    "power_off": _power_off,
    "signal": _signal,
    "exclude": _exclude,
    "keep_place": _keep_reservation,
    "requeue": _requeue,
    "cancel": _cancel,
    "restore": _restore,
    "draw": _draw,
    "return": _return,
    "reset": _reset,
    "reboot": _reboot,
    "power_cycle": _reboot,
    "test": _test,
    "ticket": _ticket,
    "probe": _probe,
    "swap": _swap,
}


def _step(kind: str, intent: Intent, **more: object) -> Step:
    arguments = {"node": intent.node}
    if intent.job is not None:
        arguments["job"] = intent.job.id
    return Step(
        kind=kind,
        arguments={**arguments, **more.pop("arguments", {})},  # type: ignore[dict-item]
        precondition=more.pop("precondition", {}),  # type: ignore[arg-type]
        original=more.pop("original", {}),  # type: ignore[arg-type]
        text=f"{kind} {intent.job.id if intent.job else intent.node}",
    )


def _node(observed: Observed) -> NodeObservation:
    assert observed.node is not None
    return observed.node


def _quarantine(intent: Intent, observed: Observed) -> Proposal:
    match _node(observed).hold_state:
        case HoldState.OURS if _node(observed).annotation == intent.mark:
            return Achieved("no new work comes to it")
        case HoldState.OPEN:
            return _step("drain", intent, arguments={"reason": intent.reason or "accelwatch"})
        case _:
            return Refusal(RefusalKind.FOREIGN, f"held: {_node(observed).reason}")


def _release(intent: Intent, observed: Observed) -> Proposal:
    match _node(observed).hold_state:
        case HoldState.OURS if _node(observed).annotation == intent.mark:
            return _step("undrain", intent)
        case HoldState.OPEN:
            return Achieved("it takes work")
        case _:
            return Refusal(RefusalKind.FOREIGN, f"held: {_node(observed).reason}")


def _fence(intent: Intent, observed: Observed) -> Proposal:
    if observed.proven_dead:
        return Achieved("nothing runs on it")
    return _step("power_off", intent)


def _signal_job(intent: Intent, observed: Observed) -> Proposal:
    assert observed.job is not None
    if observed.job.state is not JobState.RUNNING:
        return Refusal(RefusalKind.IMPOSSIBLE, "it does not run")
    return _step("signal", intent, precondition={"restarts": str(observed.job.restarts)})


def _move_job(intent: Intent, observed: Observed) -> Proposal:
    job = observed.job
    assert job is not None
    bad = set(intent.avoided)
    if job.state is JobState.FINISHED and job.failed and intent.revive:
        died = {"restarts": str(job.restarts), "died": "yes"}
        return _step("requeue", intent, precondition=died)
    if job.state in (JobState.FINISHED, JobState.MISSING):
        return Refusal(RefusalKind.IMPOSSIBLE, "it has ended")
    if job.state is JobState.RUNNING and not bad & set(job.nodes):
        return Achieved("it runs elsewhere", moved_to=job.nodes)
    if not (observed.proven_dead or _node(observed).answering or intent.fenced_by_job):
        return Refusal(RefusalKind.UNSAFE, "the old copy may still run")
    wished = [one for one in observed.own["exclude"].split(",") if one]
    if not bad <= set(wished):
        return _step(
            "exclude",
            intent,
            arguments={"nodes": ",".join([*wished, *sorted(bad - set(wished))])},
            original={"exclude": observed.own["exclude"]},
        )
    if intent.spare and not observed.own["place"]:
        return _step("keep_place", intent, arguments={"nodes": intent.spare})
    if job.state is JobState.RUNNING:
        return _step("requeue", intent, precondition={"restarts": str(job.restarts)})
    return Wait(1.0, "it has not begun again yet")


def _cancel_job(intent: Intent, observed: Observed) -> Proposal:
    assert observed.job is not None
    if observed.job.state in (JobState.FINISHED, JobState.MISSING):
        return Achieved("it has ended")
    return _step("cancel", intent)


def _restore_job(intent: Intent, observed: Observed) -> Proposal:
    assert observed.job is not None
    wanted = intent.original.get("exclude", observed.own.get("exclude", ""))
    if observed.job.state is JobState.MISSING:
        return Achieved("it is gone")
    if observed.own["exclude"] == wanted and not observed.own["place"]:
        return Achieved("its own wishes count again")
    return _step("restore", intent, arguments={"exclude": wanted})


def _draw_spare(intent: Intent, observed: Observed) -> Proposal:
    match observed.own["drawn"]:
        case intent.mark.incident:
            return Achieved("drawn")
        case "":
            if observed.job is not None and not observed.own.get("place"):
                return _step("keep_place", intent, arguments={"nodes": intent.spare})
            return _step("draw", intent, arguments={"spare": intent.spare})
        case other:
            return Refusal(RefusalKind.FOREIGN, f"drawn for {other}")


def _return_spare(intent: Intent, observed: Observed) -> Proposal:
    match observed.own["drawn"]:
        case "":
            return Achieved("returned")
        case intent.mark.incident:
            return _step("return", intent, arguments={"spare": intent.spare})
        case other:
            return Refusal(RefusalKind.FOREIGN, f"drawn for {other}")


def _reset_device(intent: Intent, observed: Observed) -> Proposal:
    if _node(observed).boot_id != intent.boot_id:
        return Refusal(RefusalKind.IMPOSSIBLE, "it has begun anew since")
    if observed.own["resets"] != intent.original.get("resets", "0"):
        return Achieved("it was reset")
    return _step("reset", intent, precondition={"resets": observed.own["resets"]})


def _start_anew(kind: str) -> Callable[[Intent, Observed], Proposal]:
    def propose(intent: Intent, observed: Observed) -> Proposal:
        node = _node(observed)
        if node.rebooting:
            return Wait(5.0, "it begins anew")
        if node.boot_id != intent.boot_id:
            return Achieved("it has begun anew")
        return _step(kind, intent, precondition={"boot_id": node.boot_id})

    return propose


def _test_node(intent: Intent, observed: Observed) -> Proposal:
    if observed.own["tested"] == intent.original.get("tested", "0"):
        return _step("test", intent, precondition={"tested": observed.own["tested"]})
    if observed.own["failing"]:
        return Refusal(RefusalKind.IMPOSSIBLE, "the test has failed")
    return Achieved("the test has passed")


def _probe_node(intent: Intent, observed: Observed) -> Proposal:
    if _node(observed).answering is False:
        return Achieved("its daemon is silent")
    if observed.own["probed"]:
        return Wait(1.0, "nobody knows yet")
    return _step("probe", intent)


def _swap_in_job(intent: Intent, observed: Observed) -> Proposal:
    assert observed.job is not None
    if intent.node not in observed.job.nodes:
        return Achieved("it goes on without the node")
    return _step("swap", intent)


def _service(intent: Intent, observed: Observed) -> Proposal:
    return _step("ticket", intent)


_PROPOSALS: Mapping[IntentKind, Callable[[Intent, Observed], Proposal]] = {
    IntentKind.QUARANTINE: _quarantine,
    IntentKind.RELEASE: _release,
    IntentKind.FENCE: _fence,
    IntentKind.SIGNAL_JOB: _signal_job,
    IntentKind.MOVE_JOB: _move_job,
    IntentKind.CANCEL_JOB: _cancel_job,
    IntentKind.RESTORE_JOB: _restore_job,
    IntentKind.DRAW_SPARE: _draw_spare,
    IntentKind.RETURN_SPARE: _return_spare,
    IntentKind.RESET_DEVICE: _reset_device,
    IntentKind.REBOOT: _start_anew("reboot"),
    IntentKind.POWER_CYCLE: _start_anew("power_cycle"),
    IntentKind.TEST: _test_node,
    IntentKind.SERVICE: _service,
    IntentKind.PROBE: _probe_node,
    IntentKind.SWAP_IN_JOB: _swap_in_job,
    IntentKind.FOLLOW_JOB: lambda intent, observed: followed(intent, observed.job, observed.time),
}


def _recovered(started_step: StartedStep, observed: Observed) -> Recovery:
    """By what is seen; where nothing is to be seen, only an answer tells."""
    step = started_step.step
    if step.kind == "probe":
        # What may have been sent counts as sent.
        return Recovery.REDO if started_step.started is None else Recovery.DONE
    happened = _SEEN_TO_HAVE_HAPPENED.get(step.kind)
    if happened is None:
        answered = (
            started_step.report is not None and started_step.report.status is ReportStatus.DONE
        )
        return Recovery.DONE if answered else Recovery.UNKNOWN
    if happened(step, observed):
        return Recovery.DONE
    if started_step.report is not None and started_step.report.status is ReportStatus.RETRY:
        return Recovery.REDO
    if step.kind in NEVER_AGAIN:
        return Recovery.UNKNOWN
    started_at = started_step.started or 0.0
    return Recovery.REDO if observed.time - started_at > LATE_S else Recovery.UNKNOWN


def _is_ours(step: Step, observed: Observed) -> bool:
    return _node(observed).hold_state is HoldState.OURS


def _has_moved_on(step: Step, observed: Observed) -> bool:
    job = observed.job
    assert job is not None
    if step.precondition.get("died"):
        return not job.failed or str(job.restarts) != step.precondition["restarts"]
    if job.state in (JobState.FINISHED, JobState.MISSING):
        return True
    return job.state is not JobState.RUNNING or str(job.restarts) != step.precondition["restarts"]


# By kind of step; a signal and a ticket leave nothing that is seen.
_SEEN_TO_HAVE_HAPPENED: Mapping[str, Callable[[Step, Observed], bool]] = {
    "drain": _is_ours,
    "undrain": lambda step, observed: not _is_ours(step, observed),
    "power_off": lambda step, observed: observed.proven_dead,
    "exclude": lambda step, observed: observed.own.get("exclude") == step.arguments["nodes"],
    "keep_place": lambda step, observed: observed.own.get("place") == step.arguments["nodes"],
    "requeue": _has_moved_on,
    "cancel": lambda step, observed: (
        observed.job is not None and observed.job.state in (JobState.FINISHED, JobState.MISSING)
    ),
    "swap": lambda step, observed: (
        observed.job is not None and step.arguments["node"] not in observed.job.nodes
    ),
    "restore": lambda step, observed: (
        observed.own.get("exclude", step.arguments["exclude"]) == step.arguments["exclude"]
        and not observed.own.get("place")
    ),
    "draw": lambda step, observed: bool(observed.own["drawn"]),
    "return": lambda step, observed: not observed.own["drawn"],
    "reset": lambda step, observed: observed.own["resets"] != step.precondition["resets"],
    "reboot": lambda step, observed: _node(observed).boot_id != step.precondition["boot_id"],
    "power_cycle": lambda step, observed: _node(observed).boot_id != step.precondition["boot_id"],
    "test": lambda step, observed: observed.own["tested"] != step.precondition["tested"],
}
