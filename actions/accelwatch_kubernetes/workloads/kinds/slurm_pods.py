"""Pods that are nodes of a Slurm cluster: slurmd inside Kubernetes. Pure.

Slurm does not learn of its eviction (aicr#2615): its jobs die with it, and Slurm may not requeue
them. Its jobs are Slurm's to move, by the action `slurm` over the same nodes.

Sources: slurm-operator 1.3 (labels of NodeSet pods; only a cordon is passed on to Slurm, as a drain);
Soperator 3 (labels of worker pods, which an OpenKruise StatefulSet owns).
"""

from collections.abc import Iterable

from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.objects.workload import Workload, group_of
from accelwatch_kubernetes.workloads.kinds.core_kinds import RUNS_ON, STATEFUL_SET
from accelwatch_kubernetes.workloads.kinds.kind import Kind, Texts
from accelwatch_kubernetes.workloads.kinds.other_policies import evaluate_stateful
from accelwatch_kubernetes.workloads.kinds.outcome import Departure, Fate, Outcome

_NAME, _COMPONENT = "app.kubernetes.io/name", "app.kubernetes.io/component"
_SLINKY_NODE, _SOPERATOR_WORKER = "nodeset.slinky.slurm.net/pod-hostname", "slurm.nebius.ai/worker"
# API groups of the operators.
_GROUPS = frozenset({"slinky.slurm.net", "slurm.nebius.ai"})
# Name of the container.
SLURMD = "slurmd"
_TEXTS = Texts(
    taint=f"{RUNS_ON}; Slurm does not learn of a taint",
    eviction="slurmd ends with its jobs, and Slurm does not learn of it: never evicted",
    deletion="as an eviction: never deleted",
    no_execute="as an eviction, and no PodDisruptionBudget is checked",
    failure="none; its Slurm jobs die",
    restart="never asked: the action `slurm` drains the node and moves its jobs",
)


def is_slurmd(pod: Pod) -> bool:
    """Whether a pod is a node of a Slurm cluster: by its labels, its owner, or its container."""
    labels = pod.metadata.labels
    named = (labels.get(_NAME), labels.get(_COMPONENT)) == ("slurmd", "worker")
    if named or _SLINKY_NODE in labels or labels.get(_SOPERATOR_WORKER) == "true":
        return True
    groups = {group_of(owner.api_version) for owner in pod.metadata.owner_references}
    return not groups.isdisjoint(_GROUPS) or any(
        container.name == SLURMD for container in pod.spec.containers
    )


def slurm_node(pod: Pod) -> str:
    """The name that Slurm has for a pod which is one of its nodes."""
    return pod.metadata.labels.get(_SLINKY_NODE) or pod.metadata.name


def slurm_text(pods: Iterable[Pod]) -> str:
    """That nodes of Slurm run among some pods, for people; empty where none does."""
    nodes = sorted(slurm_node(pod) for pod in pods if is_slurmd(pod) and not pod.is_over)
    if not nodes:
        return ""
    listed = ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
    subject = f"Slurm node {listed} runs" if len(nodes) == 1 else f"Slurm nodes {listed} run"
    return f"{subject} here as pods: their jobs are Slurm's, and a taint tells Slurm nothing"


def evaluate_slurmd(_workload: Workload, _departure: Departure, _below: Outcome) -> Outcome:
    """Never right: the jobs of the node die, and their scheduler does not know."""
    text = (
        "slurmd goes with its Slurm jobs, and evicting it tells Slurm nothing: drain the node in "
        "Slurm"
    )
    return Outcome(fate=Fate.FAILED, text=text)


def _node_set(name: str, group: str, versions: tuple[str, ...]) -> Kind:
    return Kind(
        name=name,
        group=group,
        kind="NodeSet",
        plural="nodesets",
        versions=versions,
        evaluate=evaluate_slurmd,
        texts=_TEXTS,
    )


SLURM_KINDS = (
    _node_set("NodeSet", "slinky.slurm.net", ("v1beta1", "v1alpha1")),
    _node_set("NodeSet.slurm.nebius.ai", "slurm.nebius.ai", ("v1alpha1",)),
    # Of Soperator's workers, and of services.
    Kind(
        name="StatefulSet.apps.kruise.io",
        group="apps.kruise.io",
        kind="StatefulSet",
        plural="statefulsets",
        versions=("v1beta1",),
        evaluate=evaluate_stateful,
        texts=STATEFUL_SET.texts,
    ),
)
