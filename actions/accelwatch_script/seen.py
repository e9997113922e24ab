"""What an observe hook sees, as an action tells it."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import Intent, JobKey, Mark
from accelwatch.action.observed import JobSeen, JobState, NodeSeen, Observed, Standing
from accelwatch.action.step import Told, ToldStatus
from accelwatch_script.answer import Said, shown

ACHIEVED = "achieved"
"""Key of `Observed.own`: `yes` or `no`, as the observe hook says it of an intent without facts."""
TEXT = "text"
CHECKPOINT = "checkpoint"
BEFORE = "checkpoint_before"
"""The whole one before it, from which the job begins when it is told to."""
TOLD = "told"
"""What the call before has told, a ToldStatus; not there without one, or when we began anew since."""
TOLD_TEXT = "told_text"
TOLD_FOR_S = "told_for_s"
AGAIN_AFTER_S = "again_after_s"

_POLL_S = 10.0
_Shape = TypeVar("_Shape", bound=msgspec.Struct)


class _Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as a hook tells it; its key may say less than ours."""

    id: str
    state: JobState
    submitted: float | None = None
    user: str = ""
    nodes: tuple[str, ...] = ()
    restarts: int = 0
    started: float | None = None
    requeueable: bool = False
    interactive: bool = False
    failed: bool = False
    step: int | None = None
    text: str = ""


class _Key(msgspec.Struct, frozen=True, kw_only=True):
    """A job's key as a hook tells it."""

    id: str
    cluster: str = ""
    submitted: float = 0.0
    user: str = ""
    retry: bool = False
    """Whether its user wants it begun again when it dies of itself."""


class _Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node as a hook tells it; its jobs are ids, or keys where ids are given again."""

    name: str
    standing: Standing
    answering: bool | None = None
    mark: Mark | None = None
    reason: str = ""
    set_by: str = ""
    set_at: float | None = None
    address: str = ""
    boot_time: float | None = None
    boot_id: str = ""
    system_uuid: str = ""
    jobs: tuple[str | _Key, ...] = ()
    pools: tuple[str, ...] = ()
    maintenance: bool = False
    rebooting: bool = False


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    node: _Node | None = None
    job: _Job | None = None
    proven_dead: bool = False
    achieved: bool | None = None
    text: str = ""
    checkpoint: str = ""
    checkpoint_before: str = ""


class _Survey(msgspec.Struct, frozen=True, kw_only=True):
    nodes: tuple[_Node, ...]


def observed(said: Said, intent: Intent, now: float) -> Observed:
    """What an observe hook sees for an intent. Raises ActionUnavailableError."""
    seen = _decoded(said, _Seen, "observe")
    if seen.node is not None and seen.node.name != intent.node:
        raise ActionUnavailableError(
            f"observe: asked for node {intent.node}, answered for {shown(seen.node.name)}"
        )
    own = {
        TEXT: shown(seen.text),
        CHECKPOINT: seen.checkpoint,
        BEFORE: seen.checkpoint_before if seen.checkpoint else "",
    }
    if seen.achieved is not None:
        own[ACHIEVED] = "yes" if seen.achieved else "no"
    return Observed(
        time=now,
        node=_node(seen.node) if seen.node is not None else None,
        job=_job(seen.job, intent.job) if seen.job is not None else None,
        proven_dead=seen.proven_dead,
        own={key: value for key, value in own.items() if value},
    )


def surveyed(said: Said) -> Sequence[NodeSeen]:
    """All nodes that a survey hook sees. Raises ActionUnavailableError."""
    return [_node(one) for one in _decoded(said, _Survey, "survey").nodes]


def poll_after_s(told: Told) -> float:
    """Seconds after which something accepted is asked for."""
    return _POLL_S if told.again_after_s is None else max(told.again_after_s, 1.0)


def with_told(seen: Observed, told: Told, age_s: float) -> Observed:
    """The same, and what the call before has told so many seconds ago."""
    own: Mapping[str, str] = {
        **seen.own,
        TOLD: told.status.value,
        TOLD_TEXT: told.text,
        TOLD_FOR_S: f"{age_s:.3f}",
        AGAIN_AFTER_S: f"{poll_after_s(told):.3f}",
    }
    return msgspec.structs.replace(seen, own=own)


def with_checkpoint(seen: Observed, found: str, before: str, step: int | None) -> Observed:
    """The same, with the newest checkpoint of the job, the one before it, and its step."""
    if not found:
        return seen
    own: Mapping[str, str] = {**seen.own, CHECKPOINT: found}
    job = seen.job
    if job is not None:
        step = step if job.step is None else job.step
        job = msgspec.structs.replace(job, checkpoint=found, earlier=before, step=step)
    return msgspec.structs.replace(seen, own=own, job=job)


def _decoded(said: Said, shape: type[_Shape], name: str) -> _Shape:
    if said.told.status is not ToldStatus.DONE:
        raise ActionUnavailableError(f"{name}: {said.told.text or said.told.status.value}")
    if not said.document:
        raise ActionUnavailableError(f"{name}: it printed no JSON object")
    try:
        return msgspec.json.decode(said.document, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ActionUnavailableError(f"{name}: {shown(str(error))}") from None


def _node(told: _Node) -> NodeSeen:
    return NodeSeen(
        name=told.name,
        standing=told.standing,
        answering=told.answering,
        mark=told.mark,
        reason=shown(told.reason),
        set_by=shown(told.set_by),
        set_at=told.set_at,
        address=told.address,
        boot_time=told.boot_time,
        boot_id=told.boot_id,
        system_uuid=told.system_uuid,
        jobs=tuple(map(_key, told.jobs)),
        begin_again=frozenset(
            _key(one) for one in told.jobs if not isinstance(one, str) and one.retry
        ),
        owners={
            str(_key(one)): shown(one.user)
            for one in told.jobs
            if not isinstance(one, str) and one.user
        },
        pools=told.pools,
        maintenance=told.maintenance,
        rebooting=told.rebooting,
    )


def _key(told: str | _Key) -> JobKey:
    if isinstance(told, str):
        return JobKey(cluster="", id=told, submitted=0.0)
    return JobKey(cluster=told.cluster, id=told.id, submitted=told.submitted)


def _job(told: _Job, wanted: JobKey | None) -> JobSeen | None:
    """The job that was asked for; one of its number that was submitted later is another."""
    if wanted is None:
        return None
    if told.id != str(wanted):
        raise ActionUnavailableError(
            f"observe: asked for job {wanted}, answered for {shown(told.id)}"
        )
    if told.submitted is not None and wanted.submitted and told.submitted != wanted.submitted:
        return JobSeen(key=wanted, state=JobState.MISSING, text="its number is another job's now")
    return JobSeen(
        key=wanted,
        state=told.state,
        user=told.user,
        nodes=told.nodes,
        restarts=told.restarts,
        started=told.started,
        requeueable=told.requeueable,
        interactive=told.interactive,
        failed=told.failed,
        step=told.step,
        text=shown(told.text),
    )
