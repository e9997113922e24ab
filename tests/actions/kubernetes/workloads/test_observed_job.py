"""A job as its own status and its pods show it."""

from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobObservation, JobState
from accelwatch_kubernetes.objects.metadata import OwnerReference
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.workloads.lineage import Lineage, lineage_of, lineage_text, stub_of
from accelwatch_kubernetes.workloads.observed_job import observed_job
from support.kubernetes.pods import Object, pod, pod_of
from support.kubernetes.workloads import (
    CREATED_S,
    condition,
    controller,
    lineage,
    plain_job,
    pods,
    workload,
)

KEY = JobKey("k", "ml/Job/trainer", CREATED_S)
VOLCANO = JobKey("k", "ml/vcjob/trainer", CREATED_S)
INDEXED: Object = {"completionMode": "Indexed", "parallelism": 2, "completions": 2}


def _observed(chain: Lineage, those: tuple[Pod, ...] = (), key: JobKey = KEY) -> JobObservation:
    return observed_job(key, chain, those)


def _state(job: Object, those: tuple[Pod, ...] = ()) -> JobState:
    return _observed(lineage(job), those).state


def test_a_running_job_has_the_nodes_of_its_pods() -> None:
    those = (
        pod_of(pod("a", node="n2")),
        pod_of(pod("b", node="n1")),
        pod_of(pod("c", node="n9", phase="Failed")),
    )
    observed = _observed(lineage(plain_job()), those)
    assert (observed.state, observed.nodes) == (JobState.RUNNING, ("n1", "n2"))
    assert observed.submitted == CREATED_S


def test_it_runs_since_its_latest_pod_started() -> None:
    those = (
        pod_of(pod("a", created="2026-11-28T10:00:00Z")),
        pod_of(pod("b", created="2026-11-28T12:00:00Z")),
    )
    assert _observed(lineage(plain_job()), those).started == CREATED_S + 7200.0


def test_a_gang_waits_while_one_of_its_pods_does() -> None:
    pending = pod_of(pod("b", node="", phase="Pending"))
    assert _state(plain_job(**INDEXED), pods(2)) is JobState.RUNNING
    assert _state(plain_job(**INDEXED), (*pods(1), pending)) is JobState.WAITING
    assert _state(plain_job(**INDEXED), pods(1)) is JobState.WAITING
    assert _state(plain_job({"succeeded": 1}, **INDEXED), pods(1)) is JobState.RUNNING


def test_a_gang_is_ending_while_one_of_its_pods_is() -> None:
    assert _state(plain_job(**INDEXED), (*pods(1), *pods(1, ending=True))) is JobState.COMPLETING


def test_pods_that_know_nothing_of_each_other_need_not_all_run() -> None:
    pending = pod_of(pod("b", node="", phase="Pending"))
    assert _state(plain_job(), (*pods(1), pending, *pods(1, ending=True))) is JobState.RUNNING
    assert _state(plain_job(), pods(1, ending=True)) is JobState.COMPLETING
    assert _state(plain_job(), (pending, *pods(1, ending=True))) is JobState.WAITING
    assert _state(plain_job()) is JobState.WAITING


@pytest.mark.parametrize(
    ("type_", "failed"), [("Complete", False), ("Failed", True), ("FailureTarget", True)]
)
def test_it_has_ended_when_its_condition_says_so_and_no_pod_is_left(
    type_: str, failed: bool
) -> None:
    job = plain_job(
        {"conditions": [condition(type_, "BackoffLimitExceeded", "Job has reached it")]}
    )
    assert _observed(lineage(job), pods(ending=True)).state is JobState.COMPLETING
    observed = _observed(lineage(job))
    assert (observed.state, observed.failed) == (JobState.FINISHED, failed)
    assert observed.text == "BackoffLimitExceeded: Job has reached it"


def test_a_condition_that_does_not_hold_says_nothing() -> None:
    job = plain_job({"conditions": [{"type": "Failed", "status": "False"}, {"type": 7}]})
    assert _state(job, pods()) is JobState.RUNNING


