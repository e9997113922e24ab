"""What kinds above a Job, and kinds of their own, make of pods that leave."""

import json
from typing import Any

import pytest

from accelwatch.action.intent import JobKey, OwnerAnnotation
from accelwatch.action.observed import JobState
from accelwatch_kubernetes.workloads.changes import restart_patch, suspend_patch
from accelwatch_kubernetes.workloads.consequences import consequences, consequences_of_restart
from accelwatch_kubernetes.workloads.kinds.outcome import Fate
from accelwatch_kubernetes.workloads.kinds.table import kind_of_workload
from accelwatch_kubernetes.workloads.observed_job import observed_job
from support.kubernetes.pods import Object, pod, pod_of
from support.kubernetes.workloads import (
    CREATED_S,
    condition,
    leaving,
    lineage,
    plain_job,
    pods,
    workload,
)

JOBSET, TRAINER, LWS = (
    "jobset.x-k8s.io/v1alpha2",
    "trainer.kubeflow.org/v1alpha1",
    "leaderworkerset.x-k8s.io/v1",
)
VOLCANO, KUBEFLOW, KUEUE = "batch.volcano.sh/v1alpha1", "kubeflow.org/v1", "kueue.x-k8s.io/v1beta2"
FAILS: Object = {"backoffLimit": 0}


def _jobset(policy: Object | None, status: Object | None = None) -> Object:
    template = {"spec": {"parallelism": 8, "completions": 8}}
    spec: Object = {"replicatedJobs": [{"name": "w", "replicas": 2, "template": template}]}
    if policy is not None:
        spec["failurePolicy"] = policy
    return workload(JOBSET, "JobSet", "llama", spec, status)


def _fate(*chain: Object, **fields: Any) -> Fate:
    return consequences(lineage(*chain), leaving(pod_of(pod(**fields))), pods()).fate


def test_a_jobset_restarts_all_its_pods_when_one_job_fails() -> None:
    jobset = _jobset(
        {"maxRestarts": 3, "restartStrategy": "BlockingRecreate"}, {"restartsCountTowardsMax": 1}
    )
    result = consequences(lineage(plain_job(**FAILS), jobset), leaving(), pods(16))
    assert (result.fate, result.refusal, result.restarted) == (Fate.RESTARTED, "", 16)
    assert result.text.startswith("JobSet ml/llama: eviction of 1 of its 16 pods: ")
    assert result.text.endswith(
        "the JobSet restarts all its Jobs (2 of maxRestarts 3), once all its old pods are gone"
    )


def test_a_jobset_whose_job_survives_replaces_the_pod() -> None:
    assert _fate(plain_job(backoffLimit=6), _jobset(None)) is Fate.REPLACED


def test_in_place_all_pods_restart_though_no_job_fails() -> None:
    jobset = _jobset({"maxRestarts": 3, "restartStrategy": "InPlaceRestart"})
    assert _fate(plain_job(backoffLimit=6), jobset) is Fate.RESTARTED


@pytest.mark.parametrize(
    ("status", "fate"),
    [
        ({"currentInPlaceRestartAttempt": 0}, Fate.RESTARTED),
        ({"currentInPlaceRestartAttempt": 1}, Fate.RESTARTED),
        ({"currentInPlaceRestartAttempt": 2}, Fate.FAILED),
        # Two of three attempts were restarts of the whole JobSet that do not count.
        ({"currentInPlaceRestartAttempt": 3, "restarts": 2}, Fate.RESTARTED),
        (
            {"currentInPlaceRestartAttempt": 3, "restarts": 2, "restartsCountTowardsMax": 1},
            Fate.FAILED,
        ),
    ],
)
def test_in_place_an_eviction_is_one_of_the_jobsets_restarts(status: Object, fate: Fate) -> None:
    jobset = _jobset({"maxRestarts": 2, "restartStrategy": "InPlaceRestart"}, status)
    assert _fate(plain_job(backoffLimit=6), jobset) is fate


def test_in_place_the_plan_says_which_restart_an_eviction_is() -> None:
    policy = {"maxRestarts": 3, "restartStrategy": "InPlaceRestart"}
    job = plain_job(backoffLimit=6)
    jobset = _jobset(policy, {"currentInPlaceRestartAttempt": 1})
    result = consequences(lineage(job, jobset), leaving(), pods())
    assert result.text.endswith("in place (InPlaceRestart, 2 of maxRestarts 3)")
    jobset = _jobset(policy, {"currentInPlaceRestartAttempt": 3})
    result = consequences(lineage(job, jobset), leaving(), pods())
    spent = "the JobSet is failed for good (3 of maxRestarts 3 are spent)"
    assert result.refusal.endswith(spent)
    # Its pods would start with the next attempt after a suspension as well.
    assert not result.prefers_restart
    assert consequences_of_restart(lineage(job, jobset), pods()).endswith(
        f"which counts as no failure; once started again {spent}"
    )


