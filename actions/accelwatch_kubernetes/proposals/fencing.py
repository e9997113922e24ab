"""Which step leads to a node on which provably nothing runs. Pure.

Two proofs count: its kubelet answers again, and has for long enough to have ended what was deleted
meanwhile, or has booted since; or the site's own command says that it has no power. Time that has passed
is none. Only with the second proof the node is tainted out of service, so that its pods are replaced.
"""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_kubernetes.drain import steps
from accelwatch_kubernetes.drain.job_view import ANSWERS_FOR, PODS
from accelwatch_kubernetes.drain.leaving import ignored_by_drain
from accelwatch_kubernetes.marks.hold_state import hold_state_of
from accelwatch_kubernetes.marks.out_of_service import has_our_taint
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.objects.pod import Pod, pods_of
from accelwatch_kubernetes.observed_context import ObservedContext

# A kubelet that answers again ends what was deleted meanwhile: it learns of it within seconds, and the
# pods have 30 s by default (terminationGracePeriodSeconds); twice that, for those that were given more.
ANSWERS_S = 60.0
# Between polls of what comes about by itself: the pod garbage collector runs every 20 s.
_POLL_S = 2.0


def propose_fence(intent: Intent, context: ObservedContext) -> Proposal:
    """Prove that nothing runs there: by the kubelet, or by the power switch."""
    node = context.node
    if node is None:
        return _node_deleted(intent, context)
    if node.ready:
        return _answering(intent, context, node)
    state = hold_state_of(node, context.options)
    if state is not HoldState.OURS:
        text = f"{node.name} is not held by us any more, and its kubelet does not answer"
        return Refusal(RefusalKind.FOREIGN, text)
    if intent.fenced_by_job:
        return Achieved(f"{node.name} is held; the job itself keeps a second copy from writing")
    if node.name in context.off:
        return _without_power(intent, context, node)
    if context.options.power_off:
        text = f"power {node.name} off"
        return Step(
            kind=steps.POWER_OFF,
            arguments={"node": node.name},
            precondition={"uid": node.metadata.uid},
            text=text,
        )
    return Wait(_POLL_S, unproven_text(node.name))


def unproven_text(name: str) -> str:
    """Why a silent node is not safe to leave, and what proves it."""
    return (
        f"unsafe: the kubelet of {name} does not answer, and nothing proves that its pods have ended: "
        "power it off or reboot it"
    )


def _node_deleted(intent: Intent, context: ObservedContext) -> Proposal:
    """The node object was deleted: its pods go with it, but that ends no process."""
    if intent.node in context.off:
        return Achieved(f"the cluster has no node {intent.node} any more, and its power is off")
    text = f"the cluster has no node {intent.node} any more, and nothing proves that its machine is off"
    return Refusal(RefusalKind.UNSAFE, text)


def _answering(intent: Intent, context: ObservedContext, node: Node) -> Proposal:
    if has_our_taint(node):
        return in_service(intent, node, "its kubelet answers")
    terminating = [pod for pod in _of_jobs(context) if pod.is_terminating]
    if terminating:
        return Wait(_POLL_S, f"{terminating[0].path} is terminating on {node.name}")
    boot_id = node.status.node_info.boot_id
    if intent.boot_id and boot_id and boot_id != intent.boot_id:
        return Achieved(f"{node.name} has booted since, and its kubelet answers")
    answers_s = float(context.own.get(ANSWERS_FOR, "0"))
    if answers_s < ANSWERS_S:
        text = f"the kubelet of {node.name} answers again, for {answers_s:.0f} of {ANSWERS_S:.0f} s"
        return Wait(max(min(ANSWERS_S - answers_s, _POLL_S), 0.1), text)
    text = f"the kubelet of {node.name} answers: only what the API server shows runs there"
    return Achieved(text)


def _without_power(intent: Intent, context: ObservedContext, node: Node) -> Proposal:
    pods = _of_jobs(context)
    if pods and not has_our_taint(node):
        return Step(
            kind=steps.OUT_OF_SERVICE,
            arguments={
                "node": node.name,
                "incident": intent.mark.incident,
                "proof": "its power is off",
            },
            precondition={"uid": node.metadata.uid},
            text=f"taint {node.name} out of service, for its power is off",
        )
    if pods:
        return Wait(
            _POLL_S, f"the cluster removes {len(pods)} pods of {node.name}, which has no power"
        )
    if node.status.volumes_attached and has_our_taint(node):
        return Wait(_POLL_S, f"the cluster detaches the volumes of {node.name}, which has no power")
    if has_our_taint(node):
        return in_service(intent, node, "its pods are gone")
    return Achieved(f"nothing runs on {node.name}: its power is off")


def in_service(intent: Intent, node: Node, why: str) -> Step:
    """Our taint would keep the pods off that a node needs as soon as it is back."""
    return Step(
        kind=steps.IN_SERVICE,
        arguments={"node": node.name, "incident": intent.mark.incident},
        precondition={"uid": node.metadata.uid},
        text=f"remove our out-of-service taint from {node.name}: {why}",
    )


def _of_jobs(context: ObservedContext) -> list[Pod]:
    """The pods of the node that are not its own."""
    pods = pods_of(context.own.get(PODS, ""))
    return [pod for pod in pods if ignored_by_drain(pod, context.options) is None]
