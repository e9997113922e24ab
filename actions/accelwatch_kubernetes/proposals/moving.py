"""Which step leads to a job that runs on without the bad nodes: its pods there are evicted. Pure.

A dry run, which spends no budget, goes before, so an eviction is proposed only when the server
will grant it: a budget that allows none is waited for, and one that never will goes to a person.
A job that an eviction would end for good is suspended and started again, where its kind can be.
"""

from collections.abc import Sequence

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState, JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_kubernetes.drain import steps
from accelwatch_kubernetes.drain.job_steps import change, delete, evict
from accelwatch_kubernetes.drain.job_view import JobView, job_view, stay_text
from accelwatch_kubernetes.drain.leaving import Leaving
from accelwatch_kubernetes.drain.verdicts import EvictionVerdict, Verdict
from accelwatch_kubernetes.marks.hold import hold_of
from accelwatch_kubernetes.marks.hold_state import hold_state_of, override_text
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.workloads.changes import (
    is_suspended,
    restart_patch,
    suspend_patch,
    suspended_by,
)
from accelwatch_kubernetes.workloads.consequences import consequences
from accelwatch_kubernetes.workloads.kinds.outcome import Cause, Departure
from accelwatch_kubernetes.workloads.observed_job import desired_pods

# Between polls of what comes about within moments.
_POLL_S = 1.0
# Between questions to a budget: it is counted anew whenever a pod of it becomes ready.
BUDGET_S = 10.0
# Creation times have whole seconds.
_SECOND_S = 1.0
# What no waiting mends.
_FOR_GOOD = frozenset({EvictionVerdict.NEVER, EvictionVerdict.REFUSED})


def propose_move(intent: Intent, context: ObservedContext) -> Proposal:
    """Evict its pods from the bad nodes, then wait until their replacements run."""
    view, job = job_view(context), context.job
    if intent.job is None or job is None or job.state is JobState.MISSING:
        return Refusal(RefusalKind.IMPOSSIBLE, f"Kubernetes knows no job {intent.job} any more")
    if job.state is JobState.FINISHED:
        return Refusal(RefusalKind.IMPOSSIBLE, f"job {intent.job} has ended: {job.text or 'done'}")
    entries = view.departing(intent, context)
    departing = [entry for entry in entries if entry.stay is None]
    if silent := _unsafe(intent, context, view, departing):
        return silent
    # Its user may have started it before us; our annotation stays there then, and means nothing.
    if is_suspended_for(intent, view) and is_suspended(view.lineage):
        return start_again(intent, view)
    if departing:
        freed = _node_freed(intent, context, departing)
        return freed or _departure(intent, context, view, departing)
    if entries:
        texts = "; ".join(stay_text(entry, intent.device) for entry in entries)
        return Refusal(RefusalKind.NOT_ALLOWED, texts)
    return _arrival(intent, view)


def _unsafe(
    intent: Intent, context: ObservedContext, view: JobView, departing: list[Leaving]
) -> Refusal | None:
    """An eviction from a silent node is accepted, and the job starts elsewhere beside its old copy."""
    silent = view.silent_node([entry.pod for entry in departing])
    if not silent or intent.fenced_by_job or context.proven_dead:
        return None
    text = f"{silent} does not answer: fence it first, else pods of job {intent.job} may run twice"
    return Refusal(RefusalKind.UNSAFE, text)


def _node_freed(
    intent: Intent, context: ObservedContext, departing: Sequence[Leaving]
) -> Refusal | None:
    """Who frees a node while evictions wait for a budget wants its pods to stay."""
    node = context.node
    hold = None if node is None else hold_of(node)
    if node is None or (hold is not None and hold.incident != intent.mark.incident):
        return None
    undone = override_text(node, hold) if hold else _without_hold(intent, context, node, departing)
    if not undone:
        return None
    text = f"{undone} by another person or tool: what runs there is left alone"
    return Refusal(RefusalKind.OVERRIDDEN, text)


def _without_hold(
    intent: Intent, context: ObservedContext, node: Node, departing: Sequence[Leaving]
) -> str:
    """What was removed of our hold on a node without our annotation; empty where we may have had none.

    A node of which devices are out bears no mark itself, and a job that died may have started anywhere.
    """
    ours_only = context.options.devices is None and not intent.revive
    is_left = any(entry.pod.node == node.name == intent.node for entry in departing)
    if ours_only and is_left and hold_state_of(node, context.options) is HoldState.OPEN:
        return (
            f"the taint {context.options.taint} of {node.name} was removed, and our annotation too,"
        )
    return ""


def is_suspended_for(intent: Intent, view: JobView) -> bool:
    """Whether we have suspended the job, and for this incident."""
    annotation = suspended_by(view.lineage)
    return annotation is not None and annotation.incident == intent.mark.incident


def start_again(intent: Intent, view: JobView) -> Step | Wait:
    """A job that we have suspended starts again when its last old pod is gone, and not before."""
    changed = restart_patch(view.lineage, view.pods)
    if changed is not None:
        return change(steps.START_AGAIN, changed)
    if view.pods:
        return _terminating(view.pods[0])
    return Wait(_POLL_S, f"job {intent.job} starts again")


