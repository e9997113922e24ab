"""Which pods a PodDisruptionBudget is about, and whether it will ever allow one to leave."""

import pytest

from support.kubernetes.pods import Object, budget, budget_of, pod, pod_of

_LABELS = {"app": "trainer", "tier": "gold"}


@pytest.mark.parametrize(
    ("selector", "covers"),
    [
        ({"matchLabels": {"app": "trainer"}}, True),
        ({"matchLabels": {"app": "trainer", "tier": "tin"}}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]}, False),
        ({"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["gold"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Like"}]}, False),
        (
            {
                "matchLabels": {"app": "trainer"},
                "matchExpressions": [{"key": "none", "operator": "Exists"}],
            },
            False,
        ),
    ],
)
def test_a_budget_is_about_the_pods_that_its_selector_fits(selector: Object, covers: bool) -> None:
    assert budget_of(budget(selector=selector)).covers(pod_of(pod(labels=_LABELS))) is covers


def test_a_budget_is_about_its_own_namespace_alone() -> None:
    there = pod_of(pod(labels=_LABELS, namespace="web"))
    assert not budget_of(budget()).covers(there)


def test_an_empty_selector_means_all_and_none_means_nothing() -> None:
    everything = budget()
    everything["spec"]["selector"] = {}
    nothing = budget()
    del nothing["spec"]["selector"]
    assert budget_of(everything).covers(pod_of(pod()))
    assert not budget_of(nothing).covers(pod_of(pod()))


@pytest.mark.parametrize(
    ("document", "never"),
    [
        (budget(expected=2, desired=2), True),
        (budget(expected=3, desired=2), False),
        # Of no pod: nothing is refused.
        (budget(expected=0, desired=0), False),
        # Changed since it was counted.
        (budget(expected=2, desired=2, generation=2), False),
    ],
)
def test_a_budget_may_need_all_pods_that_there_are(document: Object, never: bool) -> None:
    assert budget_of(document).needs_all is never
