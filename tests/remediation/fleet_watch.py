"""A hub beside the fake scheduler: what it hears of the nodes, and an engine with the real decisions."""

import asyncio
from functools import partial
from pathlib import Path

from accelwatch.action.contract import Action
from accelwatch.action.observed import HoldState
from accelwatch.alerting.rules.document import JobPolicy, Mode, QuarantineLevel, When
from accelwatch.remediation.execution.engine import Engine
from accelwatch.remediation.execution.stop_file import StopFile
from accelwatch.remediation.policy.context.outcome import Note
from accelwatch.remediation.policy.guards.data_guard import FleetCoverage
from accelwatch.remediation.policy.state.case import Case, Limit, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged
from accelwatch.remediation.policy.state.world import NodeStatus
from accelwatch.remediation.policy.step.step import step
from accelwatch.remediation.settings import Budget, RemedySettings
from remediation.bench import NAME, Bench

POLICY = Policy(
    rule="nvidia.gpu.lost",
    mode=Mode.AUTO,
    level=QuarantineLevel.NODE,
    when=When.NOW,
    job=JobPolicy.REQUEUE,
    ladder=(Limit("reboot", 2), Limit("service")),
    passive_s=60.0,
)
SETTINGS = RemedySettings(ceiling="resume", budget=Budget(share=0.25, most=10, min_available=0.7))
REPORT_EVERY_S = 10.0
NODES = 12


class FleetWatch:
    """A fleet of which one node has lost a GPU until it has begun anew."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench([f"n{at:02d}" for at in range(NODES)])
        for node in self.bench.world.nodes.values():
            node.boot_id = f"{node.name}-1"
        self.folder = folder
        self.notes: list[Note] = []
        # By node: the boot in which it lost a GPU.
        self.bad: dict[str, str] = {}
        self.engine = self.new()

    def new(self, *others: tuple[str, Action]) -> Engine:
        """An engine that knows what the journal knows; `others` are actions besides the bench's."""
        bench = self.bench
        file = StopFile(self.folder / "STOP", bench.clock)
        file.start = file.check  # type: ignore[method-assign]
        return Engine(
            partial(step, settings=SETTINGS),
            {NAME: bench.action, **dict(others)},
            bench.journal.commit,
            bench.clock,
            file,
            notify=self.notes.extend,
        )

    def is_bad(self, name: str) -> bool:
        return self.bad.get(name) == self.bench.world.nodes[name].boot_id

    def case(self, name: str) -> CaseChanged:
        """What the hub says of a node's incident."""
        at = self.bench.clock.wall()
        known = Case(
            incident=f"i-{name}",
            policy=POLICY,
            since=at,
            evidence_at=at,
            open=self.is_bad(name),
            serial=f"board-{name}",
        )
        return CaseChanged(node=name, case=known)

    def fault(self, name: str) -> None:
        """A rule begins to fire on a node."""
        self.bad[name] = self.bench.world.nodes[name].boot_id
        self.engine.submit_changes([self.case(name)])

    def report(self) -> None:
        """What the hub hears of all nodes."""
        bench = self.bench
        bench.world.pass_time()
        now = bench.clock.wall()
        up = [node for node in bench.world.nodes.values() if node.answering]
        silent = len(bench.world.nodes) - len(up)
        coverage = FleetCoverage(
            time=now,
            monotonic=bench.clock.monotonic(),
            late_s=0.0,
            agents=len(bench.world.nodes),
            silent=silent,
        )
        statuses = [
            NodeStatus(
                node=node.name,
                time=now,
                healthy=not self.is_bad(node.name),
                generation=node.boot_id,
                boot_id=node.boot_id,
                host_name=node.name,
                serials={"0": f"board-{node.name}"},
                labels={"rack": "r1"},
                rack="r1",
            )
            for node in up
        ]
        self.engine.submit_observations([coverage, *statuses])
        self.engine.submit_changes(
            [self.case(name) for name in self.bad if bench.world.nodes[name].answering]
        )

    async def watch(self, seconds: float) -> None:
        """Begin, hear for so long, and end."""
        await self.engine.start(self.bench.journal.states())
        until = self.bench.clock.wall() + seconds
        while self.bench.clock.wall() < until:
            self.report()
            await asyncio.sleep(REPORT_EVERY_S)
        await self.engine.stop()

    def run(self, seconds: float) -> None:
        self.bench.loop.run_until_complete(self.watch(seconds))

    def held(self) -> list[str]:
        """Nodes that bear our mark."""
        nodes = self.bench.world.nodes
        return [name for name in nodes if self.bench.world.see(name).hold_state is HoldState.OURS]
