"""What a plain Job makes of pods that leave: backoffLimit, podFailurePolicy, backoffLimitPerIndex. Pure.

Sources: batch/v1 JobSpec of the API reference; KEP-3329 (pod failure policy), KEP-3850 (limit per
index), KEP-3939 (replacement); and kube-controller-manager 1.37, with which they were tried.
"""

import msgspec

from accelwatch_kubernetes.objects.workload import Fields, Workload
from accelwatch_kubernetes.workloads.kinds.outcome import Departure, Fate, Outcome

# batch/v1 JobSpec.backoffLimit.
DEFAULT_BACKOFF_LIMIT = 6
# On a pod of an Indexed Job with a limit per index: how often its index has failed before.
FAILURES_OF_INDEX = "batch.kubernetes.io/job-index-failure-count"
DISRUPTION = "DisruptionTarget"
# What a container ends with that SIGTERM or SIGKILL has ended: 128 + 15, 128 + 9.
_SIGNAL_CODES = frozenset({143, 137})
_LIMIT, _POLICY, _INDEXES = "BackoffLimitExceeded", "PodFailurePolicy", "FailedIndexes"


class _OnCondition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = "True"


class _OnExitCodes(msgspec.Struct, frozen=True):
    operator: str = "In"
    values: tuple[int, ...] = ()

    @property
    def may_match(self) -> bool:
        """Whether a container that is stopped may end so."""
        if self.operator == "In":
            return bool(_SIGNAL_CODES & set(self.values))
        return not set(self.values) >= _SIGNAL_CODES


class _Rule(msgspec.Struct, frozen=True, rename="camel"):
    action: str = "Count"
    on_exit_codes: _OnExitCodes | None = None
    on_pod_conditions: tuple[_OnCondition, ...] | None = ()

    def matches(self, departure: Departure) -> bool:
        """Whether it surely applies to the pods."""
        conditions = self.on_pod_conditions or ()
        return departure.is_disruption and any(
            condition.type == DISRUPTION and condition.status == "True" for condition in conditions
        )

    @property
    def may_match(self) -> bool:
        """Whether it applies where containers end with the code of a signal."""
        return self.on_exit_codes is not None and self.on_exit_codes.may_match


def evaluate_job(job: Workload, departure: Departure, _below: Outcome) -> Outcome:
    """Whether the pods are replaced, or the Job is failed."""
    rules = _rules(job.items("spec.podFailurePolicy.rules"))
    if job.value("spec.podFailurePolicy") is None:
        return _counted(job, departure, "an eviction counts as a failure at once")
    for rule in rules:
        if rule.matches(departure):
            return _by_rule(rule, job, departure)
        if rule.may_match and (worse := _by_rule(rule, job, departure)).is_fatal:
            text = f"{worse.text}, where a container that gets SIGTERM exits with 137 or 143"
            return Outcome(fate=Fate.ENDANGERED, text=text, reason=worse.reason)
    return _counted(
        job, departure, "no rule of its podFailurePolicy ignores it, so it counts as a failure"
    )


def _rules(entries: tuple[Fields, ...]) -> tuple[_Rule, ...]:
    """A rule that is not understood is one that fails the Job where its containers end by a signal."""
    rules = []
    for entry in entries:
        try:
            rules.append(msgspec.convert(entry, _Rule))
        except msgspec.ValidationError:
            codes = _OnExitCodes("NotIn", ())
            rules.append(_Rule("FailJob", codes, ()))
    return tuple(rules)


def _by_rule(rule: _Rule, job: Workload, departure: Departure) -> Outcome:
    match rule.action:
        case "Ignore":
            return _replaced(job, "its podFailurePolicy ignores the disruption")
        case "FailJob":
            return _failed("its podFailurePolicy fails the Job (FailJob)", _POLICY)
        case "FailIndex":
            return _failed("its podFailurePolicy fails the index (FailIndex)", _INDEXES)
    return _counted(job, departure, "its podFailurePolicy counts the disruption as a failure")


def _counted(job: Workload, departure: Departure, why: str) -> Outcome:
    """The pods count as failures: what is left of the limits decides."""
    per_index = job.number("spec.backoffLimitPerIndex")
    if per_index is not None:
        failures = max(
            (_failures_of_index(pod.metadata.annotations) for pod in departure.pods), default=0
        )
        if failures + 1 > per_index:
            return _failed(
                f"{why}: its index is failed for good (backoffLimitPerIndex {per_index})", _INDEXES
            )
        limit = job.number("spec.backoffLimit")
    else:
        limit = job.number("spec.backoffLimit")
        limit = DEFAULT_BACKOFF_LIMIT if limit is None else limit
    failed = job.number("status.failed") or 0
    if limit is not None and failed + departure.count > limit:
        spent = f", of which {failed} is spent" if failed else ""
        return _failed(f"{why}: it is failed for good (backoffLimit {limit}{spent})", _LIMIT)
    left = "" if limit is None else f" ({failed + departure.count} of backoffLimit {limit})"
    return _replaced(job, f"{why}{left}")


def _failures_of_index(annotations: dict[str, str]) -> int:
    text = annotations.get(FAILURES_OF_INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _failed(text: str, reason: str) -> Outcome:
    return Outcome(fate=Fate.FAILED, text=text, reason=reason)


def _replaced(job: Workload, why: str) -> Outcome:
    """When the replacement starts: beside the old pod, or only after that has ended."""
    if waits_for_old_pods(job):
        when = "the replacement starts only after the old pod has ended, on a silent node never"
    else:
        when = "the replacement starts while the old pod may still run"
    return Outcome(fate=Fate.REPLACED, text=f"{why}; {when}")


def waits_for_old_pods(job: Workload) -> bool:
    """Whether no second copy runs beside an old pod: podReplacementPolicy, or its default."""
    policy = job.text("spec.podReplacementPolicy")
    return policy == "Failed" or (not policy and job.value("spec.podFailurePolicy") is not None)
