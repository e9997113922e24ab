"""What a plain Job makes of pods that leave, and how it is stopped without a failure."""

import json

import pytest

from accelwatch.action.intent import OwnerAnnotation
from accelwatch_kubernetes.objects.metadata import OwnerReference
from accelwatch_kubernetes.workloads.changes import (
    is_suspended,
    restart_patch,
    suspend_patch,
    suspended_by,
)
from accelwatch_kubernetes.workloads.consequences import consequences
from accelwatch_kubernetes.workloads.kinds.outcome import Cause, Fate
from accelwatch_kubernetes.workloads.lineage import stub_of
from support.kubernetes.pods import Object, pod, pod_of
from support.kubernetes.workloads import (
    IGNORES,
    condition,
    leaving,
    lineage,
    plain_job,
    pods,
    workload,
)
from support.servers.unreadable_json import DEEP

OURS = OwnerAnnotation("i7", 3)


def test_trap_18_an_eviction_fails_a_job_with_backoff_limit_0_and_is_refused() -> None:
    result = consequences(
        lineage(plain_job(backoffLimit=0, parallelism=4, completions=4)), leaving(), pods(4)
    )
    assert result.fate is Fate.FAILED
    assert result.refusal == result.text
    assert result.text == (
        "Job ml/trainer: eviction of 1 of its 4 pods: an eviction counts as a failure at once: it "
        "is failed for good (backoffLimit 0); instead it can be suspended and started again, all "
        "4 pods, which counts as no failure"
    )
    assert result.prefers_restart


@pytest.mark.parametrize(
    ("version", "kind"), [("batch/v1", "Job"), ("batch.volcano.sh/v1alpha1", "Job")]
)
def test_what_may_not_be_read_is_neither_evicted_nor_changed(version: str, kind: str) -> None:
    """With the limits of the default a Job with backoffLimit 0 would be failed by the eviction."""
    reference = OwnerReference(api_version=version, kind=kind, name="trainer", uid="u")
    unread = lineage(json.loads(stub_of(reference, "ml")))
    result = consequences(unread, leaving(), pods())
    assert result.fate is Fate.ENDANGERED
    assert "could not be read (RBAC: get jobs.batch" in result.refusal
    assert not result.prefers_restart
    assert suspend_patch(unread, OURS) is None


def test_trap_18_the_replacement_stands_beside_the_old_pod() -> None:
    result = consequences(lineage(plain_job(backoffLimit=6)), leaving(), pods())
    assert result.fate is Fate.REPLACED
    assert not result.refusal
    assert "1 of backoffLimit 6" in result.text
    assert "while the old pod may still run" in result.text


def test_trap_18_with_a_policy_the_replacement_waits_for_a_silent_kubelet_for_ever() -> None:
    result = consequences(
        lineage(plain_job(backoffLimit=0, podFailurePolicy=IGNORES)), leaving(), pods()
    )
    assert (result.fate, result.refusal) == (Fate.REPLACED, "")
    assert "ignores the disruption" in result.text
    assert "only after the old pod has ended, on a silent node never" in result.text


@pytest.mark.parametrize(
    ("policy", "waits"), [("Failed", True), ("TerminatingOrFailed", False), (None, False)]
)
def test_when_the_replacement_starts_is_the_jobs_own_choice(
    policy: str | None, waits: bool
) -> None:
    spec: Object = {} if policy is None else {"podReplacementPolicy": policy}
    result = consequences(lineage(plain_job(**spec)), leaving(), pods())
    assert ("only after the old pod has ended" in result.text) is waits


def test_a_deletion_has_no_condition_that_a_policy_could_ignore() -> None:
    job = lineage(plain_job(backoffLimit=0, podFailurePolicy=IGNORES))
    result = consequences(job, leaving(cause=Cause.DELETION), pods())
    assert result.fate is Fate.FAILED
    assert consequences(job, leaving(cause=Cause.NO_EXECUTE), pods()).fate is Fate.REPLACED


@pytest.mark.parametrize(
    ("failed", "leave", "fate"),
    [(0, 1, Fate.REPLACED), (1, 1, Fate.REPLACED), (2, 1, Fate.FAILED), (1, 2, Fate.FAILED)],
)
def test_failures_before_and_all_pods_that_leave_count(failed: int, leave: int, fate: Fate) -> None:
    job = lineage(plain_job({"failed": failed}, backoffLimit=2, parallelism=4, completions=4))
    result = consequences(job, leaving(*pods(leave)), pods(4))
    assert result.fate is fate


@pytest.mark.parametrize(
    ("action", "fate"),
    [
        ("Count", Fate.FAILED),
        ("FailJob", Fate.FAILED),
        ("FailIndex", Fate.FAILED),
        ("Ignore", Fate.REPLACED),
    ],
)
def test_the_rule_for_a_disruption_decides(action: str, fate: Fate) -> None:
    rule = {"action": action, "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    job = lineage(plain_job(backoffLimit=0, podFailurePolicy={"rules": [rule]}))
    assert consequences(job, leaving(), pods()).fate is fate


def test_a_rule_for_exit_codes_before_it_may_fail_the_job_first() -> None:
    codes = {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0, 42]}}
    policy = {"rules": [codes, *IGNORES["rules"]]}
    result = consequences(lineage(plain_job(podFailurePolicy=policy)), leaving(), pods())
    assert result.fate is Fate.ENDANGERED
    assert "exits with 137 or 143" in result.refusal


