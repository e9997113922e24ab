"""A fault in a job of sixty nodes, and what our own engine makes of it: decisions, journal, pursuits.

Only the scheduler is a stand-in and the clock is not real. What an engine leaves to a person is done by
one, as slowly as without us.
"""

import asyncio
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from accelwatch.action.observed import JobState
from accelwatch.alerting.rules.document import JobPolicy, Mode, QuarantineLevel, When
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.engine import Engine
from accelwatch.remediation.execution.stop_file import StopFile
from accelwatch.remediation.policy.context.outcome import Loudness, Note
from accelwatch.remediation.policy.guards.data_guard import FleetCoverage
from accelwatch.remediation.policy.state.case import Case, Limit, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged
from accelwatch.remediation.policy.state.world import NodeStatus
from accelwatch.remediation.policy.step.step import step
from accelwatch.remediation.settings import RemedySettings, SpareSettings
from remediation.bench import NAME, Bench
from remediation.fake_scheduler import FakeScheduler, Job
from support.remediation.recovery_faults import DIES_WITHIN_S, FAILS_AGAIN_S, NODES, WIDTH, Fault
from support.remediation.recovery_people import SITE, People, Recovered, by_hand

NAMES = [f"n{at:02d}" for at in range(NODES)]
SPARES = tuple(NAMES[WIDTH:])
POLICY = Policy(
    rule="site.gpu.fatal",
    mode=Mode.AUTO,
    level=QuarantineLevel.NODE,
    when=When.NOW,
    job=JobPolicy.REQUEUE,
    draw_spare=True,
    ladder=(Limit("reboot", 2), Limit("service")),
    passive_s=600.0,
)
# Every bound as it is shipped.
SETTINGS = RemedySettings(ceiling="resume", spares=SpareSettings(nodes=SPARES))
# After that an engine that has just begun may act.
LOOKED_AROUND_S = 240.0
REPORT_EVERY_S = 5.0
# How long the engine may take from the incident until the job runs, before a person is called.
PATIENCE_S = 600.0
# How long a rule goes on firing on a node that has nothing.
WRONG_S = 600.0


class WideScheduler(FakeScheduler):
    """One whose jobs need many nodes."""

    def __init__(self, clock: Clock, nodes: Sequence[str], spares: Sequence[str]) -> None:
        super().__init__(clock, nodes, spares)
        self.width = len(nodes)

    def _advance(self, job: Job, now: float) -> None:
        if job.state is not JobState.WAITING:
            super()._advance(job, now)
            return
        free = [name for name in self.nodes if self.is_free(name, job)]
        if job.may_start is None or now < job.may_start or len(free) < self.width:
            return
        kept = sorted(free, key=lambda name: name not in job.reserved)
        job.nodes, job.state = tuple(sorted(kept[: self.width])), JobState.RUNNING
        job.restarts += 1
        for name in job.nodes:
            self.nodes[name].alive.add(job.key.id)
        self.log("start", job.key.id)


