"""What the stand-in's scheduler knows and decides: nodes, jobs, and what a hook asks of them. Pure.

Whole nodes, one job a node. A job that is told to move begins again from its checkpoint, elsewhere, and
not before its old copy is seen to be gone.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

from accelwatch_lab.cluster.stand_in.hook_documents import Call, HookReply, OwnerAnnotation
from accelwatch_lab.cluster.stand_in.wire import Copy, Orders, Report

# Between the end of a job's old copy and the earliest begin of the next, as a scheduler's rounds.
ROUND_S = 1.0
_BY = "accelwatch"


class State(StrEnum):
    """How far a job is, in the words of an observe hook."""

    WAITING = "waiting"
    RUNNING = "running"
    STOPPING = "ending"
    STOPPED = "ended"


class Node(msgspec.Struct, kw_only=True):
    """One node."""

    name: str
    # Jobs come to it only while it is drawn.
    spare: bool = False
    drawn: bool = False
    # Why it takes no work; empty when it does.
    reason: str = ""
    set_by: str = ""
    # Unix seconds.
    set_at: float | None = None
    annotation: OwnerAnnotation | None = None
    # Its power was taken: nothing is begun there.
    down: bool = False
    answering: bool = False


class Job(msgspec.Struct, kw_only=True):
    """One job."""

    id: str
    # Nodes that it needs.
    count: int
    # Unix seconds.
    submitted: float
    state: State = State.WAITING
    nodes: tuple[str, ...] = ()
    restarts: int = 0
    # Unix seconds.
    started: float | None = None
    avoided: frozenset[str] = frozenset()
    liked: tuple[str, ...] = ()
    # Unix seconds.
    not_before: float = 0.0
    # Whether it is not restarted when its copy is gone.
    over: bool = False
    failed: bool = False

    @property
    def copy(self) -> Copy:
        """What runs of it, or should."""
        return Copy(job=self.id, restart=self.restarts, nodes=self.nodes)


class SchedulerState:
    """All of it."""

    def __init__(self, names: Sequence[str], spares: Sequence[str], user: str) -> None:
        self.nodes = {name: Node(name=name, spare=name in spares) for name in names}
        self.jobs: dict[str, Job] = {}
        # What should run on each node.
        self.orders = dict.fromkeys(names, Orders())
        self._user = user
        self._replies: dict[str, HookReply] = {}
        self._greatest = 0

    def submit(self, count: int, now: float) -> str:
        """Take up a job over so many nodes; its id."""
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
        """A person takes a node out, whoever had it."""
        record = self.nodes[node]
        record.reason, record.set_by, record.set_at, record.annotation = reason, by, now, None

    def resume(self, node: str) -> None:
        """It takes work again."""
        record = self.nodes[node]
        record.reason, record.set_by, record.set_at, record.annotation = "", "", None, None
        record.down = False
        for job in self.jobs.values():
            job.avoided -= {node}

    def refusal(self, call: Call) -> HookReply | None:
        """Why a hook that acts is not carried out at all."""
        if call.fence < self._greatest:
            text = f"an engine with token {self._greatest} is in charge, yours is {call.fence}"
            return HookReply(status="refused", message=text)
        if call.entity.node not in self.nodes:
            return HookReply(status="refused", message=f"there is no node {call.entity.node}")
        if call.hook not in _HOOKS:
            return HookReply(status="refused", message=f"there is no hook {call.hook}")
        if call.hook == "fence" and not self._is_theirs(call):
            return HookReply(status="refused", message="only a node that you hold is fenced")
        return None

    def act(self, call: Call, now: float) -> HookReply:
        """Carry a hook out; the same operation is done once and answered the same again."""
        if refusal := self.refusal(call):
            return refusal
        if call.dry_run:
            return HookReply(status="ok", message=f"{call.hook} would be done")
        self._greatest = call.fence
        earlier = self._replies.get(call.operation_id)
        if earlier is not None:
            return earlier
        reply = _HOOKS[call.hook](self, call, now)
        if call.operation_id and reply.status == "ok":
            self._replies[call.operation_id] = reply
        return reply

    def _is_theirs(self, call: Call) -> bool:
        annotation = self.nodes[call.entity.node].annotation
        return annotation is not None and annotation.incident == call.incident.id

    def _quarantine(self, call: Call, now: float) -> HookReply:
        node = self.nodes[call.entity.node]
        if node.reason and node.annotation is None:
            return HookReply(status="refused", message=f"{node.set_by} holds it: {node.reason}")
        node.reason = f"accelwatch:{call.incident.id}:{call.incident.rule} {call.incident.reason}"
        node.set_by, node.set_at = _BY, now
        node.annotation = OwnerAnnotation(incident=call.incident.id, token=call.fence)
        return HookReply(status="ok", message="takes no new work")

    def _release(self, call: Call, _: float) -> HookReply:
        if self._is_theirs(call):
            self.resume(call.entity.node)
        return HookReply(status="ok")

    def _fence(self, call: Call, _: float) -> HookReply:
        self.nodes[call.entity.node].down = True
        return HookReply(status="ok", message="its power was taken")

    def _move(self, call: Call, _: float) -> HookReply:
        requested = call.jobs[0] if call.jobs else None
        job = None if requested is None else self.jobs.get(requested.id)
        if job is None or requested is None or job.state is State.STOPPED:
            return HookReply(status="refused", message="the job does not run")
        if requested.restart_count != job.restarts:
            return HookReply(status="refused", message=f"it has restarted {job.restarts} times")
        job.avoided |= {call.entity.node, *call.bad_nodes}
        job.liked = call.run_on
        job.state = State.STOPPING if job.nodes else State.WAITING
        return HookReply(status="ok", message="restarts elsewhere")

    def _draw(self, call: Call, _: float) -> HookReply:
        return self._drawn(call.spare, drawn=True)

    def _return(self, call: Call, _: float) -> HookReply:
        return self._drawn(call.spare, drawn=False)

    def _drawn(self, name: str, *, drawn: bool) -> HookReply:
        node = self.nodes.get(name)
        if node is None or not node.spare:
            return HookReply(status="refused", message=f"{name} is not a spare")
        node.drawn = drawn
        return HookReply(status="ok")

    def step(self, reports: Mapping[str, Report], off: Callable[[str], bool], now: float) -> None:
        """Go on with what daemons report; `reports` are of those that answer.

        `off` says whether nothing at all runs on a node.
        """
        for name, node in self.nodes.items():
            node.answering = name in reports
        for job in self.jobs.values():
            if job.state is State.RUNNING:
                self._check_exit(job, reports)
            if job.state is State.STOPPING and self._is_gone(job, reports, off):
                self._finish_copy(job, now)
            if job.state is State.WAITING and now >= job.not_before:
                self._start_job(job, now)
        for name, current in self.orders.items():
            copies = self._copies(name)
            if copies != current.copies:
                self.orders[name] = Orders(number=current.number + 1, copies=copies)

    def _check_exit(self, job: Job, reports: Mapping[str, Report]) -> None:
        report = reports.get(job.nodes[0])
        if report is not None and job.copy.name in report.ended:
            job.state, job.over, job.failed = State.STOPPING, True, True

    def _is_gone(self, job: Job, reports: Mapping[str, Report], off: Callable[[str], bool]) -> bool:
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

    def node_shown(self, name: str) -> dict[str, object]:
        """A node in the words of an observe hook."""
        node = self.nodes[name]
        status = "ours" if node.annotation else "foreign" if node.reason else "open"
        jobs = [
            {"id": job.id, "submitted": job.submitted}
            for job in self.jobs.values()
            if name in job.nodes
        ]
        return {
            "name": name,
            "standing": status,
            "answering": node.answering,
            "mark": node.annotation,
            "reason": node.reason,
            "set_by": node.set_by,
            "set_at": node.set_at,
            "down": node.down,
            "jobs": jobs,
        }

    def job_shown(self, job: str) -> dict[str, object]:
        """A job in the words of an observe hook."""
        existing = self.jobs.get(job)
        if existing is None:
            return {"id": job, "state": "missing"}
        return {
            "id": existing.id,
            "state": existing.state,
            "submitted": existing.submitted,
            "user": self._user,
            "nodes": existing.nodes,
            "restarts": existing.restarts,
            "started": existing.started,
            "requeueable": True,
            "failed": existing.failed,
        }

    def observe(self, call: Call, off: Callable[[str], bool]) -> dict[str, object]:
        """The answer of the observe hook. Raises KeyError for a node that there is not."""
        name = call.entity.node
        shown: dict[str, object] = {"node": self.node_shown(name)}
        shown["proven_dead"] = self.nodes[name].down and off(name)
        if call.jobs:
            shown["job"] = self.job_shown(call.jobs[0].id)
        spare = self.nodes.get(call.spare)
        if spare is not None and call.wanted in ("draw_spare", "return_spare"):
            shown["achieved"] = spare.drawn is (call.wanted == "draw_spare")
        return shown


_HOOKS: Mapping[str, Callable[[SchedulerState, Call, float], HookReply]] = {
    "quarantine": SchedulerState._quarantine,
    "release": SchedulerState._release,
    "fence": SchedulerState._fence,
    "move_job": SchedulerState._move,
    "draw_spare": SchedulerState._draw,
    "return_spare": SchedulerState._return,
}
HOOKS = tuple(_HOOKS)
