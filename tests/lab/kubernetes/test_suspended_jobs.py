"""The stand-in's Job controller: what a suspension ends is no failure of the job."""

from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.controllers.jobs import JobController
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import JOBS, PODS

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "trainer", "namespace": "default", "uid": "j"},
    "spec": {
        **{"parallelism": 1, "completions": 1, "backoffLimit": 0, "suspend": False},
        **{"podReplacementPolicy": "TerminatingOrFailed", "completionMode": "NonIndexed"},
        "template": {"metadata": {}, "spec": {"containers": [{"name": "main"}]}},
    },
    "status": {},
}


def test_a_pod_that_ends_before_the_next_turn_is_none() -> None:
    cluster = Cluster()
    cluster.store.put(JOBS, JOB)
    controller = JobController(cluster)
    controller.round()
    (pod,) = cluster.store.objects(PODS)
    cluster.store.put(
        PODS, {**pod, "spec": {**pod["spec"], "nodeName": "n1"}, "status": {"phase": "Running"}}
    )
    (job,) = cluster.store.objects(JOBS)
    cluster.store.put(JOBS, {**job, "spec": {**job["spec"], "suspend": True}})
    controller.round()
    (pod,) = cluster.store.objects(PODS)
    assert "deletionTimestamp" in pod["metadata"]
    cluster.store.put(PODS, {**pod, "status": {"phase": "Failed"}})
    controller.round()
    (job,) = cluster.store.objects(JOBS)
    assert [each["type"] for each in job["status"]["conditions"]] == ["Suspended"]
    assert "failed" not in job["status"]


def test_a_pod_that_no_controller_counts_is_deleted_too() -> None:
    cluster = Cluster()
    cluster.store.put(JOBS, {**JOB, "spec": {**JOB["spec"], "suspend": True}})
    owners = [{"kind": "Job", "name": "trainer", "uid": "j"}]
    metadata = {"name": "by-hand", "namespace": "default", "uid": "p", "ownerReferences": owners}
    spec = {"nodeName": "n1", "containers": [{"name": "main"}]}
    cluster.store.put(PODS, {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}})
    JobController(cluster).round()
    (pod,) = cluster.store.objects(PODS)
    assert "deletionTimestamp" in pod["metadata"]
