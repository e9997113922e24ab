"""What is seen against what is wanted: achieved, still to wait for, refused, or the next step. Pure."""

from collections.abc import Callable, Mapping

import msgspec

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import HoldState, JobState, NodeObservation, Observed
from accelwatch.action.step import (
    Achieved,
    Proposal,
    Recovery,
    Refusal,
    RefusalKind,
    ReportStatus,
    StartedStep,
    Step,
    Wait,
)
from accelwatch_script import observation
from accelwatch_script.call import run_on
from accelwatch_script.settings import HookOptions

# Key of a step's arguments: the intent as JSON.
INTENT = "intent"
JOB = "job"
CHECKPOINT = "checkpoint"
_POLL_S = 2.0
_LONGEST_WAIT_S = 60.0
_RESTARTS_NODE = frozenset({IntentKind.REBOOT, IntentKind.POWER_CYCLE})
_NEEDS_EMPTY = _RESTARTS_NODE | {IntentKind.RESET_DEVICE}


def proposal(intent: Intent, observed: Observed, hook: HookOptions | None) -> Proposal:
    """What comes next for an intent."""
    if hook is None:
        text = f"no hook {intent.kind.value} is configured"
        return Refusal(RefusalKind.IMPOSSIBLE, text)
    is_so = is_achieved(intent, observed)
    if is_so:
        return _achieved(intent, observed, hook)
    status = observed.own.get(observation.REPORT_STATUS, "")
    if hook.trusted and status == ReportStatus.DONE.value and is_so is None:
        text = observed.own.get(observation.REPORT_TEXT, "")
        measured = observation.reported_measurement(observed, hook.argv)
        return Achieved(
            f"reported by the hook, which is trusted: {text or 'ok'}", measured=measured
        )
    if refusal := _forbidden(intent, observed):
        return refusal
    if status and (after := _after_report(intent, status, observed, hook)):
        return after
    if is_so is None and not hook.trusted:
        text = f"not observed: the observe hook does not say how {intent.kind.value} stands"
        return Refusal(RefusalKind.UNSAFE, text)
    job = observed.job if intent.kind is IntentKind.MOVE_JOB else None
    if job is not None and job.state is JobState.COMPLETING:
        return Wait(_POLL_S, "the job is still ending")
    return _step(intent, observed)


def is_achieved(intent: Intent, observed: Observed) -> bool | None:
    """Whether it is observed to be so; None where that was not seen."""
    reported = {"yes": True, "no": False}.get(observed.own.get(observation.ACHIEVED, ""))
    evaluate = _FACTS.get(intent.kind)
    if evaluate is None:
        return reported
    is_so = evaluate(intent, observed)
    return False if is_so and reported is False else is_so


def _quarantined(_: Intent, observed: Observed) -> bool | None:
    node = observed.node
    return None if node is None else node.hold_state is HoldState.OURS


def _released(_: Intent, observed: Observed) -> bool | None:
    node = observed.node
    return None if node is None else node.hold_state is not HoldState.OURS


def _booted(intent: Intent, observed: Observed) -> bool | None:
    node = observed.node
    if node is None or not node.boot_id or not intent.boot_id:
        return None
    return node.boot_id != intent.boot_id


def _fenced(_: Intent, observed: Observed) -> bool | None:
    return observed.proven_dead


def _moved(intent: Intent, observed: Observed) -> bool | None:
    job = observed.job
    if job is None or (job.state is JobState.RUNNING and not job.nodes):
        return None
    runs = job.state is JobState.RUNNING
    return runs and not set(job.nodes) & set(intent.avoided)


def _cancelled(_: Intent, observed: Observed) -> bool | None:
    job = observed.job
    return None if job is None else job.state in (JobState.FINISHED, JobState.MISSING)


_FACTS: Mapping[IntentKind, Callable[[Intent, Observed], bool | None]] = {
    IntentKind.QUARANTINE: _quarantined,
    IntentKind.RELEASE: _released,
    IntentKind.REBOOT: _booted,
    IntentKind.POWER_CYCLE: _booted,
    IntentKind.FENCE: _fenced,
    IntentKind.MOVE_JOB: _moved,
    IntentKind.CANCEL_JOB: _cancelled,
}


