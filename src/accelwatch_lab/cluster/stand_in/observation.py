"""What the stand-in's scheduler answers an observe hook about a node and a job."""

from collections.abc import Callable

from accelwatch_lab.cluster.stand_in.hook_documents import Call
from accelwatch_lab.cluster.stand_in.state import SchedulerState


def node_document(state: SchedulerState, name: str) -> dict[str, object]:
    """A node in the words of an observe hook."""
    node = state.nodes[name]
    status = "ours" if node.annotation else "foreign" if node.reason else "open"
    jobs = [
        {"id": job.id, "submitted": job.submitted}
        for job in state.jobs.values()
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


def job_document(state: SchedulerState, job: str) -> dict[str, object]:
    """A job in the words of an observe hook."""
    existing = state.jobs.get(job)
    if existing is None:
        return {"id": job, "state": "missing"}
    return {
        "id": existing.id,
        "state": existing.state,
        "submitted": existing.submitted,
        "user": state.user,
        "nodes": existing.nodes,
        "restarts": existing.restarts,
        "started": existing.started,
        "requeueable": True,
        "failed": existing.failed,
    }


def observe(state: SchedulerState, call: Call, off: Callable[[str], bool]) -> dict[str, object]:
    """The answer of the observe hook. Raises KeyError for a node that there is not."""
    name = call.entity.node
    shown: dict[str, object] = {"node": node_document(state, name)}
    shown["proven_dead"] = state.nodes[name].down and off(name)
    if call.jobs:
        shown["job"] = job_document(state, call.jobs[0].id)
    spare = state.nodes.get(call.spare)
    if spare is not None and call.wanted in ("draw_spare", "return_spare"):
        shown["achieved"] = spare.drawn is (call.wanted == "draw_spare")
    return shown
