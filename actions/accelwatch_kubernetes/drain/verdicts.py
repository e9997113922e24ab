"""What the API server answers to a dry run of a pod's eviction, which spends no budget. Pure."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache

import msgspec

from accelwatch.api_client.kubernetes.errors import DISRUPTION_BUDGET, KubernetesError
from accelwatch_kubernetes.objects.budget import Budget
from accelwatch_kubernetes.objects.pod import Pod

# What a server answers, with 500, where two budgets cover a pod (registry/core/pod/rest/eviction.go).
TWO_BUDGETS = "more than one PodDisruptionBudget"


class EvictionVerdict(StrEnum):
    """Whether a pod may be evicted now."""

    ALLOWED = "allowed"
    # Its PodDisruptionBudget does not allow it now.
    BUDGET = "budget"
    # It never will: the budget is too strict for its own pods, or two of them cover the pod.
    NEVER = "never"
    # It is gone, or another pod has its name by now.
    CHANGED = "changed"
    # Refused for good: no permission, an admission webhook.
    REFUSED = "refused"
    # Flow control, or no answer.
    LATER = "later"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the server says to the eviction of one pod."""

    # Of the pod.
    uid: str
    answer: EvictionVerdict
    # Of a budget: it needs all pods that there are.
    needs_all: bool = False
    # Why not, as people read it: `PDB ml/trainers allows none now (2 of 2 pods needed)`.
    text: str = ""


def before_request(pod: Pod, budgets: Sequence[Budget]) -> Verdict | None:
    """What is clear without asking: two budgets on a pod make every eviction fail with 500."""
    covering = covering_budgets(pod, budgets)
    if len(covering) < 2 or not _is_counted(pod):
        return None
    names = " and ".join(budget.path for budget in covering)
    text = f"PDBs {names} both cover it, which the Eviction API does not support: remove one"
    return Verdict(uid=pod.uid, answer=EvictionVerdict.NEVER, text=text)


def _is_counted(pod: Pod) -> bool:
    """Whether budgets count a pod: not one that is pending, over or terminating."""
    return pod.status.phase != "Pending" and not pod.is_over and not pod.is_terminating


def allowed(pod: Pod) -> Verdict:
    """The dry run went through."""
    return Verdict(uid=pod.uid, answer=EvictionVerdict.ALLOWED)


def verdict_of(pod: Pod, error: KubernetesError, budgets: Sequence[Budget]) -> Verdict:
    """What the answer to a dry run means; `budgets` are those of its namespace that are known."""
    covering = covering_budgets(pod, budgets)
    if error.status == 429 and DISRUPTION_BUDGET in error.causes:
        return _of_budget(pod, covering)
    if TWO_BUDGETS in error.message:
        text = "two PDBs cover it, which the Eviction API does not support: remove one"
        return Verdict(uid=pod.uid, answer=EvictionVerdict.NEVER, text=text)
    if error.status in (404, 409):
        return Verdict(uid=pod.uid, answer=EvictionVerdict.CHANGED, text=str(error))
    if error.status in (0, 401, 429) or error.status >= 500:
        return Verdict(uid=pod.uid, answer=EvictionVerdict.LATER, text=str(error))
    return Verdict(uid=pod.uid, answer=EvictionVerdict.REFUSED, text=str(error))


def covering_budgets(pod: Pod, budgets: Iterable[Budget]) -> list[Budget]:
    """Those that are about a pod."""
    return [budget for budget in budgets if budget.covers(pod)]


def _of_budget(pod: Pod, covering: Sequence[Budget]) -> Verdict:
    if not covering:
        return Verdict(
            uid=pod.uid, answer=EvictionVerdict.BUDGET, text="a PDB allows no eviction now"
        )
    budget = covering[0]
    status = budget.status
    if budget.not_counted:
        text = f"PDB {budget.path} cannot be counted, so it allows nothing: {budget.not_counted}"
        return Verdict(uid=pod.uid, answer=EvictionVerdict.NEVER, text=text)
    if budget.never_allows:
        text = f"PDB {budget.path} never allows an eviction: change its spec"
        return Verdict(uid=pod.uid, answer=EvictionVerdict.NEVER, text=text)
    text = (
        f"PDB {budget.path} allows no eviction now: it needs {status.desired_healthy} healthy pods "
        f"and has {status.current_healthy} of {status.expected_pods}"
    )
    return Verdict(
        uid=pod.uid, answer=EvictionVerdict.BUDGET, needs_all=budget.needs_all, text=text
    )


_DECODER = msgspec.json.Decoder(tuple[Verdict, ...])


def encoded(verdicts: Iterable[Verdict]) -> str:
    """As they stand in an observation."""
    return msgspec.json.encode(list(verdicts)).decode()


# An observation is parsed several times: to propose, to decide and to report.
@lru_cache(maxsize=256)
def verdicts_of(text: str) -> dict[str, Verdict]:
    """Those of an observation, by the uids of the pods."""
    return {verdict.uid: verdict for verdict in _DECODER.decode(text)} if text else {}
