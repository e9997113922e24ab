"""A night played: faults, jobs, a person, hubs that end and begin, and what came of each of them."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

from accelwatch.action.observed import HoldState, JobState
from accelwatch.alerting.incidents.journal.audit import Audit, audit_journal
from accelwatch.alerting.incidents.journal.opening import read_journal
from accelwatch.remediation.settings import ActionSettings, Budget, RemedySettings, SpareSettings
from night import morning
from night.admin import Admin
from night.hub import Hub, Phone, surroundings
from night.jobs import Jobs
from night.machines import AGENT_EVERY_S, Machines
from night.observer import Observer
from night.scenario import NIGHT_S, Restart, Scenario
from night.scheduler import NightAction, NightScheduler
from night.strikes import strike
from remediation.virtual_time import START, LoopClock, VirtualLoop

RACKS = 3
NODES = tuple(f"n{at:02d}" for at in range(32))
SPARES = tuple(f"s{at}" for at in range(8))
# As a site sets them that has a fault every twelve minutes; the other bounds are as shipped.
SETTINGS = RemedySettings(
    ceiling="resume",
    actions=(ActionSettings(type="fake"),),
    budget=Budget(
        share=0.5,
        most=14,
        min_available=0.5,
        per_hour=20,
        spacing_s=20.0,
    ),
    spares=SpareSettings(nodes=SPARES, alike=()),
)
# How long no hub runs, or no controller answers, at a restart.
RESTART_S = 20.0


class Night:
    """One night."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario = scenario
        self.folder = folder
        self.rng = random.Random(scenario.seed)
        # Of the hubs: their jitter and their ids.
        self._luck = random.Random(0)
        self.loop = VirtualLoop()
        self.clock = LoopClock(self.loop)
        self.world = NightScheduler(self.clock, NODES, SPARES)
        self.machines = Machines(self.world, RACKS)
        self.action = NightAction(self.world)
        self.phone = Phone(self.clock)
        self.jobs = Jobs(self.world, self.machines, self.rng)
        self.observer = Observer(self)
        self.admin = Admin(self)
        self.hub: Hub | None = None
        self.audit: Audit | None = None
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._reported_at = 0.0

    @property
    def now(self) -> float:
        """Seconds since the night began."""
        return self.clock.wall() - START

    def at(self, time: float, happen: Callable[[], None]) -> None:
        """Let something happen at a moment of the night."""
        self._later.append((time, happen))

    def after(self, seconds: float, happen: Callable[[], None]) -> None:
        """Let something happen so many seconds from now."""
        self.at(self.now + seconds, happen)

    def play(self) -> "Night":
        """From evening to morning."""
        with surroundings(self.action, self.phone, self._luck, self.observer.hub_errs):
            try:
                self.loop.run_until_complete(self._play())
            finally:
                self.loop.close()
        self.audit = audit_journal(read_journal(self.folder), self.clock.wall())
        return self

    async def _play(self) -> None:
        for fault in self.scenario.faults:
            self.admin.prepares(fault)
            self.at(fault.at, lambda fault=fault: strike(self, fault))  # type: ignore[misc]
        restarts = list(self.scenario.restarts)
        await self._start_hub()
        while self.now < NIGHT_S:
            await asyncio.sleep(1.0)
            self._second()
            if restarts and self.now >= restarts[0][0]:
                await self._restart(restarts.pop(0)[1])
            elif self.action.killing is not None and self.action.killing.is_set():
                await self._killed()
        assert self.hub is not None
        morning.look_over(self, self.hub)
        await self.hub.stop()

    def _second(self) -> None:
        due = sorted((one for one in self._later if one[0] <= self.now), key=lambda one: one[0])
        self._later = [one for one in self._later if one[0] > self.now]
        for _, happen in due:
            happen()
        self.world.pass_time()
        if self.hub is not None and self.now - self._reported_at >= AGENT_EVERY_S:
            self._reported_at = self.now
            self.machines.report(self.hub.fleet)
        self.jobs.work()
        self.observer.look()

    async def _start_hub(self) -> None:
        self.hub = Hub(
            self.folder,
            self.clock,
            self.machines,
            SETTINGS,
            policy=self.observer.step,
            jitter=self._luck.random,
        )
        await self.hub.start()

    async def _restart(self, what: Restart) -> None:
        match what:
            case Restart.CONTROLLER:
                self.world.unavailable = "slurmctld is restarted"
                self.after(RESTART_S, self._controller_answers)
            case Restart.HUB_KILLED:
                self.action.killing = asyncio.Event()
            case Restart.HUB:
                assert self.hub is not None
                await self.hub.stop()
                await self._without_hub()

    def _controller_answers(self) -> None:
        self.world.unavailable = ""

    async def _killed(self) -> None:
        assert self.hub is not None
        self.action.killing = None
        await self.hub.kill()
        await self._without_hub()

    async def _without_hub(self) -> None:
        self.hub = None
        for _ in range(int(RESTART_S)):
            await asyncio.sleep(1.0)
            self._second()
        await self._start_hub()

    def free_nodes(self) -> list[str]:
        """Nodes with which nothing is wrong; only those without a job, if there are any."""
        busy = {name for job in self.world.jobs.values() for name in job.nodes}
        well = [name for name in NODES if self.is_untouched(name)]
        return [name for name in well if name not in busy] or well

    def is_usable(self, name: str) -> bool:
        """Whether a job would run on it."""
        seen = self.world.see(name)
        up = seen.hold_state is HoldState.OPEN and name not in self.world.silent
        return up and self.world.nodes[name].powered and self.machines.all[name].is_well

    def is_untouched(self, name: str) -> bool:
        """Whether nothing is wrong with a node, and nothing was lately."""
        return self.is_usable(name) and not self.observer.was_struck(name)

    def running(self) -> list[str]:
        """Jobs that run on nodes that are all well, in the order of their submission."""
        return [
            id_
            for id_, job in self.world.jobs.items()
            if job.state is JobState.RUNNING and all(map(self.is_untouched, job.nodes))
        ]