def _achieved(intent: Intent, observed: Observed, hook: HookOptions) -> Achieved:
    text = observed.own.get(observation.TEXT, "") or f"{intent.kind.value} is observed"
    moved = intent.kind is IntentKind.MOVE_JOB and observed.job is not None
    return Achieved(
        text,
        moved_to=observed.job.nodes if moved and observed.job else (),
        measured=observation.reported_measurement(observed, hook.argv),
    )


def _forbidden(intent: Intent, observed: Observed) -> Refusal | None:
    node = observed.node
    if node is not None and (refusal := _not_ours(intent, node)):
        return refusal
    if intent.kind in _RESTARTS_NODE and not intent.boot_id:
        return Refusal(RefusalKind.UNSAFE, "the evidence does not say which boot it is from")
    job = observed.job if intent.kind is IntentKind.SIGNAL_JOB else None
    if job is not None and job.state is not JobState.RUNNING:
        return Refusal(RefusalKind.IMPOSSIBLE, f"the job does not run: {job.state.value}")
    if intent.kind is IntentKind.MOVE_JOB:
        return _not_movable(intent, observed)
    return None


def _not_ours(intent: Intent, node: NodeObservation) -> Refusal | None:
    by_whom = f" by {node.set_by}" if node.set_by else ""
    why = f": {node.reason}" if node.reason else ""
    if node.annotation is not None and node.annotation.token > intent.mark.token:
        return Refusal(RefusalKind.FOREIGN, "a newer engine of ours holds the node")
    if intent.kind is IntentKind.RELEASE:
        if node.annotation is not None and node.annotation.incident != intent.mark.incident:
            text = f"the node is held for incident {node.annotation.incident}"
            return Refusal(RefusalKind.FOREIGN, text)
        return None
    if node.hold_state is HoldState.MISSING:
        return Refusal(RefusalKind.IMPOSSIBLE, "the node is not known there")
    if intent.kind is IntentKind.QUARANTINE and node.hold_state is HoldState.DOWN:
        return Refusal(RefusalKind.FOREIGN, f"the node is given up{by_whom}{why}")
    needs_node = intent.kind is IntentKind.QUARANTINE or intent.kind in _NEEDS_EMPTY
    if needs_node and (node.hold_state is HoldState.FOREIGN or node.maintenance):
        return Refusal(RefusalKind.FOREIGN, f"the node is held{by_whom}{why}")
    if intent.kind in _NEEDS_EMPTY:
        return _not_empty(node)
    return None


def _not_empty(node: NodeObservation) -> Refusal | None:
    if node.hold_state is HoldState.OPEN:
        return Refusal(RefusalKind.UNSAFE, "the node takes work; it has to be quarantined before")
    if node.jobs:
        jobs = ", ".join(map(str, node.jobs[:3]))
        return Refusal(RefusalKind.UNSAFE, f"the node still has jobs: {jobs}")
    return None


def _not_movable(intent: Intent, observed: Observed) -> Refusal | None:
    job, node = observed.job, observed.node
    if job is None:
        return Refusal(RefusalKind.UNSAFE, "not observed: the observe hook does not report the job")
    why = f": {job.text}" if job.text else ""
    dead = intent.revive and job.state is JobState.FINISHED and job.failed
    if job.state in (JobState.FINISHED, JobState.MISSING) and not dead:
        return Refusal(RefusalKind.IMPOSSIBLE, f"the job is {job.state.value}{why}")
    if job.interactive:
        return Refusal(RefusalKind.IMPOSSIBLE, "only its user can restart the job")
    if job.state is JobState.HELD:
        return Refusal(RefusalKind.NOT_ALLOWED, f"the job is held{why}")
    if not job.requeueable and not intent.force_requeue:
        return Refusal(RefusalKind.NOT_ALLOWED, "its user does not allow a restart of the job")
    answering = node is not None and node.answering is True
    if not answering and not observed.proven_dead and not intent.fenced_by_job:
        text = f"{intent.node} does not answer: the old copy of the job may run on and write"
        return Refusal(RefusalKind.UNSAFE, text)
    if not run_on(intent, job):
        return Refusal(RefusalKind.IMPOSSIBLE, "no node is left for the job")
    return None