def test_in_place_restarts_are_those_of_the_jobset() -> None:
    kind = kind_of_workload(lineage(_jobset(None)).chain[0])
    for status, count in (
        ({"currentInPlaceRestartAttempt": 2}, 2),
        # The attempts go on when the whole JobSet restarts.
        ({"currentInPlaceRestartAttempt": 2, "restarts": 1}, 2),
        ({"restarts": 3}, 3),
    ):
        jobset = _jobset(None, status)
        assert kind.restarts(lineage(jobset).chain[0]) == count


def test_where_in_place_restart_is_switched_off_only_the_pod_is_replaced() -> None:
    jobset = _jobset({"maxRestarts": 0, "restartStrategy": "InPlaceRestart"})
    jobset["metadata"]["annotations"] = {"jobset.sigs.k8s.io/disable-in-place-restart": ""}
    assert _fate(plain_job(backoffLimit=6), jobset) is Fate.REPLACED


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        (None, {}),
        ({"maxRestarts": 0}, {}),
        ({"maxRestarts": 2}, {"restartsCountTowardsMax": 2}),
        ({"maxRestarts": 2}, {"restarts": 2}),
        ({"maxRestarts": 2}, {"replicatedJobsStatus": [{"jobRestartsCountTowardsMax": [1, 1]}]}),
        ({"maxRestarts": 2, "rules": [{"action": "FailJobSet"}]}, {}),
        ({"maxRestarts": 2, "rules": [{"action": ["?"]}]}, {}),
    ],
)
def test_a_jobset_without_a_restart_left_is_failed(policy: Object | None, status: Object) -> None:
    assert _fate(plain_job(**FAILS), _jobset(policy, status)) is Fate.FAILED


