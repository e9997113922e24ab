"""What is read for the fence of a node: its pods, its power, and since when its kubelet answers."""

from collections.abc import Mapping

from accelwatch.action.intent import Intent
from accelwatch.action.kit.effects import Reading
from accelwatch_kubernetes.drain.job_view import ANSWERS_FOR, PODS
from accelwatch_kubernetes.objects.node import node_of
from accelwatch_kubernetes.observed_context import NODE, OFF
from accelwatch_kubernetes.readings.pods import pods_of_node, pods_text
from accelwatch_kubernetes.rows import Access


async def read_fence(access: Access, intent: Intent, own: Mapping[str, str]) -> Reading:
    """The pods of the node, and what proves that they have ended. Raises ActionUnavailableError."""
    node = node_of(own.get(NODE, ""))
    pods = await pods_of_node(access, intent.node)
    off, answers_s = False, 0.0
    # Also of a node that its kubelet has never reported of: it is switched off like a silent one.
    if node is None or node.ready is not True:
        off = await access.power.is_off(intent.node)
    if node is not None:
        answers_s = access.answering.seconds(
            node.metadata.uid, node.ready_since, answers=node.ready is True
        )
    return Reading(
        own={
            PODS: pods_text(pods),
            OFF: intent.node if off else "",
            ANSWERS_FOR: f"{answers_s:.3f}",
        },
        proven_dead=off,
    )