def _after_report(
    intent: Intent, status: str, observed: Observed, hook: HookOptions
) -> Proposal | None:
    """What the word of the call before leaves to do, as long as its effect is not seen."""
    text = observed.own.get(observation.REPORT_TEXT, "")
    age_s = float(observed.own.get(observation.REPORT_AGE_S) or 0.0)
    if status == ReportStatus.ACCEPTED.value:
        after_s = float(observed.own.get(observation.AGAIN_AFTER_S) or 0.0)
        return Wait(min(max(after_s, _POLL_S), _LONGEST_WAIT_S), f"accepted: {text}")
    if status == ReportStatus.REFUSED.value and intent.kind is IntentKind.TEST:
        return Refusal(RefusalKind.UNFIT, f"the hook says that it has failed: {text}")
    if status == ReportStatus.REFUSED.value:
        return Refusal(RefusalKind.IMPOSSIBLE, f"the hook refused: {text}")
    if status == ReportStatus.UNKNOWN.value and not hook.idempotent:
        return Refusal(RefusalKind.UNSAFE, f"what the call before did is not known: {text}")
    if status != ReportStatus.DONE.value:
        return None
    if age_s < hook.observe_for_s:
        return Wait(min(_POLL_S, hook.observe_for_s), "reported by the hook, not observed yet")
    return Refusal(RefusalKind.UNSAFE, f"not observed {age_s:.0f} s after the hook said ok: {text}")


def _step(intent: Intent, observed: Observed) -> Step:
    arguments = {INTENT: msgspec.json.encode(intent).decode()}
    if observed.job is not None:
        arguments[JOB] = msgspec.json.encode(observed.job).decode()
    if checkpoint := observed.own.get(observation.CHECKPOINT):
        arguments[CHECKPOINT] = checkpoint
    about = f" of job {intent.job}" if intent.job is not None else ""
    return Step(
        kind=intent.kind.value,
        arguments=arguments,
        precondition=precondition(intent, observed),
        text=f"call the hook {intent.kind.value} for {intent.node}{about}",
    )


def precondition(intent: Intent, observed: Observed) -> dict[str, str]:
    """What has to be so still when a step is done that cannot be done twice."""
    if intent.kind in _RESTARTS_NODE and observed.node is not None:
        return {"boot_id": observed.node.boot_id}
    if intent.kind is IntentKind.MOVE_JOB and observed.job is not None:
        return {
            "restarts": str(observed.job.restarts),
            "nodes": ",".join(observed.job.nodes),
        }
    return {}


def recovery(
    started_step: StartedStep,
    intent: Intent,
    observed: Observed,
    hook: HookOptions,
    longest_s: float,
) -> Recovery:
    """What has become of a call whose end nobody saw; it may go on for `longest_s` without us."""
    if is_achieved(intent, observed):
        return Recovery.DONE
    if started_step.started is None:
        return Recovery.REDO
    status = ""
    if started_step.report is not None:
        # What was polled since counts more than what was reported at first.
        status = observed.own.get(observation.REPORT_STATUS) or started_step.report.status.value
    if status and ReportStatus(status).is_without_effect:
        return Recovery.REDO
    if status == ReportStatus.DONE.value and hook.trusted:
        return Recovery.DONE
    if observation.REPORT_STATUS in observed.own and status == ReportStatus.ACCEPTED.value:
        return Recovery.UNKNOWN
    if not status and observed.time < started_step.started + longest_s:
        return Recovery.UNKNOWN
    return Recovery.REDO if hook.idempotent else Recovery.UNKNOWN
