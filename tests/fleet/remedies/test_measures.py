"""What /metrics says of the remedies."""

import msgspec

from accelwatch.action.intent import Mark
from accelwatch.fleet.remedies.measures import StageTimes, standing
from accelwatch.remedy.breaker import BreakerStanding, BreakerState
from accelwatch.remedy.budget import BudgetState, Own
from accelwatch.remedy.census import Place
from accelwatch.remedy.model import Hold, Remedy, RemedyState, Stop
from accelwatch.remedy.outcome import Outcome, RemedyRecord
from accelwatch.remedy.settings import RemedySettings
from accelwatch.remedy.spares import Spare, SpareStanding, SpareState
from accelwatch.remedy.stage import Stage
from accelwatch.schema.metrics import Series, by_key
from accelwatch.schema.reading import Number

NOW = 1_795_000_000.0


def remedy(node: str, stage: Stage, since: float = NOW - 60.0) -> Remedy:
    return Remedy(node=node, stage=stage, since=since, begun=since)


def measured(state: RemedyState) -> dict[Series, Number]:
    series = dict(standing(state, RemedySettings(), NOW))
    assert all(key[0] in by_key() for key in series)
    assert all(len(key) == 1 + len(by_key()[key[0]].labels) for key in series)
    return series


def test_where_nothing_is_wrong_everything_is_nought_and_nothing_is_made_up() -> None:
    series = measured(RemedyState())
    assert set(series.values()) == {0}
    assert ("remedy_oldest_approval_seconds",) not in series
    assert ("remedy_oldest_unknown_seconds",) not in series
    assert not any(key[0] in ("remedy_spares", "remedy_budget_used") for key in series)


def test_how_all_of_it_stands() -> None:
    place = Place(node="n1", pools=("train",), domains=("rack=r1",))
    state = RemedyState(
        remedies={
            "n1": remedy("n1", Stage.QUARANTINED),
            "n2": remedy("n2", Stage.AWAITING_APPROVAL, NOW - 90.0),
            "n3": remedy("n3", Stage.AWAITING_APPROVAL, NOW - 30.0),
            "n4": remedy("n4", Stage.UNKNOWN, NOW - 5.0),
        },
        stop=Stop(by="kim", at=NOW),
        breaker=BreakerState(standing=BreakerStanding.HALF_OPEN),
        budget=BudgetState(own={"n1": Own(place=place, incidents=("i1",), at=NOW)}),
        spares=SpareState(spares={"s1": Spare(), "s2": Spare(standing=SpareStanding.FAILED)}),
    )
    series = measured(state)
    assert series["remedy_nodes", "awaiting_approval"] == 2
    assert series["remedy_oldest_approval_seconds",] == 90.0
    assert series["remedy_oldest_unknown_seconds",] == 5.0
    assert (series["remedy_stopped",], series["remedy_breaker_open",]) == (1, 1)
    assert (series["remedy_spares", "ready"], series["remedy_spares", "failed"]) == (1, 1)
    assert series["remedy_budget_used", "pool=train"] == 1
    assert series["remedy_budget_bound", "rack=r1"] == 1


def test_stages_are_counted_when_they_are_left() -> None:
    times = StageTimes()
    suspect = remedy("n1", Stage.SUSPECT, NOW - 10.0)
    before = RemedyState(remedies={"n1": suspect})
    held = msgspec.structs.replace(
        remedy("n1", Stage.QUARANTINED, NOW), hold=Hold(node="n1", mark=Mark("i1", 1))
    )
    after = RemedyState(remedies={"n1": held})
    record = RemedyRecord(node="n1", remedy=held)
    times.count(before, Outcome(state=after, records=(record,)), NOW)
    same = RemedyRecord(node="n1", remedy=msgspec.structs.replace(held, failures=1))
    times.count(after, Outcome(state=after, records=(same,)), NOW + 1.0)
    gone = RemedyRecord(node="n1", remedy=None)
    times.count(after, Outcome(state=RemedyState(), records=(gone,)), NOW + 5.0)
    assert dict(times.series()) == {
        ("remedy_interruptions_total",): 1,
        ("remedy_stages_left_total", "suspect"): 1,
        ("remedy_stage_seconds_total", "suspect"): 10.0,
        ("remedy_stages_left_total", "quarantined"): 1,
        ("remedy_stage_seconds_total", "quarantined"): 5.0,
    }
