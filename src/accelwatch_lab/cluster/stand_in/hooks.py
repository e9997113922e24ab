"""Hooks that the stand-in carries out: quarantine, release, fence, move a job, draw a spare. Pure."""

from collections.abc import Callable, Mapping

from accelwatch_lab.cluster.stand_in.hook_documents import Call, HookReply, OwnerAnnotation
from accelwatch_lab.cluster.stand_in.model import State
from accelwatch_lab.cluster.stand_in.state import SchedulerState

_BY = "accelwatch"


class HookRunner:
    """Carries out what an engine requests, each operation once, and only for the newest engine."""

    def __init__(self, state: SchedulerState) -> None:
        self._state = state
        # By operation.
        self._replies: dict[str, HookReply] = {}
        # The fencing token of the newest engine.
        self._greatest = 0

    def refusal(self, call: Call) -> HookReply | None:
        """Why a hook that acts is not carried out at all."""
        if call.fence < self._greatest:
            text = f"an engine with token {self._greatest} is in charge, yours is {call.fence}"
            return HookReply(status="refused", message=text)
        if call.entity.node not in self._state.nodes:
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
        annotation = self._state.nodes[call.entity.node].annotation
        return annotation is not None and annotation.incident == call.incident.id

    def _quarantine(self, call: Call, now: float) -> HookReply:
        node = self._state.nodes[call.entity.node]
        if node.reason and node.annotation is None:
            return HookReply(status="refused", message=f"{node.set_by} holds it: {node.reason}")
        node.reason = f"accelwatch:{call.incident.id}:{call.incident.rule} {call.incident.reason}"
        node.set_by, node.set_at = _BY, now
        node.annotation = OwnerAnnotation(incident=call.incident.id, token=call.fence)
        return HookReply(status="ok", message="takes no new work")

    def _release(self, call: Call, _: float) -> HookReply:
        if self._is_theirs(call):
            self._state.resume(call.entity.node)
        return HookReply(status="ok")

    def _fence(self, call: Call, _: float) -> HookReply:
        self._state.nodes[call.entity.node].down = True
        return HookReply(status="ok", message="its power was cut")

    def _move(self, call: Call, _: float) -> HookReply:
        requested = call.jobs[0] if call.jobs else None
        job = None if requested is None else self._state.jobs.get(requested.id)
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
        node = self._state.nodes.get(name)
        if node is None or not node.spare:
            return HookReply(status="refused", message=f"{name} is not a spare")
        node.drawn = drawn
        return HookReply(status="ok")


_HOOKS: Mapping[str, Callable[[HookRunner, Call, float], HookReply]] = {
    "quarantine": HookRunner._quarantine,
    "release": HookRunner._release,
    "fence": HookRunner._fence,
    "move_job": HookRunner._move,
    "draw_spare": HookRunner._draw,
    "return_spare": HookRunner._return,
}
HOOKS = tuple(_HOOKS)
