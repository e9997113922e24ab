"""What becomes of a workload when some of its pods leave their node."""

from collections.abc import Callable
from enum import StrEnum

import msgspec

from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.objects.workload import Workload


class Cause(StrEnum):
    """By what pods leave."""

    # The Eviction API; budgets are respected, and the pod gets the condition DisruptionTarget.
    EVICTION = "eviction"
    # A NoExecute taint; no budget is checked, and the pod gets the condition DisruptionTarget.
    NO_EXECUTE = "NoExecute taint"
    # A plain DELETE; no budget is checked, and the pod gets no condition.
    DELETION = "deletion"


class Departure(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that leave together."""

    cause: Cause
    pods: tuple[Pod, ...]

    @property
    def count(self) -> int:
        """How many pods leave."""
        return len(self.pods)

    @property
    def is_disruption(self) -> bool:
        """Whether the pods get the condition DisruptionTarget, which a podFailurePolicy can match."""
        return self.cause is not Cause.DELETION


class Fate(StrEnum):
    """How a workload goes on."""

    # It has ended already, or its pods are none of what it waits for.
    UNCHANGED = "unchanged"
    # Each pod that leaves is replaced; the others run on.
    REPLACED = "replaced"
    # All its pods, or all of their group, start again.
    RESTARTED = "restarted"
    # All its pods end, and a person has to resume it.
    STOPPED = "stopped"
    # It belongs to a controller of which nothing is known here.
    UNKNOWN = "unknown"
    # It may be failed for good: what its containers do when they are ended decides.
    ENDANGERED = "endangered"
    # It is failed for good.
    FAILED = "failed"
    # No controller replaces the pod.
    LOST = "lost"


# Where no object above the pod says otherwise.
NO_CONTROLLER = "no controller owns the pod: nothing replaces it"
# What must not be done without a person's approval.
FATAL = frozenset({Fate.STOPPED, Fate.ENDANGERED, Fate.FAILED, Fate.LOST})


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a workload."""

    fate: Fate
    # What happens and by which of its fields, a sentence without its full stop.
    text: str
    # By which a Job was failed, as its condition says: what a JobSet's rules go by.
    reason: str = ""

    @property
    def is_fatal(self) -> bool:
        """Whether it must not be done without a person's approval."""
        return self.fate in FATAL


# What becomes of an object when pods leave, from what becomes of the object below it that owns them.
Evaluate = Callable[[Workload, Departure, Outcome], Outcome]


def unchanged(_workload: Workload, _departure: Departure, below: Outcome) -> Outcome:
    """What becomes of the object below becomes of it."""
    return below


def evaluate_unknown(workload: Workload, _departure: Departure, below: Outcome) -> Outcome:
    """A controller without a row has an unknown outcome; what is below it has its own."""
    text = f"what the controller of {workload.kind} {workload.metadata.name} does is not known"
    if below.fate is Fate.LOST:
        return Outcome(fate=Fate.UNKNOWN, text=text)
    return Outcome(fate=below.fate, text=f"{below.text}; {text}", reason=below.reason)
