"""From a pod to its job."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import JobKey
from accelwatch_kubernetes.objects.metadata import Metadata, OwnerReference
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.workloads.owner_index import OwnerIndex
from support.kubernetes.pods import Object, pod, pod_of
from support.kubernetes.workloads import CREATED_S, controller, lineage, workload

RETRY, USER = "accelwatch.io/retry", "accelwatch.io/user"


def _index(*documents: Object, most: int = 100) -> OwnerIndex:
    """One that has read some objects."""
    index = OwnerIndex("k", most)
    for document in documents:
        reference = msgspec.convert(controller(document), OwnerReference)
        index.add(reference, "ml", msgspec.convert(document["metadata"], Metadata))
    return index


def _chain(*documents: Object) -> tuple[Pod, OwnerIndex]:
    """A pod, and an index in which each object belongs to the next; the pod to the first."""
    for below, above in pairwise(documents):
        below["metadata"]["ownerReferences"] = [controller(above)]
    first = documents[0]
    owner = (first["apiVersion"], first["kind"], first["metadata"]["name"])
    return pod_of(pod(owner=owner)), _index(*documents)


def _id(*documents: Object) -> str:
    those, index = _chain(*documents)
    job = index.job_of_pod(those)
    return "" if job is None else job.key.id


JOBSET, TRAIN = "jobset.x-k8s.io/v1alpha2", "trainer.kubeflow.org/v1alpha1"


@pytest.mark.parametrize(
    ("chain", "id_"),
    [
        ([("apps/v1", "ReplicaSet", "r"), ("apps/v1", "Deployment", "web")], "ml/Deployment/web"),
        ([("batch/v1", "Job", "j")], "ml/Job/j"),
        ([("batch/v1", "Job", "j"), ("batch/v1", "CronJob", "nightly")], "ml/Job/j"),
        (
            [("batch/v1", "Job", "j"), (JOBSET, "JobSet", "s"), (TRAIN, "TrainJob", "t")],
            "ml/TrainJob/t",
        ),
        (
            [
                ("apps/v1", "StatefulSet", "workers"),
                ("v1", "Pod", "leader"),
                ("apps/v1", "StatefulSet", "leaders"),
                ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws"),
            ],
            "ml/LeaderWorkerSet/lws",
        ),
        ([("batch.volcano.sh/v1alpha1", "Job", "v")], "ml/vcjob/v"),
        ([("kubeflow.org/v1", "PyTorchJob", "p")], "ml/PyTorchJob/p"),
        (
            [("batch/v1", "Job", "m-launcher"), ("kubeflow.org/v2beta1", "MPIJob", "m")],
            "ml/MPIJob/m",
        ),
        # A version of tomorrow is the same kind.
        ([("jobset.x-k8s.io/v1", "JobSet", "s")], "ml/JobSet/s"),
    ],
)
def test_the_topmost_workload_that_we_know_is_the_job(
    chain: list[tuple[str, str, str]], id_: str
) -> None:
    assert _id(*(workload(*entry) for entry in chain)) == id_


def test_a_key_says_when_the_job_was_made() -> None:
    those, index = _chain(workload("batch/v1", "Job"))
    job = index.job_of_pod(those)
    assert job is not None
    assert job.key == JobKey("k", "ml/Job/trainer", CREATED_S)


def test_a_kind_without_a_row_is_kept_by_its_name_and_not_read() -> None:
    those = pod_of(pod(owner=("ray.io/v1", "RayCluster", "ray")))
    index = OwnerIndex("k")
    assert index.missing([those]) == {}
    job = index.job_of_pod(those)
    assert job is not None
    assert job.key == JobKey("k", "ml/RayCluster/ray", 0.0)


def test_one_whose_name_is_that_of_a_row_gets_its_group() -> None:
    assert _id(workload("example.com/v1", "Job", "x")) == "ml/Job.example.com/x"


def test_what_owns_a_job_and_has_no_row_is_not_the_job() -> None:
    chain = (workload("batch/v1", "Job", "j"), workload("example.com/v1", "Sweep", "s"))
    assert _id(*chain) == "ml/Job/j"
    assert lineage(*chain).key("k") == JobKey("k", "ml/Job/j", CREATED_S)


def test_an_owner_is_read_once_and_until_then_there_is_no_job() -> None:
    job, jobset = workload("batch/v1", "Job", "j"), workload(JOBSET, "JobSet", "s")
    job["metadata"]["ownerReferences"] = [controller(jobset)]
    those = [pod_of(pod(f"p{at}", owner=("batch/v1", "Job", "j"))) for at in range(3)]
    index = OwnerIndex("k")
    assert set(index.missing(those)) == {"uid-of-j"}
    assert index.job_of_pod(those[0]) is None
    reference = msgspec.convert(controller(job), OwnerReference)
    index.add(reference, "ml", msgspec.convert(job["metadata"], Metadata))
    assert set(index.missing(those)) == {"uid-of-s"}
    reference = msgspec.convert(controller(jobset), OwnerReference)
    index.add(reference, "ml", msgspec.convert(jobset["metadata"], Metadata))
    assert index.missing(those) == {}
    assert index.job_of_pod(those[0]) == index.job_of_pod(those[2])


def test_an_owner_that_is_gone_or_has_a_namesake_is_kept_by_its_name() -> None:
    those = pod_of(pod(owner=("batch/v1", "Job", "j")))
    reference = those.controller
    assert reference is not None
    for metadata in (
        None,
        Metadata(name="j", uid="another", creation_timestamp="2026-11-28T12:00:00Z"),
    ):
        index = OwnerIndex("k")
        index.add(reference, "ml", metadata)
        job = index.job_of_pod(those)
        assert job is not None
        assert job.key == JobKey("k", "ml/Job/j", 0.0)


def test_no_more_owners_are_kept_than_the_bound() -> None:
    documents = [workload("batch/v1", "Job", f"j{at}") for at in range(5)]
    index = _index(*documents, most=3)
    those = [pod_of(pod(owner=("batch/v1", "Job", f"j{at}"))) for at in range(5)]
    assert set(index.missing(those)) == {"uid-of-j0", "uid-of-j1"}


def test_a_circle_of_owners_has_an_end() -> None:
    one, two = workload(JOBSET, "JobSet", "one"), workload(JOBSET, "JobSet", "two")
    one["metadata"]["ownerReferences"] = [controller(two)]
    two["metadata"]["ownerReferences"] = [controller(one)]
    index = _index(one, two)
    those = pod_of(pod(owner=(JOBSET, "JobSet", "one")))
    assert index.missing([those]) == {}
    assert index.job_of_pod(those) is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"owner": ("apps/v1", "DaemonSet", "dcgm")},
        {"owner": ("v1", "Node", "n1"), "annotations": {"kubernetes.io/config.mirror": "x"}},
        {"owner": ("slinky.slurm.net/v1beta1", "NodeSet", "gpu")},
        {"labels": {"slurm.nebius.ai/worker": "true"}},
    ],
)
def test_what_belongs_to_the_node_or_to_slurm_is_no_job(fields: Any) -> None:
    owner = fields.get("owner")
    index = OwnerIndex("k") if owner is None else _index(workload(*owner))
    those = pod_of(pod(**fields))
    assert index.job_of_pod(those) is None


def test_a_pod_of_nobody_is_its_own_job() -> None:
    those = pod_of(pod("alone", owner=None, annotations={USER: "ada", RETRY: "true"}))
    job = OwnerIndex("k").job_of_pod(those)
    assert job is not None
    assert (job.key, job.user, job.is_retried) == (
        JobKey("k", "ml/Pod/alone", CREATED_S),
        "ada",
        True,
    )


@pytest.mark.parametrize(
    ("fields", "kind", "version"),
    [
        (
            {"annotations": {"scheduling.k8s.io/group-name": "g"}},
            "PodGroup",
            "scheduling.volcano.sh/v1beta1",
        ),
        ({"labels": {"kueue.x-k8s.io/pod-group-name": "g"}}, "Workload", "kueue.x-k8s.io/v1beta2"),
    ],
)
def test_pods_of_nobody_that_say_so_are_a_group(fields: Any, kind: str, version: str) -> None:
    those = pod_of(pod(owner=None, **fields))
    index = OwnerIndex("k")
    ((uid, (namespace, reference)),) = index.missing([those]).items()
    assert (uid, namespace, reference.api_version) == (f"ml/{kind}/g", "ml", version)
    document = workload(version, kind, "g")
    index.add(reference, namespace, msgspec.convert(document["metadata"], Metadata))
    job = index.job_of_pod(those)
    assert job is not None
    assert job.key == JobKey("k", f"ml/{kind}/g", CREATED_S)


def test_jobs_of_a_node_with_their_users_and_who_wants_them_again() -> None:
    again = workload("batch/v1", "Job", "again", annotations={RETRY: "true", USER: "ada"})
    index = _index(again, workload("batch/v1", "Job", "once"))
    those = [
        pod_of(pod("a", owner=("batch/v1", "Job", "again"))),
        pod_of(pod("b", owner=("batch/v1", "Job", "again"), node="n2")),
        pod_of(pod("c", owner=("batch/v1", "Job", "once"))),
        pod_of(pod("d", owner=("batch/v1", "Job", "once"), node="n3", phase="Succeeded")),
        pod_of(pod("e", owner=("batch/v1", "Job", "once"), node="", phase="Pending")),
    ]
    by_node = index.jobs_by_node(those)
    assert set(by_node) == {"n1", "n2"}
    assert [key.id for key in by_node["n1"].jobs] == ["ml/Job/again", "ml/Job/once"]
    assert [key.id for key in by_node["n1"].restartable] == ["ml/Job/again"]
    assert by_node["n1"].owners == {"ml/Job/again": "ada", "ml/Job/once": "ml"}
    assert [key.id for key in by_node["n2"].jobs] == ["ml/Job/again"]


def test_a_pod_may_say_who_its_user_is_where_its_owner_does_not() -> None:
    index = _index(workload("batch/v1", "Job", "j"))
    plain = pod_of(pod("a", owner=("batch/v1", "Job", "j")))
    annotated = pod_of(pod("b", owner=("batch/v1", "Job", "j"), annotations={USER: "ada"}))
    jobs = [index.job_of_pod(those) for those in (plain, annotated, plain)]
    assert [job.user for job in jobs if job is not None] == ["ml", "ada", "ml"]
    owned = _index(workload("batch/v1", "Job", "j", annotations={USER: "bob"}))
    job = owned.job_of_pod(annotated)
    assert job is not None
    assert job.user == "bob"


def test_a_job_is_not_known_any_more_once_its_owner_was_dropped() -> None:
    index = _index(workload("batch/v1", "Job", "j0"), most=1)
    those = pod_of(pod(owner=("batch/v1", "Job", "j0")))
    assert index.job_of_pod(those) is not None
    other = workload("batch/v1", "Job", "j1")
    reference = msgspec.convert(controller(other), OwnerReference)
    index.add(reference, "ml", msgspec.convert(other["metadata"], Metadata))
    assert set(index.missing([those])) == {"uid-of-j0"}
    assert index.job_of_pod(those) is None
