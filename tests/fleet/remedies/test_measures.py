"""What /metrics says of the remedies."""

import msgspec

from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.step import Step
from accelwatch.fleet.api.own import own_text
from accelwatch.fleet.remedies.measures import StageTimes, current_series
from accelwatch.remediation.execution.operations.operation import (
    Operation,
    OperationState,
    Witness,
    advanced,
)
from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.context.records import RemedyRecord
from accelwatch.remediation.policy.guards.failure_domains import FailureDomain
from accelwatch.remediation.policy.guards.limits.breaker import BreakerState, BreakerStatus
from accelwatch.remediation.policy.guards.limits.budget import BudgetState, Own
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.model import Clocks, NodeQuarantine, Remedy, RemedyState
from accelwatch.remediation.policy.state.orders import Stop
from accelwatch.remediation.policy.state.spares.model import Spare, SpareState, SpareStatus
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import RemedySettings
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

NOW = 1_795_000_000.0


def remedy(node: str, stage: Stage, since: float = NOW - 60.0) -> Remedy:
    return Remedy(node=node, stage=stage, clocks=Clocks(since=since, begun=since))


def measured(state: RemedyState) -> dict[Series, Number]:
    series = dict(current_series(state, RemedySettings(), NOW))
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
    domain = FailureDomain(node="n1", pools=("train",), domains=("rack=r1",))
    state = RemedyState(
        remedies={
            "n1": remedy("n1", Stage.QUARANTINED),
            "n2": remedy("n2", Stage.AWAITING_APPROVAL, NOW - 90.0),
            "n3": remedy("n3", Stage.AWAITING_APPROVAL, NOW - 30.0),
            "n4": remedy("n4", Stage.UNKNOWN, NOW - 5.0),
            "n5": msgspec.structs.replace(
                remedy("n5", Stage.DRAINING),
                clocks=msgspec.structs.replace(
                    remedy("n5", Stage.DRAINING).clocks, overdue="draining"
                ),
            ),
        },
        stop=Stop(by="kim", at=NOW),
        breaker=BreakerState(standing=BreakerStatus.HALF_OPEN),
        budget=BudgetState(own={"n1": Own(place=domain, incidents=("i1",), at=NOW)}),
        spares=SpareState(spares={"s1": Spare(), "s2": Spare(standing=SpareStatus.FAILED)}),
    )
    series = measured(state)
    assert series["remedy_nodes", "awaiting_approval"] == 2
    assert series["remedy_oldest_approval_seconds",] == 90.0
    assert series["remedy_oldest_unknown_seconds",] == 5.0
    assert (series["remedy_stopped",], series["remedy_breaker_open",]) == (1, 1)
    assert series["remedy_overdue_nodes",] == 1
    assert (series["remedy_spares", "ready"], series["remedy_spares", "failed"]) == (1, 1)
    assert series["remedy_budget_used", "pool=train"] == 1
    assert series["remedy_budget_bound", "rack=r1"] == 1


