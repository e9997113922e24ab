"""A PodDisruptionBudget: how many of some pods may be away at once."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from accelwatch_kubernetes.objects.metadata import Metadata
from accelwatch_kubernetes.objects.pod import Pod


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `matchExpressions`."""

    key: str
    # `In`, `NotIn`, `Exists` or `DoesNotExist`.
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels fulfils it; an operator that we do not know: no."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
        return False


class LabelSelector(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which objects of a namespace are meant; an empty one means all of them."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is meant."""
        return self.match_labels.items() <= dict(labels).items() and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )


class BudgetSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What its owner wants; without a selector it is about no pod."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetCondition(msgspec.Struct, frozen=True, kw_only=True):
    """One of a budget's conditions."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class BudgetStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the disruption controller has counted."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    conditions: tuple[BudgetCondition, ...] = ()


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """A PodDisruptionBudget."""

    metadata: Metadata = Metadata()
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()

    @property
    def path(self) -> str:
        """`namespace/name`, as people write it."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def never_allows(self) -> bool:
        """Whether it would refuse however many pods there are."""
        spec = self.spec
        return spec.max_unavailable in (0, "0%") or spec.min_available == "100%"

    @property
    def needs_all(self) -> bool:
        """Whether it needs all pods that there are, as it was counted last.

        With a number in `minAvailable` that may pass: a pod that was evicted is none of them until its
        replacement is there.
        """
        counted = self.status.observed_generation >= self.metadata.generation
        return counted and 0 < self.status.expected_pods <= self.status.desired_healthy

    @property
    def not_counted(self) -> str:
        """Why the disruption controller cannot count its pods, so that it allows nothing; else empty."""
        messages = (
            condition.message or condition.reason
            for condition in self.status.conditions
            if condition.status == "False" and condition.reason == "SyncFailed"
        )
        return next(messages, "")

    def covers(self, pod: Pod) -> bool:
        """Whether a pod is one of those that it is about."""
        selector = self.spec.selector
        same = self.metadata.namespace == pod.metadata.namespace
        return same and selector is not None and selector.matches(pod.metadata.labels)


class BudgetList(msgspec.Struct, frozen=True, kw_only=True):
    """Several budgets."""

    items: tuple[Budget, ...] = ()


_DECODER = msgspec.json.Decoder(BudgetList)


# An observation is parsed several times: to propose, to decide and to report.
@lru_cache(maxsize=1024)
def budgets_of(text: str) -> tuple[Budget, ...]:
    """The budgets of a list as JSON. Raises ValueError for what is no list of budgets."""
    return _DECODER.decode(text).items if text else ()
