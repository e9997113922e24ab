"""What an observe hook sees, as an action reports it."""

import shlex
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import Intent, JobKey, OwnerAnnotation
from accelwatch.action.measuring import valid_measurement
from accelwatch.action.observed import (
    HoldState,
    JobObservation,
    JobState,
    NodeObservation,
    Observed,
)
from accelwatch.action.step import Measured, Report, ReportStatus
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch_script.answer import HookReply, shown

# Key of `Observed.own`: `yes` or `no`, as the observe hook says it of an intent without facts.
ACHIEVED = "achieved"
TEXT = "text"
CHECKPOINT = "checkpoint"
# The whole one before it, from which the job begins on request.
BEFORE = "checkpoint_before"
# The report of the call before, a ReportStatus; absent without one, or after our restart.
REPORT_STATUS = "told"
REPORT_TEXT = "told_text"
REPORT_AGE_S = "told_for_s"
AGAIN_AFTER_S = "again_after_s"
# What a test has measured, with its unit, as the hook or the observe hook has reported it.
MEASURED = "measured"

_POLL_S = 10.0
_Shape = TypeVar("_Shape", bound=msgspec.Struct)


class _Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as a hook reports it; its key may say less than ours."""

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
    """A job's key as a hook reports it."""

    id: str
    cluster: str = ""
    submitted: float = 0.0
    user: str = ""
    # Whether its user wants it restarted when it dies of itself.
    retry: bool = False


class _Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node as a hook reports it; its jobs are ids, or keys where ids are given again."""

    name: str
    standing: HoldState
    answering: bool | None = None
    mark: OwnerAnnotation | None = None
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


class _Observation(msgspec.Struct, frozen=True, kw_only=True):
    node: _Node | None = None
    job: _Job | None = None
    proven_dead: bool = False
    achieved: bool | None = None
    text: str = ""
    checkpoint: str = ""
    checkpoint_before: str = ""
    value: float | None = None
    unit: str = ""


class _Survey(msgspec.Struct, frozen=True, kw_only=True):
    nodes: tuple[_Node, ...]


def observed(reply: HookReply, intent: Intent, now: float) -> Observed:
    """What an observe hook sees for an intent. Raises ActionUnavailableError."""
    observation = _decoded(reply, _Observation, "observe")
    if observation.node is not None and observation.node.name != intent.node:
        raise ActionUnavailableError(
            f"observe: requested node {intent.node}, answered for {shown(observation.node.name)}"
        )
    own = {
        TEXT: shown(observation.text),
        CHECKPOINT: observation.checkpoint,
        BEFORE: observation.checkpoint_before if observation.checkpoint else "",
    }
    if observation.achieved is not None:
        own[ACHIEVED] = "yes" if observation.achieved else "no"
    if observation.value is not None:
        own |= _own_of(valid_measurement(observation.value, observation.unit))
    return Observed(
        time=now,
        node=_node(observation.node) if observation.node is not None else None,
        job=_job(observation.job, intent.job) if observation.job is not None else None,
        proven_dead=observation.proven_dead,
        own={key: value for key, value in own.items() if value},
    )


def all_nodes(reply: HookReply) -> Sequence[NodeObservation]:
    """All nodes that a survey hook sees. Raises ActionUnavailableError."""
    return [_node(node) for node in _decoded(reply, _Survey, "survey").nodes]


def poll_after_s(report: Report) -> float:
    """Seconds after which an accepted operation is polled."""
    return _POLL_S if report.again_after_s is None else max(report.again_after_s, 1.0)


def with_report(observation: Observed, report: Report, age_s: float) -> Observed:
    """The same, and the report of the call before, so many seconds old."""
    own: Mapping[str, str] = {
        **_own_of(report.measured),
        **observation.own,
        REPORT_STATUS: report.status.value,
        REPORT_TEXT: report.text,
        REPORT_AGE_S: f"{age_s:.3f}",
        AGAIN_AFTER_S: f"{poll_after_s(report):.3f}",
    }
    return msgspec.structs.replace(observation, own=own)


def _own_of(measured: Measured | None) -> dict[str, str]:
    return {} if measured is None else {MEASURED: f"{measured.value!r} {measured.unit}"}


def reported_measurement(observed: Observed, argv: Sequence[str]) -> Measured | None:
    """What a test has measured; the observe hook's word counts before the hook's own."""
    value, _, unit = observed.own.get(MEASURED, "").partition(" ")
    return Measured(float(value), unit, shlex.join(argv)) if value else None


def with_checkpoint(observation: Observed, newest: str, before: str, step: int | None) -> Observed:
    """The same, with the newest checkpoint of the job, the one before it, and its step."""
    if not newest:
        return observation
    own: Mapping[str, str] = {**observation.own, CHECKPOINT: newest}
    job = observation.job
    if job is not None:
        step = step if job.step is None else job.step
        job = msgspec.structs.replace(job, checkpoint=newest, earlier=before, step=step)
    return msgspec.structs.replace(observation, own=own, job=job)


def _decoded(reply: HookReply, shape: type[_Shape], name: str) -> _Shape:
    if reply.report.status is not ReportStatus.DONE:
        raise ActionUnavailableError(f"{name}: {reply.report.text or reply.report.status.value}")
    if not reply.document:
        raise ActionUnavailableError(f"{name}: it printed no JSON object")
    try:
        return msgspec.json.decode(reply.document, type=shape)
    except DECODE_ERRORS as error:
        raise ActionUnavailableError(f"{name}: {shown(str(error))}") from None


def _node(node: _Node) -> NodeObservation:
    return NodeObservation(
        name=node.name,
        hold_state=node.standing,
        answering=node.answering,
        annotation=node.mark,
        reason=shown(node.reason),
        set_by=shown(node.set_by),
        set_at=node.set_at,
        address=node.address,
        boot_time=node.boot_time,
        boot_id=node.boot_id,
        system_uuid=node.system_uuid,
        jobs=tuple(map(_key, node.jobs)),
        restartable=frozenset(
            _key(job) for job in node.jobs if not isinstance(job, str) and job.retry
        ),
        owners={
            str(_key(job)): shown(job.user)
            for job in node.jobs
            if not isinstance(job, str) and job.user
        },
        pools=node.pools,
        maintenance=node.maintenance,
        rebooting=node.rebooting,
    )


def _key(key: str | _Key) -> JobKey:
    if isinstance(key, str):
        return JobKey(cluster="", id=key, submitted=0.0)
    return JobKey(cluster=key.cluster, id=key.id, submitted=key.submitted)


def _job(job: _Job, requested: JobKey | None) -> JobObservation | None:
    """The requested job; one of its number that was submitted later is another."""
    if requested is None:
        return None
    if job.id != str(requested):
        raise ActionUnavailableError(
            f"observe: requested job {requested}, answered for {shown(job.id)}"
        )
    if job.submitted is not None and requested.submitted and job.submitted != requested.submitted:
        return JobObservation(
            key=requested, state=JobState.MISSING, text="its number is another job's now"
        )
    return JobObservation(
        key=requested,
        state=job.state,
        user=job.user,
        nodes=job.nodes,
        restarts=job.restarts,
        started=job.started,
        requeueable=job.requeueable,
        interactive=job.interactive,
        failed=job.failed,
        step=job.step,
        text=shown(job.text),
    )
