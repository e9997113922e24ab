"""How a job is ended without a restart, and what a move leaves to be given back."""

from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.step import Achieved, Refusal, RefusalKind, Step, Wait
from accelwatch.plugins.options import checked
from accelwatch_kubernetes.proposals.cancelling import propose_cancel, propose_restore
from accelwatch_kubernetes.settings.options import KubernetesOptions
from accelwatch_kubernetes.workloads.changes import SUSPENDED
from support.kubernetes.moving import KEY, job_context
from support.kubernetes.nodes import intent
from support.kubernetes.pods import pod
from support.kubernetes.workloads import plain_job, workload

CANCEL = intent(IntentKind.CANCEL_JOB, job=KEY)


def restore(incident: str = "inc-1") -> Intent:
    return intent(IntentKind.RESTORE_JOB, job=KEY, incident=incident)


def suspended(by: str = "") -> Any:
    job = plain_job(parallelism=1, suspend=True)
    if by:
        note = msgspec.json.encode({"incident": by, "token": 3, "by": "accelwatch"}).decode()
        job["metadata"]["annotations"] = {SUSPENDED: note}
    return job


def test_a_job_is_suspended() -> None:
    step = propose_cancel(CANCEL, job_context([pod("a")], [plain_job()]))
    assert isinstance(step, Step)
    assert step.kind == "suspend"


def test_a_kind_that_cannot_be_suspended_is_left_to_a_person() -> None:
    owner = ("apps/v1", "StatefulSet", "trainer")
    key = msgspec.structs.replace(KEY, id="ml/StatefulSet/trainer")
    context = job_context([pod("a", owner=owner)], [workload("apps/v1", "StatefulSet")], key=key)
    refusal = propose_cancel(intent(IntentKind.CANCEL_JOB, job=key), context)
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.IMPOSSIBLE
    assert "scale it down or delete it by hand" in refusal.text


@pytest.mark.parametrize(
    "rules",
    [
        {"protected_namespaces": ["ml"]},
        {"drain": [{"leave": "after_completion"}]},
    ],
)
def test_what_a_drain_leaves_alone_is_not_suspended_either(rules: dict[str, Any]) -> None:
    options = checked(rules, KubernetesOptions)
    refusal = propose_cancel(CANCEL, job_context([pod("a")], [plain_job()], options=options))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.NOT_ALLOWED
    assert refusal.text.startswith("ml/a stays on n1: ")


def test_a_job_of_which_one_pod_leaves_is_suspended() -> None:
    options = checked(
        {"drain": [{"labels": {"keep": "true"}, "leave": "after_completion"}]}, KubernetesOptions
    )
    both = [pod("a", labels={"keep": "true"}), pod("b")]
    assert isinstance(
        propose_cancel(CANCEL, job_context(both, [plain_job()], options=options)), Step
    )


@pytest.mark.parametrize(
    ("pods", "job"),
    [([pod("a")], suspended()), ([pod("a", ending=True)], plain_job())],
)
def test_what_is_ending_already_is_waited_for(pods: list[Any], job: Any) -> None:
    assert isinstance(propose_cancel(CANCEL, job_context(pods, [job])), Wait)


@pytest.mark.parametrize(
    ("pods", "chain"),
    [
        ([], []),
        ([pod("a", node="n2")], [plain_job()]),
        ([], [plain_job(status={"conditions": [{"type": "Failed", "status": "True"}]})]),
    ],
)
def test_what_is_gone_or_has_left_the_node_is_cancelled(pods: list[Any], chain: list[Any]) -> None:
    assert isinstance(propose_cancel(CANCEL, job_context(pods, chain)), Achieved)


def test_a_job_that_a_move_has_suspended_starts_again() -> None:
    step = propose_restore(restore(), job_context([], [suspended("inc-1")]))
    assert isinstance(step, Step)
    assert step.kind == "start_again"
    assert isinstance(
        propose_restore(restore(), job_context([pod("a", ending=True)], [suspended("inc-1")])), Wait
    )


@pytest.mark.parametrize("by", ["", "inc-2"])
def test_what_others_have_suspended_stays_so(by: str) -> None:
    assert isinstance(propose_restore(restore(), job_context([], [suspended(by)])), Achieved)


def test_evictions_leave_nothing_to_be_given_back() -> None:
    assert isinstance(propose_restore(restore(), job_context([pod("a")], [plain_job()])), Achieved)