def _departure(
    intent: Intent, context: ObservedContext, view: JobView, departing: list[Leaving]
) -> Proposal:
    live = [
        entry for entry in departing if not entry.pod.is_terminating and entry.pod.node in view.bad
    ]
    if not live:
        return _left_behind(departing[0].pod)
    departure = Departure(cause=Cause.EVICTION, pods=tuple(entry.pod for entry in live))
    effect = consequences(view.lineage, departure, view.pods)
    if effect.prefers_restart:
        changed = suspend_patch(view.lineage, intent.mark)
        if changed is not None:
            return change(steps.SUSPEND, changed)
    if effect.refusal:
        return Refusal(RefusalKind.NOT_ALLOWED, effect.refusal)
    return _next_pod(intent, context, view, live)


def _left_behind(pod: Pod) -> Wait:
    """A node object that is gone proves nothing of its machine: nothing is evicted from there."""
    if pod.is_terminating:
        return _terminating(pod)
    text = f"{pod.path} was on {pod.node}, which the cluster has no more: the cluster removes it"
    return Wait(BUDGET_S, text)


def _terminating(pod: Pod) -> Wait:
    grace_s = pod.spec.termination_grace_period_seconds
    within = "" if grace_s is None else f", within {grace_s} s"
    return Wait(_POLL_S, f"{pod.path} is terminating on {pod.node}{within}")


def _next_pod(
    intent: Intent, context: ObservedContext, view: JobView, live: list[Leaving]
) -> Proposal:
    refused = []
    for entry in live:
        verdict = view.verdicts.get(entry.pod.uid)
        if verdict is not None and verdict.answer is EvictionVerdict.ALLOWED:
            return evict(entry.pod)
        if step := _deletion(intent, context, view, entry):
            return step
        if verdict is not None:
            refused.append((entry.pod, verdict))
    texts = [f"{pod.path}: {verdict.text}" for pod, verdict in refused if verdict.text]
    # Where the power is off a pod is deleted after its deadline, which is waited for.
    deletable = any(
        entry.delete_after_s is not None and entry.pod.node in view.off for entry in live
    )
    for_good = all(_is_for_good(intent, view, verdict) for _, verdict in refused)
    if len(refused) == len(live) and for_good and not deletable:
        return Refusal(RefusalKind.NOT_ALLOWED, "; ".join(texts))
    if texts:
        return Wait(BUDGET_S, "; ".join(texts))
    return Wait(_POLL_S, f"{live[0].pod.path} has changed, and is read again")


def _is_for_good(intent: Intent, view: JobView, verdict: Verdict) -> bool:
    """Whether waiting does not help: a budget that needs all pods of a job that has all of them."""
    if verdict.answer in _FOR_GOOD:
        return True
    is_complete = all(pod.runs for pod in view.pods) and _missing(intent, view, view.pods) <= 0
    return verdict.needs_all and is_complete


def _deletion(
    intent: Intent, context: ObservedContext, view: JobView, entry: Leaving
) -> Step | None:
    """The deletion of a pod whose time is over, once nothing of it can run any more."""
    pod, after_s = entry.pod, entry.delete_after_s
    if after_s is None or pod.node not in view.off:
        return None
    node = view.bad.get(pod.node)
    hold = None if node is None else hold_of(node)
    since = intent.asked if hold is None else hold.since
    if context.time - since < after_s:
        return None
    return delete(pod, f"the node has no power, and its drain began {after_s:.0f} s ago")


def _arrival(intent: Intent, view: JobView) -> Proposal:
    """None of it is where it may not be: all of it has to run elsewhere."""
    for pod in view.pods:
        if not pod.runs and not pod.is_terminating:
            why = f": {pod.waits_for}" if pod.waits_for else ""
            return Wait(_POLL_S, f"{pod.path} is {pod.status.phase.lower()}{why}")
    running = [pod for pod in view.pods if pod.runs]
    if is_suspended(view.lineage):
        return Wait(BUDGET_S, f"job {intent.job} is suspended, or waits in its queue")
    missing = _missing(intent, view, running)
    if missing > 0:
        return Wait(_POLL_S, f"job {intent.job} lacks {missing} of its pods")
    nodes = tuple(sorted({pod.node for pod in running}))
    if not nodes:
        return Refusal(RefusalKind.IMPOSSIBLE, f"job {intent.job} has no pods any more")
    return Achieved(f"job {intent.job} runs on {','.join(nodes)}", moved_to=nodes)


def _missing(intent: Intent, view: JobView, running: Sequence[Pod]) -> int:
    """Pods that are still to come; by those that were evicted where no object says how many."""
    if desired := desired_pods(view.lineage):
        return desired - len(running)
    since = intent.asked - _SECOND_S
    replacements = [pod for pod in running if pod.metadata.created >= since]
    return len(view.evicted) - len(replacements)
