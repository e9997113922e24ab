"""What the stand-in's scheduler knows and decides: nodes, jobs, and what a hook asks of them. Pure.

Whole nodes, one job a node. A job that is told to move begins again from its checkpoint, elsewhere, and
not before its old copy is seen to be gone.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

from accelwatch.lab.stand_in.wire import Copy, Orders, Report

ROUND_S = 1.0
"""Between the end of a job's old copy and the earliest begin of the next, as a scheduler's rounds."""
_BY = "accelwatch"


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """By what a hub knows its own hold again."""

    incident: str
    token: int


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """For which a hook is called."""

    id: str
    rule: str = ""
    reason: str = ""


class Entity(msgspec.Struct, frozen=True, kw_only=True):
    """Whom it is about."""

    node: str


class JobAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it was seen when the call was made."""

    id: str
    restart_count: int | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook is given, as far as this one needs it: docs/actions/script.md."""

    hook: str
    incident: Incident
    entity: Entity
    wanted: str = ""
    operation_id: str = ""
    fence: int = 0
    dry_run: bool = False
    jobs: tuple[JobAsked, ...] = ()
    bad_nodes: tuple[str, ...] = ()
    spare: str = ""
    run_on: tuple[str, ...] = ()


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A hook's answer."""

    status: str
    message: str = ""


