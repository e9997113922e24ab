"""The scheduler in memory for a night: jobs of many nodes, daemons that hang, nodes set down, a kill."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import JobState, Observed
from accelwatch.action.step import Committed, Proposal, Report, Step
from accelwatch.base.clock import Clock
from remediation.fake_scheduler import MESSAGE_S, START_AFTER_S, FakeAction, FakeScheduler, Job

# After which the scheduler finds out by itself that a daemon is silent: a third of SlurmdTimeout.
PING_S = 100.0
# After which it sets such a node down and begins its jobs anew: SlurmdTimeout.
DOWN_S = 300.0


@dataclass
class Work:
    """What a job wants and has got."""

    # Nodes that it needs.
    width: int
    needs_s: float
    # Seconds that it ran on nodes that were all well.
    done_s: float = 0.0
    ended_at: float | None = None


@dataclass
class Silence:
    """A daemon that does not answer any more."""

    since: float
    probed_at: float | None = None


@dataclass
class NightScheduler(FakeScheduler):
    """First come, first served; a job that needs many nodes is not overtaken."""

    work: dict[str, Work] = field(default_factory=dict)
    silent: dict[str, Silence] = field(default_factory=dict)

    def __init__(self, clock: Clock, nodes: Sequence[str], spares: Sequence[str]) -> None:
        FakeScheduler.__init__(self, clock, nodes, spares)
        self.work, self.silent = {}, {}

    def submit(self, id_: str, width: int, needs_s: float, *, interactive: bool = False) -> Job:
        job = self.add_job(id_, state=JobState.WAITING, interactive=interactive)
        job.may_start = self.clock.wall() + START_AFTER_S
        self.work[id_] = Work(width, needs_s)
        return job

    def hang(self, name: str) -> None:
        """The node's daemon is silent from now on; the scheduler does not know that yet."""
        self.silent[name] = Silence(self.clock.wall())

    def comes_back(self, name: str) -> None:
        """The node has begun anew and registers."""
        self.silent.pop(name, None)
        node = self.nodes[name]
        node.answering = node.powered = True
        node.down = False
        stem, _, number = node.boot_id.rpartition("-")
        node.boot_id, node.boot_time = f"{stem}-{int(number) + 1}", self.clock.wall()
        node.alive.clear()

    def end_job(self, job: Job, *, failed: bool) -> None:
        job.state, job.nodes, job.failed = JobState.FINISHED, (), failed
        self.work[job.key.id].ended_at = self.clock.wall()
        for node in self.nodes.values():
            node.alive.discard(job.key.id)

    def pass_time(self) -> None:
        booting = {name for name, node in self.nodes.items() if node.booting_until is not None}
        super().pass_time()
        for name in booting:
            if self.nodes[name].booting_until is None:
                self.silent.pop(name, None)
                self.nodes[name].down = False
        now = self.clock.wall()
        for name, silence in self.silent.items():
            self._find_out(name, silence, now)

    def _find_out(self, name: str, silence: Silence, now: float) -> None:
        node = self.nodes[name]
        if node.booting_until is not None:
            return
        probed = silence.probed_at is not None and now - silence.probed_at >= MESSAGE_S
        if probed or now - silence.since >= PING_S:
            node.answering = False
        if now - silence.since >= DOWN_S and not node.down:
            node.down = True
            for job in self.jobs.values():
                if name in job.nodes:
                    self._requeue(job, now)

    def _requeue(self, job: Job, now: float) -> None:
        """As Slurm does with the jobs of a node that it sets down."""
        for name in job.nodes:
            if name not in self.silent:
                self.nodes[name].alive.discard(job.key.id)
        job.state, job.nodes, job.may_start = JobState.WAITING, (), now + START_AFTER_S
        if job.interactive or not job.requeueable:
            self.end_job(job, failed=True)

    def _advance(self, job: Job, now: float) -> None:
        if job.state is JobState.COMPLETING:
            held = [self.nodes[name] for name in job.nodes]
            gone = [not node.powered or node.down or node.name not in self.silent for node in held]
            if all(gone):
                for node in held:
                    node.alive.discard(job.key.id)
                job.state, job.nodes, job.may_start = JobState.WAITING, (), now + START_AFTER_S
        elif _may_start(job, now) and not self._is_overtaking(job, now):
            self._start(job)

    def _is_overtaking(self, job: Job, now: float) -> bool:
        earlier = (one for one in self.jobs.values() if one.key.submitted < job.key.submitted)
        return any(_may_start(one, now) for one in earlier)

    def _start(self, job: Job) -> None:
        free = [name for name in self.nodes if self.is_free(name, job)]
        free.sort(key=lambda name: name not in job.reserved)
        width = self.work[job.key.id].width
        free = [name for name in free if self.nodes[name].answering]
        if len(free) < width:
            return
        job.nodes, job.state = tuple(sorted(free[:width])), JobState.RUNNING
        job.restarts += 1
        for name in job.nodes:
            self.nodes[name].alive.add(job.key.id)
        self.log("start", job.key.id)


def _may_start(job: Job, now: float) -> bool:
    return job.state is JobState.WAITING and job.may_start is not None and now >= job.may_start


class NightAction(FakeAction):
    """The action of a night's hubs; one of them is killed in the middle of an effect."""

    world: NightScheduler

    def __init__(self, world: NightScheduler) -> None:
        super().__init__(world)
        # Set when the next effect has happened; whoever wanted it is not answered any more.
        self.killing: asyncio.Event | None = None

    async def perform(self, step: Step, operation: Committed) -> Report:
        if self.killing is None or self.killing.is_set():
            return await super().perform(step, operation)
        self.performed.append((step, operation))
        self.apply(step, operation)
        self.killing.set()
        await asyncio.Event().wait()
        raise AssertionError("a hub that was killed goes on")

    def propose(self, intent: Intent, observed: Observed) -> Proposal:
        """As the usual one, but the list of spares does not say for whom one was drawn, as Slurm's."""
        if intent.kind is not IntentKind.RETURN_SPARE or not observed.own["drawn"]:
            return super().propose(intent, observed)
        arguments = {"node": intent.node, "spare": intent.spare}
        return Step(kind="return", arguments=arguments, precondition={}, text="return the spare")

    def apply(self, step: Step, operation: Committed) -> None:
        if step.kind != "probe":
            super().apply(step, operation)
            return
        name = step.arguments["node"]
        self.world.nodes[name].probed += 1
        self.world.log(step.kind, name, operation.operation)
        if name in self.world.silent:
            self.world.silent[name].probed_at = self.world.clock.wall()
