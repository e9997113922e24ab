"""What a JobSet makes of a child Job that fails: failurePolicy with its rules and limits. Pure.

Source: jobset.x-k8s.io/v1alpha2 of JobSet 0.12, types, failure policy and in-place restart of its
controller, and its restart agent.
"""

import msgspec

from accelwatch_kubernetes.objects.workload import Workload
from accelwatch_kubernetes.workloads.kinds.outcome import Departure, Fate, Outcome

# Of a pod or child Job: which of the JobSet's replicatedJobs it is of.
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
# On a JobSet: its restart agents let the pods start at once, and restart none.
DISABLED = "jobset.sigs.k8s.io/disable-in-place-restart"
_DEFAULT_ACTION = "RestartJobSet"
_UNKNOWN_RULE = "FailJobSet"


class _Rule(msgspec.Struct, frozen=True, rename="camel"):
    action: str = _UNKNOWN_RULE
    on_job_failure_reasons: tuple[str, ...] | None = ()
    on_job_failure_message_patterns: tuple[str, ...] | None = ()
    target_replicated_jobs: tuple[str, ...] | None = ()

    def may_match(self, reason: str, jobs: frozenset[str]) -> bool:
        """Whether it can apply to a Job that failed so; what a message will say is not known."""
        reasons, targets = self.on_job_failure_reasons, self.target_replicated_jobs
        return (not reasons or reason in reasons) and (
            not targets or not jobs or bool(jobs & set(targets))
        )


def evaluate_jobset(jobset: Workload, departure: Departure, below: Outcome) -> Outcome:
    """Whether only the pods are replaced, all Jobs restart, or the JobSet is failed."""
    strategy = jobset.text("spec.failurePolicy.restartStrategy")
    if below.fate not in (Fate.FAILED, Fate.ENDANGERED):
        return _restarting_pods(jobset, below) if _restarts_containers(jobset) else below
    if jobset.value("spec.failurePolicy") is None:
        outcome = _failed(
            below, "the JobSet has no failurePolicy: one failed Job fails it for good"
        )
    else:
        outcome = _by_action(_action(jobset, departure, below.reason), jobset, strategy, below)
    if outcome.fate is Fate.FAILED and below.fate is Fate.ENDANGERED:
        return Outcome(fate=Fate.ENDANGERED, text=outcome.text, reason=outcome.reason)
    return outcome


def _restarts_containers(jobset: Workload) -> bool:
    """Whether its other pods stay, and restart, when one is replaced."""
    strategy = jobset.text("spec.failurePolicy.restartStrategy")
    return strategy == "InPlaceRestart" and DISABLED not in jobset.metadata.annotations


def _restarting_pods(jobset: Workload, below: Outcome) -> Outcome:
    """The pod that replaces it comes with the next attempt, which the others have to reach."""
    if spent := attempts_limit(jobset):
        return _failed(below, spent)
    text = f"{below.text}; the JobSet restarts its other pods in place (InPlaceRestart"
    attempts = _counted_attempts(jobset)
    count = "" if attempts is None else f", {attempts + 1} of maxRestarts {_max_restarts(jobset)}"
    return Outcome(fate=Fate.RESTARTED, text=f"{text}{count})")


def attempts_limit(jobset: Workload) -> str:
    """Why one more attempt fails it for good; empty where it does not.

    Pods that start after a suspension come with the next attempt, too.
    """
    if not _restarts_containers(jobset):
        return ""
    attempts, limit = _counted_attempts(jobset), _max_restarts(jobset)
    return "" if attempts is None or attempts < limit else _spent(attempts, limit)


def _counted_attempts(jobset: Workload) -> int | None:
    """Those that count towards its limit; None until the first of all pods is complete."""
    attempt = jobset.number("status.currentInPlaceRestartAttempt")
    if attempt is None:
        return None
    # Attempts count restarts of the whole JobSet too, of which some do not count.
    together = jobset.number("status.restarts") or 0
    return attempt - (together - (jobset.number("status.restartsCountTowardsMax") or 0))


def _action(jobset: Workload, departure: Departure, reason: str) -> str:
    """The worst action of the rules up to the first that applies for sure."""
    names = (pod.metadata.labels.get(REPLICATED_JOB, "") for pod in departure.pods)
    jobs = frozenset(filter(None, names))
    for fields in jobset.items("spec.failurePolicy.rules"):
        try:
            rule = msgspec.convert(fields, _Rule)
        except msgspec.ValidationError:
            return _UNKNOWN_RULE
        if not rule.may_match(reason, jobs):
            continue
        if rule.on_job_failure_message_patterns and rule.action != _UNKNOWN_RULE:
            continue  # it may or may not apply; one that fails the JobSet is believed to
        return rule.action
    return _DEFAULT_ACTION


def _by_action(action: str, jobset: Workload, strategy: str, below: Outcome) -> Outcome:
    if action == "FailJobSet":
        return _failed(below, "a rule of the JobSet's failurePolicy fails it for good (FailJobSet)")
    limited = not action.endswith("AndIgnoreMaxRestarts")
    spent, limit = spent_restarts(jobset), _max_restarts(jobset)
    if limited and spent >= limit:
        return _failed(below, _spent(spent, limit))
    count = f" ({spent + 1} of maxRestarts {limit})" if limited else ""
    if action.startswith("RestartJobSet"):
        when = "once all its old pods are gone" if strategy == "BlockingRecreate" else "job by job"
        text = f"the JobSet restarts all its Jobs{count}, {when}"
    else:
        text = f"the JobSet restarts that Job{count}; its other Jobs run on"
    return Outcome(fate=Fate.RESTARTED, text=f"{below.text}; {text}")


def spent_restarts(jobset: Workload) -> int:
    """Restarts that count towards its limit: of all Jobs together, and of single ones."""
    together = jobset.number("status.restartsCountTowardsMax")
    if together is None:
        together = jobset.number("status.restarts") or 0  # before JobSet 0.6
    return together + _of_jobs(jobset, "jobRestartsCountTowardsMax")


def _max_restarts(jobset: Workload) -> int:
    return jobset.number("spec.failurePolicy.maxRestarts") or 0


def restarts_of(jobset: Workload) -> int:
    """How often any of it was restarted."""
    together = jobset.number("status.restarts") or 0
    # In place, attempts go on over restarts of the whole JobSet.
    attempts = jobset.number("status.currentInPlaceRestartAttempt") or 0
    return max(together, attempts) + _of_jobs(jobset, "jobRestarts")


def _of_jobs(jobset: Workload, name: str) -> int:
    lists = (entry.get(name) for entry in jobset.items("status.replicatedJobsStatus"))
    return sum(
        count
        for counts in lists
        if isinstance(counts, list)
        for count in counts
        if isinstance(count, int)
    )


def _spent(spent: int, limit: int) -> str:
    return f"the JobSet is failed for good ({spent} of maxRestarts {limit} are spent)"


def _failed(below: Outcome, text: str) -> Outcome:
    return Outcome(fate=Fate.FAILED, text=f"{below.text}; {text}", reason=below.reason)