@pytest.mark.parametrize(
    ("rule", "fate"),
    [
        ({"action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}, Fate.RESTARTED),
        ({"action": "FailJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]}, Fate.FAILED),
        ({"action": "FailJobSet", "targetReplicatedJobs": ["driver"]}, Fate.RESTARTED),
        ({"action": "FailJobSet", "targetReplicatedJobs": ["w"]}, Fate.FAILED),
        ({"action": "FailJobSet", "onJobFailureMessagePatterns": ["x"]}, Fate.FAILED),
        ({"action": "RestartJobSetAndIgnoreMaxRestarts"}, Fate.RESTARTED),
    ],
)
def test_rules_of_a_jobset_go_by_reason_and_replicated_job(rule: Object, fate: Fate) -> None:
    jobset = _jobset({"maxRestarts": 1, "rules": [rule]})
    of_job = {"jobset.sigs.k8s.io/replicatedjob-name": "w"}
    assert _fate(plain_job(**FAILS), jobset, labels=of_job) is fate


def test_a_rule_that_goes_by_a_message_is_not_relied_on() -> None:
    rule = {"action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureMessagePatterns": ["x"]}
    assert _fate(plain_job(**FAILS), _jobset({"maxRestarts": 0, "rules": [rule]})) is Fate.FAILED


def test_what_may_fail_the_job_may_fail_the_jobset() -> None:
    codes = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [143]}}
    job = plain_job(podFailurePolicy={"rules": [codes]})
    assert _fate(job, _jobset(None)) is Fate.ENDANGERED


def test_trap_21_a_failed_trainjob_stays_failed_whatever_its_jobset_does() -> None:
    failed = workload(TRAINER, "TrainJob", "llm", status={"conditions": [condition("Failed")]})
    chain = lineage(plain_job(), _jobset({"maxRestarts": 3}), failed)
    key = JobKey("k", "ml/TrainJob/llm", CREATED_S)
    assert observed_job(key, chain, pods()).state is JobState.COMPLETING
    observed = observed_job(key, chain, ())
    assert (observed.state, observed.failed) == (JobState.FINISHED, True)
    assert consequences(chain, leaving(), pods()).fate is Fate.UNCHANGED
    assert suspend_patch(chain) is None


def test_trap_21_nothing_below_a_trainjob_is_changed() -> None:
    chain = lineage(plain_job(**FAILS), _jobset(None), workload(TRAINER, "TrainJob", "llm"))
    result = consequences(chain, leaving(), pods())
    assert result.fate is Fate.FAILED
    patch = suspend_patch(chain)
    assert patch is not None
    assert patch.path == "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ml/trainjobs/llm"


@pytest.mark.parametrize(
    ("policy", "index", "fate"),
    [
        ("", "1", Fate.RESTARTED),
        ("RecreateGroupAfterStart", "1", Fate.RESTARTED),
        ("None", "1", Fate.REPLACED),
        ("None", "0", Fate.RESTARTED),
    ],
)
def test_a_group_of_a_leaderworkerset_restarts_together(
    policy: str, index: str, fate: Fate
) -> None:
    template: Object = {"size": 4} | ({"restartPolicy": policy} if policy else {})
    sets = (
        workload("apps/v1", "StatefulSet", "lws"),
        workload(LWS, "LeaderWorkerSet", spec={"leaderWorkerTemplate": template}),
    )
    assert _fate(*sets, labels={"leaderworkerset.sigs.k8s.io/worker-index": index}) is fate


def _vcjob(*policies: Object, status: Object | None = None, **spec: Any) -> Object:
    return workload(VOLCANO, "Job", spec={"policies": list(policies), **spec}, status=status)


def test_trap_19_restart_task_triggers_itself_up_to_max_retry() -> None:
    job = _vcjob({"event": "PodEvicted", "action": "RestartTask"})
    result = consequences(lineage(job), leaving(), pods())
    assert result.fate is Fate.ENDANGERED
    assert "trigger it again, up to maxRetry 3" in result.refusal


def test_trap_19_the_policy_for_pods_that_fail_comes_before_the_one_for_evictions() -> None:
    job = _vcjob(
        {"event": "PodEvicted", "action": "RestartJob"},
        {"event": "PodFailed", "action": "TerminateJob"},
    )
    result = consequences(lineage(job), leaving(), pods())
    assert result.fate is Fate.ENDANGERED
    assert "its policy for PodFailed is TerminateJob" in result.refusal


@pytest.mark.parametrize(
    ("policy", "fate"),
    [
        ({"event": "PodEvicted", "action": "RestartJob"}, Fate.RESTARTED),
        ({"events": ["PodFailed", "PodEvicted"], "action": "RestartJob"}, Fate.RESTARTED),
        ({"event": "*", "action": "AbortJob"}, Fate.STOPPED),
        ({"event": "PodEvicted", "action": "TerminateJob"}, Fate.FAILED),
        ({"event": "PodEvicted", "action": "CompleteJob"}, Fate.FAILED),
        ({"exitCode": 143, "action": "AbortJob"}, Fate.ENDANGERED),
        ({"exitCode": 3, "action": "AbortJob"}, Fate.REPLACED),
        ({"event": "TaskCompleted", "action": "CompleteJob"}, Fate.REPLACED),
    ],
)
def test_policies_of_a_volcano_job(policy: Object, fate: Fate) -> None:
    assert _fate(_vcjob(policy)) is fate


def test_a_volcano_job_at_its_last_retry_is_failed() -> None:
    policy = {"event": "PodEvicted", "action": "RestartJob"}
    assert _fate(_vcjob(policy, status={"retryCount": 1})) is Fate.RESTARTED
    assert _fate(_vcjob(policy, status={"retryCount": 2})) is Fate.FAILED
    assert _fate(_vcjob(policy, status={"retryCount": 2}, maxRetry=9)) is Fate.RESTARTED


def test_a_policy_of_the_pods_task_comes_first() -> None:
    tasks = [{"name": "worker", "policies": [{"event": "PodEvicted", "action": "RestartJob"}]}]
    job = _vcjob({"event": "PodEvicted", "action": "TerminateJob"}, tasks=tasks)
    assert _fate(job, annotations={"volcano.sh/task-spec": "worker"}) is Fate.RESTARTED
    assert _fate(job, annotations={"volcano.sh/task-spec": "master"}) is Fate.FAILED


@pytest.mark.parametrize(
    ("policy", "type_", "fate"),
    [
        ("Never", "worker", Fate.ENDANGERED),
        ("OnFailure", "worker", Fate.REPLACED),
        ("Never", "master", Fate.REPLACED),
        ("Never", "", Fate.ENDANGERED),
    ],
)
def test_a_replica_that_never_restarts_may_fail_a_pytorchjob(
    policy: str, type_: str, fate: Fate
) -> None:
    specs = {
        "Worker": {"restartPolicy": policy, "replicas": 3},
        "Master": {"restartPolicy": "OnFailure"},
    }
    job = workload(KUBEFLOW, "PyTorchJob", spec={"pytorchReplicaSpecs": specs})
    labels = {"training.kubeflow.org/replica-type": type_} if type_ else {}
    assert _fate(job, labels=labels) is fate


@pytest.mark.parametrize(("limit", "fate"), [(None, Fate.RESTARTED), (0, Fate.ENDANGERED)])
def test_an_mpijob_is_as_patient_as_its_launcher(limit: int | None, fate: Fate) -> None:
    policy = {} if limit is None else {"backoffLimit": limit}
    job = workload("kubeflow.org/v2beta1", "MPIJob", spec={"runPolicy": policy})
    assert _fate(job) is fate


def test_the_launcher_of_an_mpijob_fails_it() -> None:
    assert _fate(plain_job(**FAILS), workload("kubeflow.org/v2beta1", "MPIJob")) is Fate.FAILED


@pytest.mark.parametrize(
    ("kind", "fate"),
    [("ReplicaSet", Fate.REPLACED), ("StatefulSet", Fate.REPLACED), ("DaemonSet", Fate.UNCHANGED)],
)
def test_services_are_replaced(kind: str, fate: Fate) -> None:
    assert _fate(workload("apps/v1", kind)) is fate


def test_a_bare_pod_is_gone_for_good() -> None:
    result = consequences(lineage(workload("v1", "Pod")), leaving(), pods())
    assert (result.fate, result.restarted) == (Fate.LOST, 0)
    assert "nothing replaces it" in result.refusal


def test_a_kind_without_a_row_is_reported_as_unknown() -> None:
    result = consequences(lineage(workload("ray.io/v1", "RayCluster")), leaving(), pods())
    assert (result.fate, result.refusal) == (Fate.UNKNOWN, "")
    assert "what the controller of RayCluster trainer does is not known" in result.text


def test_what_has_no_row_changes_nothing_of_what_is_below_it() -> None:
    sweep = workload("example.com/v1", "Sweep", "s")
    result = consequences(lineage(plain_job(**FAILS), sweep), leaving(), pods())
    assert result.fate is Fate.FAILED
    assert result.text.startswith("Job ml/trainer (Sweep s): ")
    assert "what the controller of Sweep s does is not known" in result.text


def _queued(topology: bool, active: bool = True) -> Object:
    assignment = {
        "name": "main",
        "topologyAssignment": {"levels": ["hostname"]} if topology else None,
    }
    return workload(
        KUEUE,
        "Workload",
        "job-trainer-1",
        {"active": active, "podSets": [{"count": 63}]},
        {"admission": {"podSetAssignments": [assignment]}},
    )


def _in_queue() -> Object:
    job = plain_job(parallelism=63, completions=63)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "research"}
    return job


def test_trap_20_with_topology_a_replacement_is_pinned_to_the_tainted_node() -> None:
    result = consequences(lineage(_in_queue(), queued=_queued(True)), leaving(), pods())
    assert result.prefers_restart
    assert "stays assigned to this node and never starts" in result.text
    assert "Kueue can requeue all 63 pods (queue research)" in result.text
    without = consequences(lineage(_in_queue(), queued=_queued(False)), leaving(), pods())
    assert not without.prefers_restart
    assert "assigned" not in without.text


def test_trap_20_a_queued_job_is_requeued_by_its_workload_and_never_by_its_own_suspend() -> None:
    chain = lineage(_in_queue(), queued=_queued(True))
    patch = suspend_patch(chain, OwnerAnnotation("i7", 3))
    assert patch is not None
    assert patch.path == "/apis/kueue.x-k8s.io/v1beta2/namespaces/ml/workloads/job-trainer-1"
    assert json.loads(patch.body)["spec"] == {"active": False}
    assert consequences_of_restart(chain, ()).startswith(
        "Job ml/trainer: Kueue can requeue all 63 pods"
    )
    assert suspend_patch(lineage(_in_queue())) is None


def test_a_queued_job_is_put_back_into_its_queue() -> None:
    document = _queued(True, active=False)
    document["metadata"]["annotations"] = {"accelwatch.io/suspended": '{"incident":"i7","token":3}'}
    patch = restart_patch(lineage(_in_queue(), queued=document), ())
    assert patch is not None
    assert json.loads(patch.body)["spec"] == {"active": True}


@pytest.mark.parametrize(
    "fields",
    [
        {"labels": {"nodeset.slinky.slurm.net/pod-hostname": "gpu-3"}},
        {"labels": {"app.kubernetes.io/name": "slurmd", "app.kubernetes.io/component": "worker"}},
        {"labels": {"slurm.nebius.ai/worker": "true"}},
        {"owner": ("slinky.slurm.net/v1beta1", "NodeSet", "gpu")},
        {"container": "slurmd"},
    ],
)
def test_trap_22_evicting_slurmd_changes_nothing_in_slurm(fields: Object) -> None:
    owner = workload("apps.kruise.io/v1beta1", "StatefulSet")
    slurmd = pod_of(pod(**fields))
    result = consequences(lineage(owner), leaving(slurmd), pods())
    assert result.fate is Fate.FAILED
    assert "tells Slurm nothing" in result.refusal
    assert not result.prefers_restart


def test_a_service_of_open_kruise_is_replaced() -> None:
    assert _fate(workload("apps.kruise.io/v1beta1", "StatefulSet")) is Fate.REPLACED
