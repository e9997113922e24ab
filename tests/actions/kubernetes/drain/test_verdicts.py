"""What an API server's answer to a dry run of an eviction means."""

import pytest

from accelwatch.api_client.kubernetes.errors import ApiError, ApiUnavailableError, KubernetesError
from accelwatch_kubernetes.drain.verdicts import EvictionVerdict, before_request, verdict_of
from support.kubernetes.pods import Object, budget, budget_of, pod, pod_of

POD = pod_of(pod(labels={"app": "trainer"}))
CAUSE = frozenset({"DisruptionBudget"})
STRICT = budget_of(budget(expected=2, desired=2))
TIGHT = budget_of(budget(expected=3, desired=2, healthy=2))


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (ApiError("x", status=429, causes=CAUSE), EvictionVerdict.BUDGET),
        # Flow control means the server, not the pod.
        (ApiError("x", status=429), EvictionVerdict.LATER),
        (ApiError("x", status=404), EvictionVerdict.CHANGED),
        (ApiError("x", status=409), EvictionVerdict.CHANGED),
        (ApiError("x", status=403), EvictionVerdict.REFUSED),
        (ApiError("x", status=401), EvictionVerdict.LATER),
        (ApiError("x", status=400), EvictionVerdict.REFUSED),
        (ApiUnavailableError("x", sent=True), EvictionVerdict.LATER),
        (ApiUnavailableError("x", sent=True, status=503), EvictionVerdict.LATER),
        (
            ApiUnavailableError(
                "x",
                sent=True,
                status=500,
                message="This pod has more than one PodDisruptionBudget, which is not supported",
            ),
            EvictionVerdict.NEVER,
        ),
    ],
)
def test_answers(error: KubernetesError, answer: EvictionVerdict) -> None:
    assert verdict_of(POD, error, []).answer is answer


def test_the_budget_that_refuses_is_named_with_its_numbers() -> None:
    verdict = verdict_of(POD, ApiError("x", status=429, causes=CAUSE), [TIGHT])
    assert (verdict.answer, verdict.needs_all) == (EvictionVerdict.BUDGET, False)
    assert verdict.text == (
        "PDB ml/trainers allows no eviction now: it needs 2 healthy pods and has 2 of 3"
    )
    strict = verdict_of(POD, ApiError("x", status=429, causes=CAUSE), [STRICT])
    assert (strict.answer, strict.needs_all) == (EvictionVerdict.BUDGET, True)


@pytest.mark.parametrize(
    ("spec", "never"),
    [
        ({"maxUnavailable": 0}, True),
        ({"maxUnavailable": "0%"}, True),
        ({"minAvailable": "100%"}, True),
        ({"maxUnavailable": 1}, False),
        ({"minAvailable": "50%"}, False),
        ({"minAvailable": 3}, False),
    ],
)
def test_trap_11_a_budget_that_never_allows_is_known_as_such(spec: Object, never: bool) -> None:
    document = budget(expected=3, desired=2)
    document["spec"] |= spec
    verdict = verdict_of(POD, ApiError("x", status=429, causes=CAUSE), [budget_of(document)])
    assert (verdict.answer is EvictionVerdict.NEVER) is never


@pytest.mark.parametrize(
    ("status", "reason", "answer"),
    [
        ("False", "SyncFailed", EvictionVerdict.NEVER),
        ("False", "InsufficientPods", EvictionVerdict.BUDGET),
        ("True", "SyncFailed", EvictionVerdict.BUDGET),
    ],
)
def test_trap_11_a_budget_that_cannot_be_counted_allows_nothing(
    status: str, reason: str, answer: EvictionVerdict
) -> None:
    document = budget(expected=3, desired=2)
    entry = {"type": "DisruptionAllowed", "status": status, "reason": reason, "message": "no scale"}
    document["status"]["conditions"] = [entry]
    error = ApiError("x", status=429, causes=CAUSE)
    verdict = verdict_of(POD, error, [budget_of(document)])
    assert verdict.answer is answer
    assert ("no scale" in verdict.text) is (answer is EvictionVerdict.NEVER)


def test_trap_11_two_budgets_on_a_pod_are_known_without_a_query() -> None:
    second = budget_of(budget("second", expected=5, desired=1))
    verdict = before_request(POD, [TIGHT, second])
    assert verdict is not None
    assert verdict.answer is EvictionVerdict.NEVER
    assert "PDBs ml/trainers and ml/second both cover it" in verdict.text
    assert before_request(POD, [TIGHT]) is None


@pytest.mark.parametrize(
    "document", [pod(labels={"app": "trainer"}, phase="Pending"), pod(labels={"app": "x"})]
)
def test_two_budgets_keep_no_pod_that_they_are_not_queried_about(document: Object) -> None:
    second = budget_of(budget("second"))
    assert before_request(pod_of(document), [TIGHT, second]) is None
