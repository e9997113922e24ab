"""A PodDisruptionBudget: how many of some pods may be away at once."""

from functools import lru_cache

import msgspec

from accelwatch_kubernetes.objects.metadata import Metadata
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.objects.selector import LabelSelector


class BudgetSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What its owner wants; without a selector it is about no pod."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the disruption controller has counted."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0


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
        """Whether it would refuse even when all of its pods are healthy, as it was counted last."""
        counted = self.status.observed_generation >= self.metadata.generation
        return counted and 0 < self.status.expected_pods <= self.status.desired_healthy

    def covers(self, pod: Pod) -> bool:
        """Whether a pod is one of those that it is about."""
        selector = self.spec.selector
        same = self.metadata.namespace == pod.metadata.namespace
        return same and selector is not None and selector.matches(pod.metadata.labels)


class BudgetList(msgspec.Struct, frozen=True, kw_only=True):
    """Several budgets."""

    items: tuple[Budget, ...] = ()


_DECODER = msgspec.json.Decoder(BudgetList)


# An observation is read several times: by who proposes, who decides, and who tells.
@lru_cache(maxsize=1024)
def budgets_of(text: str) -> tuple[Budget, ...]:
    """The budgets of a list as JSON. Raises ValueError for what is no list of budgets."""
    return _DECODER.decode(text).items if text else ()