def test_stages_are_counted_when_they_are_left() -> None:
    times = StageTimes()
    suspect = remedy("n1", Stage.SUSPECT, NOW - 10.0)
    before = RemedyState(remedies={"n1": suspect})
    held = msgspec.structs.replace(
        remedy("n1", Stage.QUARANTINED, NOW),
        hold=NodeQuarantine(node="n1", mark=OwnerAnnotation("i1", 1)),
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


def steps_of(times: StageTimes) -> dict[str, tuple[int, float]]:
    """How many of each, and their sum."""
    histograms = times.histograms()
    edges = len(by_key()["remedy_step_seconds"].buckets)
    assert all(len(counts) == edges + 1 for counts, _ in histograms.values())
    return {step: (counts[-1], total) for (_, step), (counts, total) in histograms.items()}


def test_the_steps_from_a_fault_to_a_node_that_works_again_are_timed() -> None:
    times, mark = StageTimes(), OwnerAnnotation("i1", 1)
    case = Case(incident="i1", policy=Policy(rule="r"), since=NOW - 3.0, evidence_at=NOW)
    suspect = msgspec.structs.replace(remedy("n1", Stage.SUSPECT, NOW), cases=(case,))
    drain = Intent(kind=IntentKind.QUARANTINE, mark=mark, node="n1", asked=NOW + 4, deadline=NOW)
    out = msgspec.structs.replace(suspect, stage=Stage.QUARANTINING, pursuing=drain)
    move = Intent(kind=IntentKind.MOVE_JOB, mark=mark, node="n1", asked=NOW + 6, deadline=NOW)
    held = msgspec.structs.replace(
        out, stage=Stage.DRAINING, pursuing=move, hold=NodeQuarantine(node="n1", mark=mark)
    )
    moved = msgspec.structs.replace(
        held, pursuing=None, jobs=msgspec.structs.replace(held.jobs, moved=(move,))
    )
    verified = msgspec.structs.replace(
        moved, stage=Stage.VERIFYING, clocks=msgspec.structs.replace(moved.clocks, since=NOW + 20)
    )
    leaving = msgspec.structs.replace(
        verified,
        stage=Stage.RELEASING,
        clocks=msgspec.structs.replace(verified.clocks, since=NOW + 80),
    )
    before = RemedyState()
    for at, now_so in (
        (0, suspect),
        (4, out),
        (5, held),
        (9, moved),
        (20, verified),
        (80, leaving),
        (82, None),
    ):
        after = RemedyState(remedies={} if now_so is None else {"n1": now_so})
        record = RemedyRecord(node="n1", remedy=now_so)
        times.count(before, Outcome(state=after, records=(record,)), NOW + at)
        before = after
    assert steps_of(times) == {
        "seen": (1, 3.0),
        "decided": (1, 4.0),
        "running": (1, 3.0),
        "verified": (1, 60.0),
        "released": (1, 2.0),
    }


def test_effects_are_timed_until_they_are_answered_and_then_until_they_are_seen() -> None:
    times = StageTimes()
    intent = Intent(
        kind=IntentKind.QUARANTINE, mark=OwnerAnnotation("i1", 1), node="n1", deadline=NOW
    )
    operation = Operation(
        id="o1", action="slurm", intent=intent, step=Step(kind="drain"), attempt=1, reserved=NOW
    )
    for at, state, by in (
        (1, OperationState.STARTED, Witness.PURSUIT),
        (3, OperationState.ANSWERED, Witness.PURSUIT),
        (8, OperationState.OBSERVED, Witness.OBSERVATION),
    ):
        operation = advanced(operation, state, now=NOW + at, by=by)
        times.operated(operation, NOW + at)
    assert steps_of(times) == {"told": (1, 2.0), "observed": (1, 5.0)}


def test_an_effect_that_nobody_answered_or_that_did_not_come_is_not_timed() -> None:
    times = StageTimes()
    intent = Intent(
        kind=IntentKind.QUARANTINE, mark=OwnerAnnotation("i1", 1), node="n1", deadline=NOW
    )
    operation = Operation(
        id="o1", action="slurm", intent=intent, step=Step(kind="drain"), attempt=1, reserved=NOW
    )
    started = advanced(operation, OperationState.STARTED, now=NOW)
    unknown = advanced(started, OperationState.UNKNOWN, now=NOW + 1)
    seen = advanced(unknown, OperationState.OBSERVED, now=NOW + 2, by=Witness.OBSERVATION)
    answered = advanced(started, OperationState.ANSWERED, now=NOW + 1)
    failed = advanced(answered, OperationState.FAILED, now=NOW + 2)
    for one in (started, unknown, seen):
        times.operated(one, NOW + 2)
    assert steps_of(times) == {}
    for one in (answered, failed):
        times.operated(one, NOW + 2)
    assert steps_of(times) == {"told": (1, 2.0)}


def test_the_text_of_the_hub_has_them_as_a_histogram() -> None:
    edges = by_key()["remedy_step_seconds"].buckets
    counts = tuple(int(edge >= 5) for edge in (*edges, float("inf")))
    render = own_text(lambda: {("remedy_step_seconds", "told"): (counts, 3.5)})
    text = "".join(render({("remedy_stopped",): 0}, False))
    assert "# TYPE accel_remedy_step_seconds histogram\n" in text
    assert 'accel_remedy_step_seconds_bucket{step="told",le="2.5"} 0\n' in text
    assert 'accel_remedy_step_seconds_bucket{step="told",le="5.0"} 1\n' in text
    assert 'accel_remedy_step_seconds_sum{step="told"} 3.5\n' in text
    assert 'accel_remedy_step_seconds_count{step="told"} 1\n' in text
    assert "remedy_step_seconds" not in "".join(own_text()({("remedy_stopped",): 0}, True))