def test_a_suspended_job_is_held_once_its_pods_are_gone() -> None:
    job = plain_job({"conditions": [condition("Suspended", "JobSuspended")]}, suspend=True)
    assert _state(job, pods(ending=True)) is JobState.COMPLETING
    observed = _observed(lineage(job))
    assert (observed.state, observed.text) == (JobState.HELD, "JobSuspended")


def test_a_job_that_a_queue_has_not_admitted_waits() -> None:
    job = plain_job(suspend=True)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "research"}
    evicted = {"conditions": [condition("Evicted", "Preempted", "a higher priority")]}
    queued = workload("kueue.x-k8s.io/v1beta2", "Workload", "w", {"active": True}, evicted)
    observed = _observed(lineage(job, queued=queued))
    assert (observed.state, observed.text) == (JobState.WAITING, "Preempted: a higher priority")
    queued["spec"]["active"] = False
    assert _observed(lineage(job, queued=queued)).state is JobState.HELD


def test_a_job_that_is_gone_or_another_one_of_its_name_is_missing() -> None:
    assert _observed(lineage()).state is JobState.MISSING
    later = JobKey("k", "ml/Job/trainer", CREATED_S - 60.0)
    assert _observed(lineage(plain_job()), pods(), later).state is JobState.MISSING
    unknown = JobKey("k", "ml/Job/trainer", 0.0)
    assert _observed(lineage(plain_job()), pods(), unknown).state is JobState.RUNNING


def test_one_that_is_being_deleted_ends_with_its_last_pod() -> None:
    job = workload("batch/v1", "Job", deletionTimestamp="2026-11-28T11:00:00Z")
    assert _state(job, pods()) is JobState.COMPLETING
    assert _state(job) is JobState.MISSING


@pytest.mark.parametrize(
    ("phase", "state", "failed"),
    [
        ("Pending", JobState.WAITING, False),
        ("Restarting", JobState.COMPLETING, False),
        ("Aborted", JobState.HELD, False),
        ("Completed", JobState.FINISHED, False),
        ("Failed", JobState.FINISHED, True),
        ("Terminated", JobState.FINISHED, True),
        ("of tomorrow", JobState.WAITING, False),
    ],
)
def test_phases_of_a_volcano_job(phase: str, state: JobState, failed: bool) -> None:
    status = {"state": {"phase": phase, "reason": "R", "message": "why"}, "retryCount": 2}
    observed = _observed(
        lineage(workload("batch.volcano.sh/v1alpha1", "Job", status=status)), (), VOLCANO
    )
    assert (observed.state, observed.failed, observed.restarts) == (state, failed, 2)
    assert observed.text == f"{phase}: R: why"


def test_a_volcano_job_that_says_that_it_runs_is_believed_when_all_its_pods_do() -> None:
    job = workload(
        "batch.volcano.sh/v1alpha1",
        "Job",
        spec={"tasks": [{"replicas": 2}]},
        status={"state": {"phase": "Running"}},
    )
    assert _observed(lineage(job), pods(2), VOLCANO).state is JobState.RUNNING
    assert _observed(lineage(job), pods(1), VOLCANO).state is JobState.WAITING


def test_a_training_runs_without_the_jobs_that_have_initialized_it() -> None:
    """Else a TrainJob whose dataset was fetched would never be seen to run, nor to have moved."""
    jobs = [
        {"name": "dataset", "replicas": 1, "template": {"spec": {}}},
        {"name": "node", "replicas": 1, "template": {"spec": {"parallelism": 2}}},
    ]
    status: Object = {"replicatedJobsStatus": [{"name": "dataset", "succeeded": 1}]}
    train = workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "t")
    key = JobKey("k", "ml/TrainJob/t", CREATED_S)

    def state(status: Object, count: int) -> JobState:
        jobset = workload(
            "jobset.x-k8s.io/v1alpha2", "JobSet", "t", spec={"replicatedJobs": jobs}, status=status
        )
        return _observed(lineage(plain_job(), jobset, train), pods(count), key).state

    assert state(status, 2) is JobState.RUNNING
    assert state(status, 1) is JobState.WAITING
    assert state({}, 2) is JobState.WAITING


