"""A pod with what leads from it to its job and its node, and nothing else of it. Pure.

Half a KiB is left of 5 to 10. What many pods share is one object for all of them.
"""

from collections.abc import Mapping
from functools import lru_cache
from sys import intern

from accelwatch_kubernetes.objects.metadata import Metadata, OwnerReference
from accelwatch_kubernetes.objects.pod import MIRROR, Container, Pod, PodSpec, PodStatus
from accelwatch_kubernetes.workloads.kinds.slurm_pods import SLURMD, is_slurmd
from accelwatch_kubernetes.workloads.lineage import RETRY, USER
from accelwatch_kubernetes.workloads.owner_index import KUEUE_GROUP, VOLCANO_GROUP

_LABELS = (KUEUE_GROUP,)
_ANNOTATIONS = (MIRROR, RETRY, USER, VOLCANO_GROUP)
# Nodes of the largest cluster (Kubernetes: 5,000), with some that come and go.
_MOST_NODES = 8192
# Pods of a Job come one after the other in a list.
_MOST_OWNERS = 8192


def compact_pod(pod: Pod) -> Pod:
    """What is kept of it: enough for its node, phase, controller and job."""
    metadata = pod.metadata
    owner = pod.controller
    return Pod(
        metadata=Metadata(
            name=metadata.name,
            namespace=intern(metadata.namespace),
            uid=metadata.uid,
            creation_timestamp=intern(metadata.creation_timestamp),
            deletion_timestamp=metadata.deletion_timestamp,
            labels=_kept(metadata.labels, _LABELS),
            annotations=_kept(metadata.annotations, _ANNOTATIONS),
            owner_references=()
            if owner is None
            else _owners(owner.api_version, owner.kind, owner.name, owner.uid),
        ),
        spec=_spec(pod.node, is_slurmd(pod)),
        status=_status(pod.status.phase),
    )


_NOTHING: dict[str, str] = {}


def _kept(values: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    if not any(name in values for name in names):
        return _NOTHING
    return {name: intern(values[name]) for name in names if name in values}


# 100,000 pods have few owners, specifications and phases: equal ones are one object in memory.
@lru_cache(_MOST_OWNERS)
def _owners(api_version: str, kind: str, name: str, uid: str) -> tuple[OwnerReference, ...]:
    reference = OwnerReference(
        api_version=api_version, kind=kind, name=name, uid=uid, controller=True
    )
    return (reference,)


# As above.
@lru_cache(_MOST_NODES)
def _spec(node: str, runs_slurmd: bool) -> PodSpec:
    containers = (Container(name=SLURMD),) if runs_slurmd else ()
    return PodSpec(node_name=node, containers=containers)


# There are five phases.
@lru_cache(16)
def _status(phase: str) -> PodStatus:
    return PodStatus(phase=phase)
