"""The state of the remedies, as series of /metrics; what does not exist has no series."""

from collections import Counter
from collections.abc import Iterator

from accelwatch.exposition.histogram import Distribution, Histogram
from accelwatch.remediation.execution.milestones import Answers, Milestone, reached
from accelwatch.remediation.execution.operations.operation import Operation
from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.context.records import RemedyRecord
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.guards.limits.breaker import BreakerStatus
from accelwatch.remediation.policy.guards.limits.budget import bound
from accelwatch.remediation.policy.state.model import Remedy, RemedyState
from accelwatch.remediation.policy.state.spares.model import SpareStatus
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import RemedySettings
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

_STEPS = "remedy_step_seconds"


class StageTimes:
    """How often each stage was left and how long nodes stayed in it, since this process began."""

    def __init__(self) -> None:
        self._left: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._interruptions = 0
        self._answers = Answers()
        self._steps: dict[Milestone, Distribution] = {}

    def count(self, before: RemedyState, outcome: Outcome, now: float) -> None:
        """Count the changes of a step; `now` in Unix seconds."""
        for record in outcome.records:
            if not isinstance(record, RemedyRecord):
                continue
            was, remedy = before.remedies.get(record.node), record.remedy
            self._observe(reached(was, remedy, now))
            if remedy is not None and _is_interruption(was, remedy):
                self._interruptions += 1
            if was is not None and (remedy is None or remedy.stage is not was.stage):
                stage, stayed = was.stage.value, max(now - was.clocks.since, 0.0)
                self._left[stage] += 1
                self._seconds[stage] = self._seconds.get(stage, 0.0) + stayed

    def operated(self, operation: Operation, now: float) -> None:
        """Count a state that an operation has reached; `now` in Unix seconds."""
        self._observe(self._answers.reached(operation, now))

    def _observe(self, steps: Iterator[tuple[Milestone, float]]) -> None:
        for step, seconds in steps:
            if step not in self._steps:
                self._steps[step] = Distribution(by_key()[_STEPS].buckets)
            self._steps[step].add(seconds)

    def histograms(self) -> dict[Series, Histogram]:
        """The durations of the completed steps, by step; in the order of the process."""
        return {
            (_STEPS, step.value): self._steps[step].histogram()
            for step in Milestone
            if step in self._steps
        }

    def series(self) -> Iterator[tuple[Series, Number]]:
        """What was counted."""
        yield ("remedy_interruptions_total",), self._interruptions
        for stage, times in sorted(self._left.items()):
            yield ("remedy_stages_left_total", stage), times
            yield ("remedy_stage_seconds_total", stage), self._seconds[stage]


def _is_interruption(was: Remedy | None, remedy: Remedy) -> bool:
    """Whether a node is quarantined that was not."""
    return remedy.hold is not None and (was is None or was.hold is None)


def current_series(
    state: RemedyState, settings: RemedySettings, now: float
) -> Iterator[tuple[Series, Number]]:
    """How all of it stands at a moment in Unix seconds."""
    stages = Counter(remedy.stage for remedy in state.remedies.values())
    for stage in Stage:
        if stage is not Stage.HEALTHY:
            yield ("remedy_nodes", stage.value), stages[stage]
    overdue = sum(1 for remedy in state.remedies.values() if remedy.clocks.overdue)
    yield ("remedy_overdue_nodes",), overdue
    yield ("remedy_stopped",), int(state.stop is not None)
    yield ("remedy_breaker_open",), int(state.breaker.standing is not BreakerStatus.CLOSED)
    yield ("remedy_frozen",), int(bool(state.world.guard.why))
    for name, stage in (
        ("remedy_oldest_approval_seconds", Stage.AWAITING_APPROVAL),
        ("remedy_oldest_unknown_seconds", Stage.UNKNOWN),
    ):
        since = [remedy.clocks.since for remedy in state.remedies.values() if remedy.stage is stage]
        if since:
            yield (name,), max(now - min(since), 0.0)
    spares = Counter(spare.standing for spare in state.spares.spares.values())
    if spares:
        for which in SpareStatus:
            yield ("remedy_spares", which.value), spares[which]
    yield from _budgets(state, settings, now)


def _budgets(
    state: RemedyState, settings: RemedySettings, now: float
) -> Iterator[tuple[Series, Number]]:
    """Of groups of which we hold a node, or are about to."""
    groups = {group for own in state.budget.own.values() for group in own.place.groups}
    if not groups:
        return
    sizes = StepContext(state, settings, now).group_counts.sizes
    for group in sorted(groups):
        yield ("remedy_budget_used", group), len(state.budget.quarantined(group))
        yield ("remedy_budget_bound", group), bound(sizes.get(group, 1), settings.budget)