@pytest.mark.parametrize(
    "codes",
    [
        {"operator": "In", "values": [42]},
        {"operator": "NotIn", "values": [0, 137, 143]},
    ],
)
def test_one_that_no_signal_leads_to_does_not(codes: dict[str, object]) -> None:
    policy = {"rules": [{"action": "FailJob", "onExitCodes": codes}, *IGNORES["rules"]]}
    result = consequences(lineage(plain_job(podFailurePolicy=policy)), leaving(), pods())
    assert result.fate is Fate.REPLACED


def test_one_after_the_rule_for_disruptions_is_not_reached() -> None:
    codes = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [143]}}
    policy = {"rules": [*IGNORES["rules"], codes]}
    result = consequences(lineage(plain_job(podFailurePolicy=policy)), leaving(), pods())
    assert result.fate is Fate.REPLACED


def test_a_rule_that_makes_no_sense_to_us_is_feared() -> None:
    policy = {"rules": [{"action": 7}, *IGNORES["rules"]]}
    result = consequences(lineage(plain_job(podFailurePolicy=policy)), leaving(), pods())
    assert result.fate is Fate.ENDANGERED


@pytest.mark.parametrize(
    ("before", "fate"), [("1", Fate.REPLACED), ("2", Fate.FAILED), ("x", Fate.REPLACED)]
)
def test_a_limit_per_index_counts_the_failures_of_that_index(before: str, fate: Fate) -> None:
    counts = {"batch.kubernetes.io/job-index-failure-count": before}
    result = consequences(
        lineage(plain_job({"failed": 40}, backoffLimitPerIndex=2)),
        leaving(pod_of(pod(annotations=counts))),
        pods(),
    )
    assert result.fate is fate


def test_a_finished_job_is_not_changed_by_pods_that_go() -> None:
    job = plain_job({"conditions": [condition("Complete")]}, backoffLimit=0)
    result = consequences(lineage(job), leaving(), pods())
    assert (result.fate, result.refusal, result.prefers_restart) == (Fate.UNCHANGED, "", False)


def test_what_makes_jobs_is_reported_and_is_no_job() -> None:
    nightly = workload("batch/v1", "CronJob", "nightly")
    result = consequences(lineage(plain_job(), nightly), leaving(), pods())
    assert result.text.startswith("Job ml/trainer (CronJob nightly): ")


def test_it_is_suspended_with_the_version_that_was_read_and_our_name() -> None:
    patch = suspend_patch(lineage(plain_job(backoffLimit=0)), OURS)
    assert patch is not None
    assert patch.path == "/apis/batch/v1/namespaces/ml/jobs/trainer"
    assert patch.uid == "uid-of-trainer"
    body = json.loads(patch.body)
    assert body["spec"] == {"suspend": True}
    assert body["metadata"]["resourceVersion"] == "7"
    assert (
        json.loads(body["metadata"]["annotations"]["accelwatch.io/suspended"])["incident"] == "i7"
    )
    assert patch.text == "suspend Job ml/trainer"


def _suspended(annotation: str | None = '{"incident":"i7","token":3}') -> dict[str, object]:
    notes = {} if annotation is None else {"accelwatch.io/suspended": annotation}
    return workload("batch/v1", "Job", spec={"suspend": True}, annotations=notes)


def test_it_starts_again_only_when_no_old_pod_is_left() -> None:
    job = lineage(_suspended())
    assert restart_patch(job, pods(ending=True)) is None
    patch = restart_patch(job, pods(phase="Failed"))
    assert patch is not None
    body = json.loads(patch.body)
    assert body["spec"] == {"suspend": False}
    assert body["metadata"]["annotations"] == {"accelwatch.io/suspended": None}
    assert patch.text == "start again Job ml/trainer"


@pytest.mark.parametrize("annotation", [None, "no JSON", DEEP.decode()])
def test_one_that_its_user_suspended_is_never_started(annotation: str | None) -> None:
    job = lineage(_suspended(annotation))
    assert is_suspended(job)
    assert suspended_by(job) is None
    assert restart_patch(job, ()) is None


def test_ours_that_somebody_has_started_already_is_left_alone() -> None:
    notes = {"accelwatch.io/suspended": '{"incident":"i7","token":3}'}
    job = lineage(workload("batch/v1", "Job", annotations=notes))
    assert suspended_by(job) == OURS
    assert restart_patch(job, ()) is None


def test_what_is_suspended_or_finished_is_not_suspended() -> None:
    assert suspend_patch(lineage(_suspended()), OURS) is None
    finished = plain_job({"conditions": [condition("Failed")]})
    assert suspend_patch(lineage(finished), OURS) is None