class Recovery:
    """One fault on the first node of the job, and the way to a run that becomes productive."""

    def __init__(
        self,
        folder: Path,
        fault: Fault,
        localised: float,
        rng: random.Random,
        people: People = SITE,
    ) -> None:
        """`localised` is the probability that evidence names the node that is broken."""
        self.fault = fault
        self.localised = localised
        self.rng = rng
        self.people = people
        self.bench = Bench()
        self.world = WideScheduler(self.bench.clock, NAMES[:WIDTH], SPARES)
        self.bench.world = self.bench.action.world = self.world
        for node in self.world.nodes.values():
            node.boot_id = f"{node.name}-1"
        self.broken = NAMES[0]
        self.boot = self.world.nodes[self.broken].boot_id
        self.job = self.world.add_job("17", *NAMES[:WIDTH])
        self.ran_on = self.job.nodes
        self.cases: dict[str, Case] = {}
        self.notes: list[Note] = []
        self.by_person = False
        file = StopFile(folder / "STOP", self.bench.clock)
        file.start = file.check  # type: ignore[method-assign]
        self.engine = Engine(
            partial(step, settings=SETTINGS),
            {NAME: self.bench.action},
            self.bench.journal.commit,
            self.bench.clock,
            file,
            notify=self.notes.extend,
        )

    def run(self) -> Recovered:
        """From the onset to the run that becomes productive."""
        try:
            return self.bench.loop.run_until_complete(self._play())
        finally:
            self.bench.loop.close()

    async def _play(self) -> Recovered:
        await self.engine.start(())
        reporting = asyncio.create_task(self._report())
        await asyncio.sleep(LOOKED_AROUND_S)
        started = self.bench.clock.wall()
        runs = 0
        while True:
            self._break()
            runs += await self._seen()
            if self.by_person:
                break
            if not self._is_broken() or self.rng.random() >= self.fault.again:
                break
            await asyncio.sleep(self.rng.uniform(*FAILS_AGAIN_S))
        seconds = self.bench.clock.wall() - started
        reporting.cancel()
        await self.engine.stop()
        if self.by_person:
            after = by_hand(self.rng, self.people)
            return Recovered(seconds + after.seconds, runs + after.runs)
        return Recovered(seconds, runs)

    def _is_broken(self) -> bool:
        """Whether what is broken is among the nodes of the job."""
        same_boot = self.world.nodes[self.broken].boot_id == self.boot
        return same_boot and self.broken in self.job.nodes

    def _break(self) -> None:
        """The job hangs, or its end is near."""
        self.ran_on = self.job.nodes
        if self.fault.silent:
            self.world.nodes[self.broken].answering = False
        if self.rng.random() < self.fault.dies:
            restarts = self.job.restarts
            self.bench.at(self.rng.uniform(0.0, DIES_WITHIN_S), lambda: self._die(restarts))

    def _die(self, restarts: int) -> None:
        if self.job.state is JobState.RUNNING and self.job.restarts == restarts:
            self.job.state, self.job.nodes, self.job.failed = JobState.FINISHED, (), True
            for node in self.world.nodes.values():
                node.alive.discard(self.job.key.id)

    async def _seen(self) -> int:
        """A rule fires somewhere; runs that were begun before it is a person's turn."""
        restarts = self.job.restarts
        await asyncio.sleep(self.rng.uniform(*self.fault.seen_s))
        node = self._named()
        if node is None:
            self.by_person = True
            return 0
        count = len(self.notes)
        self._fire(node)
        for _ in range(int(PATIENCE_S)):
            await asyncio.sleep(1.0)
            if self.job.restarts > restarts and self.job.state is JobState.RUNNING:
                return self.job.restarts - restarts
            if any(note.loudness is Loudness.ALERT for note in self.notes[count:]):
                break
        self.by_person = True
        return 0

    def _named(self) -> str | None:
        """The node that the evidence names: the right one, another one of the job, or none."""
        if self.rng.random() < self.localised:
            return self.broken
        others = [name for name in self.ran_on if name != self.broken]
        return self.rng.choice(others) if self.rng.random() < 0.5 else None

    def _fire(self, node: str) -> None:
        now = self.bench.clock.wall()
        known = self.cases.get(node)
        case = Case(
            incident=f"i-{node}",
            policy=POLICY,
            since=now if known is None else known.since,
            evidence_at=now,
            serial=f"board-{node}",
        )
        self.cases[node] = case
        self.engine.submit_changes([CaseChanged(node=node, case=case)])
        if node != self.broken:
            self.bench.at(WRONG_S, lambda: self._clear(node))

    def _clear(self, node: str) -> None:
        case = self.cases.pop(node)
        closed = Case(
            incident=case.incident,
            policy=POLICY,
            since=case.since,
            evidence_at=case.evidence_at,
            open=False,
        )
        self.engine.submit_changes([CaseChanged(node=node, case=closed)])

    async def _report(self) -> None:
        while True:
            self.world.pass_time()
            if self.world.nodes[self.broken].boot_id != self.boot and self.broken in self.cases:
                self._clear(self.broken)
            self._report_once()
            await asyncio.sleep(REPORT_EVERY_S)

    def _report_once(self) -> None:
        now = self.bench.clock.wall()
        up = [node for node in self.world.nodes.values() if node.answering]
        coverage = FleetCoverage(
            time=now,
            monotonic=self.bench.clock.monotonic(),
            late_s=0.0,
            agents=NODES,
            silent=NODES - len(up),
        )
        statuses = [
            NodeStatus(
                node=node.name,
                time=now,
                healthy=node.name not in self.cases,
                generation=node.boot_id,
                boot_id=node.boot_id,
                host_name=node.name,
                serials={"0": f"board-{node.name}"},
                labels={"rack": f"r{node.name[1]}"},
                rack=f"r{node.name[1]}",
                model="B200",
            )
            for node in up
        ]
        self.engine.submit_observations([coverage, *statuses])
