"""What is kept of a pod answers as the whole pod does."""

from typing import Any

import msgspec
import pytest

from accelwatch_kubernetes.cache.compact_pod import compact_pod
from accelwatch_kubernetes.objects.metadata import Metadata
from accelwatch_kubernetes.objects.pod import MIRROR, Pod
from accelwatch_kubernetes.workloads.kinds.slurm_pods import is_slurmd
from accelwatch_kubernetes.workloads.lineage import RETRY, USER
from accelwatch_kubernetes.workloads.owner_index import (
    KUEUE_GROUP,
    VOLCANO_GROUP,
    OwnerIndex,
    first_reference,
)
from support.kubernetes.pods import pod

PODS: dict[str, dict[str, Any]] = {
    "of a job": pod(labels={"app": "x"}, annotations={"other": "y"}),
    "of nobody": pod(owner=None, annotations={RETRY: "true", USER: "ada"}),
    "pending": pod(phase="Pending", node=""),
    "that ends": pod(ending=True),
    "static": pod(annotations={MIRROR: "hash"}),
    "of a Volcano group": pod(owner=None, annotations={VOLCANO_GROUP: "g1"}),
    "of a Kueue group": pod(owner=None, labels={KUEUE_GROUP: "g2"}),
    "slurmd by label": pod(labels={"slurm.nebius.ai/worker": "true"}),
    "slurmd by owner": pod(owner=("slinky.slurm.net/v1beta1", "NodeSet", "compute")),
    "slurmd by container": pod(container="slurmd"),
}


@pytest.mark.parametrize("what", PODS)
def test_a_compact_pod_answers_as_the_whole(what: str) -> None:
    whole = msgspec.convert(PODS[what], Pod)
    compact = compact_pod(whole)
    for name in ("key", "path", "node", "is_over", "is_terminating", "runs", "is_mirror"):
        assert getattr(compact, name) == getattr(whole, name)
    assert compact.controller == whole.controller
    assert is_slurmd(compact) == is_slurmd(whole)
    assert first_reference(compact) == first_reference(whole)
    assert compact.metadata.created == whole.metadata.created
    owners = OwnerIndex("cluster")
    assert owners.missing([compact]) == owners.missing([whole])
    for namespace, reference in owners.missing([whole]).values():
        owners.add(reference, namespace, Metadata(uid=reference.uid, name=reference.name))
    assert owners.job_of_pod(compact) == owners.job_of_pod(whole)


def test_nothing_else_of_it_is_kept() -> None:
    compact = compact_pod(msgspec.convert(PODS["of a job"], Pod))
    assert compact.metadata.labels == compact.metadata.annotations == {}
    assert compact.spec.containers == ()
    assert compact.metadata.resource_version == ""


def test_what_pods_share_is_kept_once() -> None:
    one, other = (compact_pod(msgspec.convert(pod(name), Pod)) for name in ("a", "b"))
    assert one.spec is other.spec
    assert one.status is other.status
    assert one.metadata.owner_references is other.metadata.owner_references
