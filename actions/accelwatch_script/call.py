"""What a hook is given: one JSON object on its standard input or as a request's body, and variables."""

from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import Intent, JobKey
from accelwatch.action.observed import JobObservation
from accelwatch.base.untrusted_text import printable

VERSION = 1
MOST_BYTES = 256 << 10
# Characters; a kernel accepts 128 KiB for one and a few MiB for all.
_MOST_VARIABLE = 8 << 10


class IncidentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """For which incident a hook is called."""

    id: str
    rule: str
    severity: str
    reason: str


class EntityInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Whom it is about."""

    node: str
    device: str
    # The boot that the evidence is of.
    boot_id: str


class JobInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job, as it was seen last."""

    id: str
    cluster: str
    submitted: float
    state: str = ""
    user: str = ""
    nodes: tuple[str, ...] = ()
    restart_count: int | None = None
    start: float | None = None
    requeueable: bool | None = None
    checkpoint: str = ""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a hook; its fields are the JSON object."""

    version: int = VERSION
    hook: str
    # The intent, as the name of a hook; an observe hook reports the state of that.
    wanted: str = ""
    # The same whenever the same thing is tried again, so that it can be done once; empty for an
    # observe hook.
    operation_id: str = ""
    attempt: int = 1
    # By what the journal knows this attempt.
    attempt_id: str = ""
    # Token of the engine that calls; a hook that has seen a greater one refuses.
    fence: int = 0
    dry_run: bool = False
    # Unix seconds.
    deadline: float
    # The `external_id` that is polled.
    poll: str = ""
    incident: IncidentInfo | None = None
    entity: EntityInfo | None = None
    jobs: tuple[JobInfo, ...] = ()
    # Where the job may not start.
    bad_nodes: tuple[str, ...] = ()
    spare: str = ""
    # Where the job may start: its nodes without the bad ones, and the spare.
    run_on: tuple[str, ...] = ()
    # The checkpoint before the newest, when the job is to begin from that; empty: from the newest.
    begin_from: str = ""
    signal: str = ""
    test: str = ""
    # The node, known to be well and idle, that the test needs beside the other; empty where none.
    peer: str = ""
    scheduler: str = ""
    # What an earlier step replaced.
    original: Mapping[str, str] = {}
    # What was seen, and has to be so still.
    precondition: Mapping[str, str] = {}


def of_intent(intent: Intent, job: JobObservation | None, checkpoint: str, deadline: float) -> Call:
    """A call about an intent; hook, operation and attempt are the caller's to fill in."""
    return Call(
        hook=intent.kind.value,
        wanted=intent.kind.value,
        fence=intent.mark.token,
        deadline=deadline,
        incident=IncidentInfo(
            id=intent.mark.incident,
            rule=intent.rule,
            severity=intent.severity,
            reason=intent.reason,
        ),
        entity=EntityInfo(node=intent.node, device=intent.device, boot_id=intent.boot_id),
        jobs=_jobs(intent.job, job, checkpoint),
        bad_nodes=intent.avoided if intent.revive else intent.bad_nodes,
        spare=intent.spare,
        run_on=run_on(intent, job),
        begin_from=intent.checkpoint,
        signal=intent.signal,
        test=intent.test,
        peer=intent.peer,
        scheduler=intent.job.cluster if intent.job is not None else "",
        original=intent.original,
    )


def run_on(intent: Intent, job: JobObservation | None) -> tuple[str, ...]:
    """Nodes of a job without the bad ones, with the spare; empty without a job."""
    if job is None:
        return ()
    good = [name for name in job.nodes if name not in intent.bad_nodes]
    if intent.spare and intent.spare not in good:
        good.append(intent.spare)
    return tuple(good)


def _jobs(key: JobKey | None, job: JobObservation | None, checkpoint: str) -> tuple[JobInfo, ...]:
    if key is None:
        return ()
    info = JobInfo(id=str(key), cluster=key.cluster, submitted=key.submitted, checkpoint=checkpoint)
    if job is None:
        return (info,)
    return (
        msgspec.structs.replace(
            info,
            state=job.state.value,
            user=job.user,
            nodes=job.nodes,
            restart_count=job.restarts,
            start=job.started,
            requeueable=job.requeueable,
        ),
    )


def document(call: Call) -> bytes:
    """The JSON object. Raises ValueError when it is larger than a hook has to accept."""
    data = msgspec.json.encode(call)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{len(data)} bytes are more than a hook is given ({MOST_BYTES})")
    return data


def variables(call: Call) -> dict[str, str]:
    """The same as variables; lists are parted by commas."""
    incident = call.incident or IncidentInfo(id="", rule="", severity="", reason="")
    entity = call.entity or EntityInfo(node="", device="", boot_id="")
    values = {
        "HOOK": call.hook,
        "WANTED": call.wanted,
        "OPERATION_ID": call.operation_id,
        "ATTEMPT": str(call.attempt),
        "ATTEMPT_ID": call.attempt_id,
        "FENCE": str(call.fence),
        "DRY_RUN": "1" if call.dry_run else "0",
        "DEADLINE": f"{call.deadline:.0f}",
        "POLL": call.poll,
        "INCIDENT": incident.id,
        "RULE": incident.rule,
        "SEVERITY": incident.severity,
        "NODE": entity.node,
        "DEVICE": entity.device,
        "BOOT_ID": entity.boot_id,
        "JOB_IDS": ",".join(job.id for job in call.jobs),
        "CHECKPOINT": next((job.checkpoint for job in call.jobs), ""),
        "BAD_NODES": ",".join(call.bad_nodes),
        "SPARE": call.spare,
        "RUN_ON": ",".join(call.run_on),
        "BEGIN_FROM": call.begin_from,
        "SIGNAL": call.signal,
        "TEST": call.test,
        "PEER": call.peer,
        "SCHEDULER": call.scheduler,
    }
    return {
        f"ACCELWATCH_{name}": printable(value)[:_MOST_VARIABLE] for name, value in values.items()
    }