def test_a_gang_runs_without_its_pods_that_have_succeeded() -> None:
    volcano = workload(
        "batch.volcano.sh/v1alpha1",
        "Job",
        spec={"tasks": [{"replicas": 2}]},
        status={"state": {"phase": "Running"}, "succeeded": 1},
    )
    assert _observed(lineage(volcano), pods(1), VOLCANO).state is JobState.RUNNING
    torch = workload(
        "kubeflow.org/v1",
        "PyTorchJob",
        spec={"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}},
        status={"replicaStatuses": {"Worker": {"succeeded": 2}}},
    )
    key = JobKey("k", "ml/PyTorchJob/trainer", CREATED_S)
    assert _observed(lineage(torch), pods(2), key).state is JobState.RUNNING
    assert _observed(lineage(torch), pods(1), key).state is JobState.WAITING


def test_the_topmost_that_counts_restarts_says_how_many() -> None:
    status = {"restarts": 2, "replicatedJobsStatus": [{"jobRestarts": [1, 0]}]}
    jobset = workload("jobset.x-k8s.io/v1alpha2", "JobSet", "s", status=status)
    key = JobKey("k", "ml/TrainJob/t", CREATED_S)
    chain = lineage(
        plain_job({"failed": 9}), jobset, workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "t")
    )
    assert _observed(chain, (), key).restarts == 3


def test_failed_pods_count_and_where_none_can_fail_restarts_of_containers() -> None:
    assert _observed(lineage(plain_job({"failed": 2}))).restarts == 2
    within = plain_job({"failed": 0}, template={"spec": {"restartPolicy": "OnFailure"}})
    document = pod()
    document["status"]["containerStatuses"][0]["restartCount"] = 3
    assert _observed(lineage(within), (pod_of(document),)).restarts == 3


@pytest.mark.parametrize(("spec", "requeueable"), [({}, True), ({"backoffLimit": 0}, False)])
def test_it_can_be_restarted_where_an_eviction_does_not_fail_it(
    spec: Any, requeueable: bool
) -> None:
    assert _observed(lineage(plain_job(**spec)), pods()).requeueable is requeueable


def test_a_bare_pod_can_be_restarted_by_nobody_but_its_user() -> None:
    observed = _observed(
        lineage(workload("v1", "Pod")), pods(), JobKey("k", "ml/Pod/trainer", CREATED_S)
    )
    assert (observed.interactive, observed.requeueable) == (True, False)


def test_why_a_pod_waits_is_in_the_schedulers_words() -> None:
    document = pod("a", node="", phase="Pending")
    document["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}
    ]
    assert _observed(lineage(plain_job()), (pod_of(document),)).text == "0/3 nodes are available"


def test_the_user_is_annotated_else_the_namespace() -> None:
    assert _observed(lineage(plain_job())).user == "ml"
    annotated = workload("batch/v1", "Job", annotations={"accelwatch.io/user": "ada"})
    assert _observed(lineage(annotated)).user == "ada"


def test_a_job_whose_owner_cannot_be_read_is_seen_by_its_pods() -> None:
    """Of a kind without a row, or where we may not read it: it is not taken for one that is gone."""
    reference = msgspec.convert(
        controller(workload("ray.io/v1", "RayCluster", "ray")), OwnerReference
    )
    stub = lineage_of(lineage_text([stub_of(reference, "ml")]))
    key = JobKey("k", "ml/RayCluster/ray", 0.0)
    assert observed_job(key, stub, pods(2)).state is JobState.RUNNING
    assert observed_job(key, stub, pods(2)).nodes == ("n0", "n1")
    assert observed_job(key, stub, ()).state is JobState.WAITING
    known = msgspec.convert(controller(plain_job()), OwnerReference)
    chain = lineage_of(lineage_text([stub_of(known, "ml")]))
    unread = JobKey("k", "ml/Job/trainer", 0.0)
    assert observed_job(unread, chain, pods()).state is JobState.RUNNING
    # It was read once, so it is gone by now.
    assert observed_job(KEY, chain, pods()).state is JobState.MISSING
