"""What the stand-in's scheduler decides: which job runs where, by what daemons report. Pure.

Whole nodes, one job a node. A job that is moved starts again from its checkpoint, elsewhere, and
not before its old copy has ended.
"""

from collections.abc import Callable, Mapping, Sequence

from accelwatch_lab.cluster.stand_in.model import Job, Node, State
from accelwatch_lab.cluster.stand_in.wire import Copy, Orders, Report

# Between the end of a job's old copy and the earliest start of the next, as a scheduler's rounds.
ROUND_S = 1.0


class SchedulerState:
    """Nodes, jobs, and what should run on each node."""

    def __init__(self, names: Sequence[str], spares: Sequence[str], user: str) -> None:
        self.nodes = {name: Node(name=name, spare=name in spares) for name in names}
        self.jobs: dict[str, Job] = {}
        # What should run on each node.
        self.orders = dict.fromkeys(names, Orders())
        self.user = user

    def submit(self, count: int, now: float) -> str:
        """Accept a job over so many nodes; its id."""
        job = Job(id=str(len(self.jobs) + 1), count=count, submitted=float(int(now)))
        self.jobs[job.id] = job
        return job.id

    def cancel(self, job: str) -> None:
        """End a job and begin it no more; one that is not known is ended already."""
        existing = self.jobs.get(job)
        if existing is None or existing.state is State.STOPPED:
            return
        existing.over = True
        existing.state = State.STOPPING if existing.nodes else State.STOPPED

    def drain(self, node: str, reason: str, by: str, now: float) -> None:
        """A person drains a node, whoever held it."""
        record = self.nodes[node]
        record.reason, record.set_by, record.set_at, record.annotation = reason, by, now, None

    def resume(self, node: str) -> None:
        """It accepts work again."""
        record = self.nodes[node]
        record.reason, record.set_by, record.set_at, record.annotation = "", "", None, None
        record.down = False
        for job in self.jobs.values():
            job.avoided -= {node}

    def step(self, reports: Mapping[str, Report], off: Callable[[str], bool], now: float) -> None:
        """Go on with what daemons report; `reports` are of those that answer.

        `off` says whether nothing at all runs on a node.
        """
        for name, node in self.nodes.items():
            node.answering = name in reports
        for job in self.jobs.values():
            if job.state is State.RUNNING:
                self._check_exit(job, reports)
            if job.state is State.STOPPING and self._has_stopped(job, reports, off):
                self._finish_copy(job, now)
            if job.state is State.WAITING and now >= job.not_before:
                self._start_job(job, now)
        for name, current in self.orders.items():
            copies = self._copies(name)
            if copies != current.copies:
                self.orders[name] = Orders(number=current.number + 1, copies=copies)

    def _check_exit(self, job: Job, reports: Mapping[str, Report]) -> None:
        report = reports.get(job.nodes[0])
        if report is not None and job.copy.name in report.exited:
            job.state, job.over, job.failed = State.STOPPING, True, True

    def _has_stopped(
        self, job: Job, reports: Mapping[str, Report], off: Callable[[str], bool]
    ) -> bool:
        first = job.nodes[0]
        if self.nodes[first].down and off(first):
            return True
        report, orders = reports.get(first), self.orders[first]
        # A report from before the orders that end it says nothing: it may be about to begin.
        carried_out = report is not None and report.number == orders.number
        return carried_out and job.copy not in orders.copies

    def _finish_copy(self, job: Job, now: float) -> None:
        job.nodes = ()
        if job.over:
            job.state = State.STOPPED
            return
        job.state, job.restarts, job.not_before = State.WAITING, job.restarts + 1, now + ROUND_S

    def _start_job(self, job: Job, now: float) -> None:
        busy = {name for other in self.jobs.values() for name in other.nodes}
        free = [
            node.name
            for node in self.nodes.values()
            if node.answering
            and not (node.reason or node.down or (node.spare and not node.drawn))
            and node.name not in busy | job.avoided
        ]
        free.sort(key=lambda name: name not in job.liked)
        if len(free) >= job.count:
            job.nodes = tuple(sorted(free[: job.count]))
            job.state, job.started = State.RUNNING, now

    def _copies(self, node: str) -> tuple[Copy, ...]:
        if self.nodes[node].down:
            return ()
        runs = (job for job in self.jobs.values() if job.state is State.RUNNING)
        return tuple(job.copy for job in runs if job.nodes[0] == node)
