"""An archive played through the engine of a hub: verdicts, alert states, incidents, grouping.

Where several processes evaluate, each has a share of the rules; one manager gets what they find, in the
order of the rules, so that the incidents are those of one process.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import NamedTuple

from accelwatch.alerting.incidents.grouping.storms import WITHIN_S
from accelwatch.alerting.incidents.incident_manager import IncidentManager
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.rule import Rule, enabled_rules, needs_of
from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.context.archive_rule_context import ArchiveRuleContext
from accelwatch.fleet.backtest.partner import Partner
from accelwatch.fleet.backtest.sampling import as_sampled, unseen
from accelwatch.fleet.backtest.shares import shares
from accelwatch.fleet.backtest.verdicts import EvaluatedInterval, Span, Verdicts
from accelwatch.fleet.rules.rule_evaluator import never_true
from accelwatch.fleet.rules.suspects import COMPARED_SERIES


class Step(NamedTuple):
    """One interval."""

    # Unix seconds of its end.
    time: float
    # As they stand now, each once.
    changed: list[Incident]


class Helpers(NamedTuple):
    """Other processes that judge a share of the rules."""

    most: int
    # The command that starts one, for ids of rules; it sends back their verdicts.
    command: Callable[[Sequence[str]], Sequence[str]]


class Backtest:
    """One pass over an archive; memory does not grow with its length."""

    def __init__(
        self,
        archive: Archive,
        rules: Mapping[str, Rule],
        start: float | None = None,
        end: float | None = None,
        helpers: Helpers | None = None,
    ) -> None:
        """Times in Unix seconds. Raises ArchiveError, and WindowsError for windows that are too dear."""
        # Between two samples.
        self.step_s = archive.description.interval_s
        self.rules = as_sampled(enabled_rules(rules), self.step_s)
        self._positions = {id_: position for position, id_ in enumerate(self.rules)}
        absent = ArchiveRuleContext.not_recorded(
            archive.series(), needs_of(self.rules.values()).series
        )
        # Rules that read what was not recorded.
        self.unjudged = never_true(self.rules, absent)
        evaluated = [rule for id_, rule in self.rules.items() if id_ not in self.unjudged]
        also = COMPARED_SERIES & needs_of(evaluated).series
        self._helpers = helpers
        count = 1 if helpers is None else 1 + helpers.most
        own, *self._elsewhere = shares(self.rules, self.unjudged, absent, count) or [[]]
        of_own = {id_: rule for id_, rule in self.rules.items() if id_ in set(own)}
        self._verdicts = Verdicts(archive, of_own, Span(start, end), also)
        # Up to where it has come, Unix seconds.
        self.started = self.time = self._verdicts.started
        self.context = self._verdicts.context
        self._number = 0
        self.manager = IncidentManager(
            self.rules,
            self.context.facts,
            self._next_id,
            storm_within_s=WITHIN_S + self.step_s,
        )

    @property
    def unseen(self) -> Iterator[str]:
        """What its rules cannot see in this archive, a sentence each."""
        has_events = self.context.event_history.has_events
        return unseen(self.rules, self.unjudged, self.step_s, has_events=has_events)

    def _next_id(self) -> str:
        self._number += 1
        return f"i{self._number}"

    def suspects(self, incident: Incident) -> tuple[str, ...]:
        """Nodes that may be to blame for what has befallen a job."""
        return tuple(self._verdicts.evaluator.suspects(incident))

    def incidents(self) -> Iterator[Incident]:
        """Each incident when it is opened, and again whenever it changes. Raises ArchiveError."""
        for step in self.steps():
            yield from step.changed

    def steps(self) -> Generator[Step, None, None]:
        """One interval after the other. Raises ArchiveError; AccelwatchError for a helper that ends."""
        with ExitStack() as stack:
            partners: list[Partner] = []
            for ids in self._elsewhere:
                assert self._helpers is not None
                partners.append(Partner(self._helpers.command(ids)))
                stack.callback(partners[-1].stop)
            each = stack.enter_context(closing(self._verdicts.each()))
            for interval in each:
                self.time = interval.time
                changes = self._joined(interval, partners)
                yield Step(interval.time, self.manager.step(changes, interval.time))

    def _joined(
        self, interval: EvaluatedInterval, partners: Sequence[Partner]
    ) -> Sequence[VerdictChange]:
        """What all have found of an interval, in the order of the rules."""
        if not partners:
            return interval.changes
        changes = [
            *interval.changes,
            *(change for who in partners for change in who.changes(interval.number)),
        ]
        return sorted(changes, key=lambda change: self._positions[change.rule])
