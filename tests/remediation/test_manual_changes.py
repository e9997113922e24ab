"""A step that looks only at what was touched comes to the same as one that looks at everything."""

from collections import Counter
from collections.abc import Iterable

import msgspec
import pytest

from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.context.records import StateRecord
from accelwatch.remediation.policy.state.changes import Change, WorldObservation
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.world import PendingChecks
from accelwatch.remediation.policy.step.step import step
from accelwatch.remediation.settings import RemedySettings
from support.remediation import walker as remedy_walker
from support.remediation.walker import History

HISTORIES = 60
PARTS = 2
_replace = msgspec.structs.replace


def forgetting(state: RemedyState) -> RemedyState:
    """The same state, of which nobody knows who was looked at."""
    return _replace(state, world=_replace(state.world, pending_checks=PendingChecks()))


def joined(outcomes: list[Outcome]) -> Outcome:
    """What several steps come to, as one would have told it."""
    records = {(type(one), _key(one)): one for each in outcomes for one in each.records}
    return Outcome(
        state=outcomes[-1].state,
        records=tuple(records.values()),
        pursue=tuple(one for each in outcomes for one in each.pursue),
        cancel=tuple(one for each in outcomes for one in each.cancel),
        notes=tuple(one for each in outcomes for one in each.notes),
    )


def _key(record: StateRecord) -> object:
    return getattr(record, "node", None) or getattr(record, "key", None)


@pytest.mark.parametrize("part", range(PARTS))
def test_whoever_is_not_looked_at_would_have_come_to_nothing(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spared: Counter[bool] = Counter()

    def both(state: RemedyState, *inputs: object) -> Outcome:
        outcome = step(state, *inputs)  # type: ignore[arg-type]
        whole = step(forgetting(state), *inputs)  # type: ignore[arg-type]
        assert outcome.records == whole.records
        assert (outcome.pursue, outcome.cancel) == (whole.pursue, whole.cancel)
        assert outcome.notes == whole.notes
        assert forgetting(outcome.state) == forgetting(whole.state)
        spared[outcome.state.world.pending_checks.at == state.world.pending_checks.at] += 1
        return outcome

    def one_by_one(
        state: RemedyState,
        changes: Iterable[Change],
        observations: Iterable[WorldObservation],
        now: float,
        settings: RemedySettings,
    ) -> Outcome:
        outcomes = [both(state, [], [], now, settings)]
        for change in changes:
            outcomes.append(both(outcomes[-1].state, [change], [], now, settings))
        for one in observations:
            outcomes.append(both(outcomes[-1].state, [], [one], now, settings))
        return joined(outcomes)

    monkeypatch.setattr(remedy_walker, "step", one_by_one)
    each = HISTORIES // PARTS
    for seed in range(part * each, (part + 1) * each):
        history = History(seed)
        # What is told in one step there is told in many here; the invariants have tests of their own.
        monkeypatch.setattr(history.watch, "check", lambda *_: None)
        history.run()
    assert spared[True] > 10 * each, "most steps do not look at everything"
