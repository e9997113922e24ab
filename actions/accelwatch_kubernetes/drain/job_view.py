"""What an observation shows of a job that is to leave its nodes, and of those nodes. Pure."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from accelwatch.action.intent import Intent
from accelwatch_kubernetes.drain.leaving import Leaving, Stay, leaving
from accelwatch_kubernetes.drain.verdicts import Verdict, verdicts_of
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.objects.pod import Pod, pods_of
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.workloads.lineage import Lineage, lineage_of

# Keys of `own`: the pods of the job, or of the node where the intent is about no job; what they belong
# to; what the server says to their eviction; the nodes that they may not be on; those of them that have
# no power; ids of devices by claim; uids of the pods that were evicted for this intent so far.
PODS, LINEAGE, VERDICTS, BAD_NODES = "pods", "lineage", "verdicts", "bad_nodes"
# And seconds for which the kubelet has been observed to answer, without a break.
CLAIMS, EVICTED, ANSWERS_FOR = "claims", "evicted", "answers_for"
# In `original` of a step that ends a pod, before the pod's uid.
EVICTED_POD = "evicted "


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is to leave its nodes."""

    # All of it that are not over.
    pods: tuple[Pod, ...]
    lineage: Lineage
    # By name, of those that it may not be on.
    bad: Mapping[str, Node]
    # Names of those of them that are known to have no power.
    off: frozenset[str]
    # By the uid of the pod.
    verdicts: Mapping[str, Verdict]
    # Uids of the pods that were evicted for this intent.
    evicted: frozenset[str]
    claims: Mapping[str, frozenset[str]]

    def departing(self, intent: Intent, context: ObservedContext) -> list[Leaving]:
        """What becomes of each of its pods that is where it may not be."""
        return [
            leaving(pod, context.options, intent.device, self.claims)
            for pod in self.pods
            if pod.node in intent.avoided
        ]

    def silent_node(self, pods: Sequence[Pod]) -> str:
        """The first node of some pods whose kubelet does not answer and that may still run them."""
        for pod in pods:
            node = self.bad.get(pod.node)
            if node is not None and node.ready is False and node.name not in self.off:
                return node.name
        return ""


def job_view(context: ObservedContext) -> JobView:
    """What the texts say."""
    own = context.own
    return JobView(
        pods=tuple(pod for pod in pods_of(own.get(PODS, "")) if not pod.is_over),
        lineage=lineage_of(own.get(LINEAGE, "")),
        bad={node.name: node for node in _nodes_of(own.get(BAD_NODES, ""))},
        off=context.off,
        verdicts=verdicts_of(own.get(VERDICTS, "")),
        evicted=frozenset(own.get(EVICTED, "").split(",")) - {""},
        claims=_claims_of(own.get(CLAIMS, "")),
    )


def stay_text(entry: Leaving, device: str) -> str:
    """Why a pod stays, for people."""
    by_device = entry.stay in (Stay.OTHER_DEVICE, Stay.UNKNOWN_DEVICE) and device
    which = f" ({device})" if by_device else ""
    return f"{entry.pod.path} stays on {entry.pod.node}: {entry.stay}{which}"


_NODES = msgspec.json.Decoder(tuple[Node, ...])
_CLAIMS = msgspec.json.Decoder(dict[str, frozenset[str]])


# One observation is read for each of its jobs; the next is another text.
@lru_cache(maxsize=256)
def _nodes_of(text: str) -> tuple[Node, ...]:
    return _NODES.decode(text) if text else ()


# As above.
@lru_cache(maxsize=256)
def _claims_of(text: str) -> Mapping[str, frozenset[str]]:
    return _CLAIMS.decode(text) if text else {}
