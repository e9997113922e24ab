"""The jobs of a night: new ones come as old ones end, so that the cluster is nearly full."""

import random

from accelwatch.action.observed import JobState
from night.machines import Machines
from night.scheduler import NightScheduler

WIDTHS = (1, 1, 1, 2, 2, 4, 4)
# Nodes that jobs use or wait for.
WANTED = 22
SHORTEST_S, LONGEST_S = 2400.0, 9000.0


class Jobs:
    """Who submits them, and how they get on."""

    def __init__(self, world: NightScheduler, machines: Machines, rng: random.Random) -> None:
        self._world = world
        self._machines = machines
        self._rng = rng
        self._number = 0

    def submit(self, width: int, *, interactive: bool = False) -> str:
        self._number += 1
        id_ = str(4700 + self._number)
        needs_s = self._rng.uniform(SHORTEST_S, LONGEST_S)
        self._world.submit(id_, width, needs_s, interactive=interactive)
        return id_

    def work(self) -> None:
        """A second of every job."""
        wanted, interactive = 0, False
        for id_, job in self._world.jobs.items():
            work = self._world.work[id_]
            if job.state is JobState.FINISHED:
                continue
            wanted += work.width
            interactive = interactive or job.interactive
            if job.state is JobState.RUNNING and self.is_productive(id_):
                work.done_s += 1.0
                if work.done_s >= work.needs_s:
                    self._world.end_job(job, failed=False)
        if not interactive:
            self.submit(1, interactive=True)
        elif wanted < WANTED:
            self.submit(self._rng.choice(WIDTHS))

    def is_productive(self, id_: str) -> bool:
        """Whether it runs on nodes that are all well and there."""
        job = self._world.jobs[id_]
        nodes = self._world.nodes
        return job.state is JobState.RUNNING and all(
            self._machines.all[name].is_well
            and nodes[name].powered
            and nodes[name].booting_until is None
            and name not in self._world.silent
            for name in job.nodes
        )