class State(StrEnum):
    """How far a job is, in the words of an observe hook."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDING = "ending"
    ENDED = "ended"


class Node(msgspec.Struct, kw_only=True):
    """One node."""

    name: str
    spare: bool = False
    """Jobs come to it only while it is drawn."""
    drawn: bool = False
    reason: str = ""
    """Why it takes no work; empty when it does."""
    set_by: str = ""
    set_at: float | None = None
    """Unix seconds."""
    mark: Mark | None = None
    down: bool = False
    """Its power was taken: nothing is begun there."""
    answering: bool = False


class Job(msgspec.Struct, kw_only=True):
    """One job."""

    id: str
    count: int
    """Nodes that it needs."""
    submitted: float
    """Unix seconds."""
    state: State = State.WAITING
    nodes: tuple[str, ...] = ()
    restarts: int = 0
    started: float | None = None
    """Unix seconds."""
    avoided: frozenset[str] = frozenset()
    liked: tuple[str, ...] = ()
    not_before: float = 0.0
    """Unix seconds."""
    over: bool = False
    """Whether it is not begun again when its copy is gone."""
    failed: bool = False

    @property
    def copy(self) -> Copy:
        """What runs of it, or should."""
        return Copy(job=self.id, restart=self.restarts, nodes=self.nodes)


class Books:
    """All of it."""

    def __init__(self, names: Sequence[str], spares: Sequence[str], user: str) -> None:
        self.nodes = {name: Node(name=name, spare=name in spares) for name in names}
        self.jobs: dict[str, Job] = {}
        self.orders = dict.fromkeys(names, Orders())
        """What should run on each node."""
        self._user = user
        self._done: dict[str, Said] = {}
        self._greatest = 0

    def submit(self, count: int, now: float) -> str:
        """Take up a job over so many nodes; its id."""
        job = Job(id=str(len(self.jobs) + 1), count=count, submitted=float(int(now)))
        self.jobs[job.id] = job
        return job.id

    def cancel(self, job: str) -> None:
        """End a job and begin it no more; one that is not known is ended already."""
        known = self.jobs.get(job)
        if known is None or known.state is State.ENDED:
            return
        known.over = True
        known.state = State.ENDING if known.nodes else State.ENDED

    def drain(self, node: str, reason: str, by: str, now: float) -> None:
        """A person takes a node out, whoever had it."""
        held = self.nodes[node]
        held.reason, held.set_by, held.set_at, held.mark = reason, by, now, None

    def resume(self, node: str) -> None:
        """It takes work again."""
        held = self.nodes[node]
        held.reason, held.set_by, held.set_at, held.mark = "", "", None, None
        held.down = False
        for job in self.jobs.values():
            job.avoided -= {node}

    def refusal(self, call: Call) -> Said | None:
        """Why a hook that acts is not carried out at all."""
        if call.fence < self._greatest:
            text = f"an engine with token {self._greatest} is in charge, yours is {call.fence}"
            return Said(status="refused", message=text)
        if call.entity.node not in self.nodes:
            return Said(status="refused", message=f"there is no node {call.entity.node}")
        if call.hook not in _HOOKS:
            return Said(status="refused", message=f"there is no hook {call.hook}")
        if call.hook == "fence" and not self._is_theirs(call):
            return Said(status="refused", message="only a node that you hold is fenced")
        return None

    def act(self, call: Call, now: float) -> Said:
        """Carry a hook out; the same operation is done once and answered the same again."""
        if refusal := self.refusal(call):
            return refusal
        if call.dry_run:
            return Said(status="ok", message=f"{call.hook} would be done")
        self._greatest = call.fence
        done = self._done.get(call.operation_id)
        if done is not None:
            return done
        said = _HOOKS[call.hook](self, call, now)
        if call.operation_id and said.status == "ok":
            self._done[call.operation_id] = said
        return said

    def _is_theirs(self, call: Call) -> bool:
        mark = self.nodes[call.entity.node].mark
        return mark is not None and mark.incident == call.incident.id

    def _quarantine(self, call: Call, now: float) -> Said:
        node = self.nodes[call.entity.node]
        if node.reason and node.mark is None:
            return Said(status="refused", message=f"{node.set_by} holds it: {node.reason}")
        node.reason = f"accelwatch:{call.incident.id}:{call.incident.rule} {call.incident.reason}"
        node.set_by, node.set_at = _BY, now
        node.mark = Mark(incident=call.incident.id, token=call.fence)
        return Said(status="ok", message="takes no new work")

    def _release(self, call: Call, _: float) -> Said:
        if self._is_theirs(call):
            self.resume(call.entity.node)
        return Said(status="ok")

    def _fence(self, call: Call, _: float) -> Said:
        self.nodes[call.entity.node].down = True
        return Said(status="ok", message="its power was taken")

    def _move(self, call: Call, _: float) -> Said:
        asked = call.jobs[0] if call.jobs else None
        job = None if asked is None else self.jobs.get(asked.id)
        if job is None or asked is None or job.state is State.ENDED:
            return Said(status="refused", message="the job does not run")
        if asked.restart_count != job.restarts:
            return Said(status="refused", message=f"it has begun again {job.restarts} times")
        job.avoided |= {call.entity.node, *call.bad_nodes}
        job.liked = call.run_on
        job.state = State.ENDING if job.nodes else State.WAITING
        return Said(status="ok", message="begins again elsewhere")

    def _draw(self, call: Call, _: float) -> Said:
        return self._drawn(call.spare, drawn=True)

    def _return(self, call: Call, _: float) -> Said:
        return self._drawn(call.spare, drawn=False)

    def _drawn(self, name: str, *, drawn: bool) -> Said:
        node = self.nodes.get(name)
        if node is None or not node.spare:
            return Said(status="refused", message=f"{name} is not a spare")
        node.drawn = drawn
        return Said(status="ok")

    def step(self, reports: Mapping[str, Report], off: Callable[[str], bool], now: float) -> None:
        """Go on with what daemons report; `reports` are of those that answer.

        `off` says whether nothing at all runs on a node.
        """
        for name, node in self.nodes.items():
            node.answering = name in reports
        for job in self.jobs.values():
            if job.state is State.RUNNING:
                self._look_after(job, reports)
            if job.state is State.ENDING and self._is_gone(job, reports, off):
                self._ended(job, now)
            if job.state is State.WAITING and now >= job.not_before:
                self._begin(job, now)
        for name, known in self.orders.items():
            copies = self._copies(name)
            if copies != known.copies:
                self.orders[name] = Orders(number=known.number + 1, copies=copies)

    def _look_after(self, job: Job, reports: Mapping[str, Report]) -> None:
        report = reports.get(job.nodes[0])
        if report is not None and job.copy.name in report.ended:
            job.state, job.over, job.failed = State.ENDING, True, True

    def _is_gone(self, job: Job, reports: Mapping[str, Report], off: Callable[[str], bool]) -> bool:
        first = job.nodes[0]
        if self.nodes[first].down and off(first):
            return True
        report, orders = reports.get(first), self.orders[first]
        # A report from before the orders that end it says nothing: it may be about to begin.
        carried_out = report is not None and report.number == orders.number
        return carried_out and job.copy not in orders.copies

    def _ended(self, job: Job, now: float) -> None:
        job.nodes = ()
        if job.over:
            job.state = State.ENDED
            return
        job.state, job.restarts, job.not_before = State.WAITING, job.restarts + 1, now + ROUND_S

    def _begin(self, job: Job, now: float) -> None:
        busy = {name for one in self.jobs.values() for name in one.nodes}
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
        standing = "ours" if node.mark else "foreign" if node.reason else "open"
        jobs = [
            {"id": job.id, "submitted": job.submitted}
            for job in self.jobs.values()
            if name in job.nodes
        ]
        return {
            "name": name,
            "standing": standing,
            "answering": node.answering,
            "mark": node.mark,
            "reason": node.reason,
            "set_by": node.set_by,
            "set_at": node.set_at,
            "down": node.down,
            "jobs": jobs,
        }

    def job_shown(self, job: str) -> dict[str, object]:
        """A job in the words of an observe hook."""
        known = self.jobs.get(job)
        if known is None:
            return {"id": job, "state": "missing"}
        return {
            "id": known.id,
            "state": known.state,
            "submitted": known.submitted,
            "user": self._user,
            "nodes": known.nodes,
            "restarts": known.restarts,
            "started": known.started,
            "requeueable": True,
            "failed": known.failed,
        }

    def seen(self, call: Call, off: Callable[[str], bool]) -> dict[str, object]:
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


_HOOKS: Mapping[str, Callable[[Books, Call, float], Said]] = {
    "quarantine": Books._quarantine,
    "release": Books._release,
    "fence": Books._fence,
    "move_job": Books._move,
    "draw_spare": Books._draw,
    "return_spare": Books._return,
}
HOOKS = tuple(_HOOKS)
