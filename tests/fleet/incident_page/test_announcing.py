"""What the first message says will be done, when, and what keeps it from being done."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.sink import Planned
from accelwatch.fleet.approval.announcing import is_decided, planned
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.plan.model import Plan, PlanStep, Price
from accelwatch.remediation.policy.state.model import Clocks, Remedy
from accelwatch.remediation.policy.state.stage import Stage

NOW = 1000.0
REMEDY = Remedy(node="n2", stage=Stage.QUARANTINING, clocks=Clocks(since=NOW, begun=NOW))
STEPS = (
    PlanStep(kind=Kind.QUARANTINE, text="take n2 out of the pool"),
    PlanStep(kind=Kind.MOVE_JOB, text="move job 17 to other nodes"),
)
PLAN = Plan(node="n2", stage=Stage.QUARANTINING, steps=STEPS, price=Price(saved=12.0, lost=1.0))


def at(stage: Stage, *denials: Denial, due: float | None = None) -> Planned | None:
    first = msgspec.structs.replace(STEPS[0], in_the_way=denials)
    plan = msgspec.structs.replace(PLAN, stage=stage, steps=(first, STEPS[1]))
    clocks = msgspec.structs.replace(REMEDY.clocks, due=due)
    return planned(plan, msgspec.structs.replace(REMEDY, stage=stage, clocks=clocks), NOW)


def test_what_is_started_is_announced_with_its_worth() -> None:
    assert planned(PLAN, REMEDY, NOW) == Planned(
        node="n2", steps=tuple(step.text for step in STEPS), saved_gpu_hours=12.0
    )


def test_what_saves_nothing_to_speak_of_says_nothing_of_it() -> None:
    plan = msgspec.structs.replace(PLAN, price=Price(saved=0.01, lost=1.0))
    announced = planned(plan, REMEDY, NOW)
    assert announced is not None
    assert announced.saved_gpu_hours is None


def test_what_waits_whether_a_node_answers_has_its_time() -> None:
    announced = at(Stage.UNREACHABLE, due=NOW + 8)
    assert announced is not None
    assert (announced.at, announced.held_back) == (NOW + 8, "")
    announced = at(Stage.SUSPECT, due=NOW + 8)
    assert announced is not None
    assert announced.at is None, "the clock of another thing"


def test_what_is_held_back_shows_by_what_and_until_when() -> None:
    announced = at(Stage.SUSPECT, Denial(why=DenialKind.BUDGET, text="too soon", until=NOW + 90))
    assert announced is not None
    assert (announced.at, announced.held_back) == (NOW + 90, "too soon")


def test_where_more_than_a_yes_is_missing_nothing_is_requested_and_that_is_shown() -> None:
    yes = Denial(why=DenialKind.APPROVAL, text="the rule asks for a person's approval")
    breaker = Denial(why=DenialKind.BREAKER, text="the breaker is open", until=NOW + 1800)
    announced = at(Stage.SUSPECT, yes, breaker)
    assert announced is not None
    assert (announced.at, announced.held_back) == (NOW + 1800, "the breaker is open")


@pytest.mark.parametrize("why", [DenialKind.MODE, DenialKind.CEILING, DenialKind.APPROVAL])
def test_what_only_observes_or_needs_approval_announces_nothing(why: DenialKind) -> None:
    assert at(Stage.SUSPECT, Denial(why=why, text="x")) is None


@pytest.mark.parametrize("stage", [Stage.AWAITING_APPROVAL, Stage.SERVICE, Stage.OWNED_BY_OTHER])
def test_what_waits_for_a_person_announces_nothing(stage: Stage) -> None:
    assert at(stage) is None


def test_a_plan_without_steps_announces_nothing() -> None:
    assert planned(msgspec.structs.replace(PLAN, steps=()), REMEDY, NOW) is None


@pytest.mark.parametrize(
    "why",
    [DenialKind.STARTING, DenialKind.DATA, DenialKind.IDENTITY, DenialKind.STALE_READING],
)
def test_what_is_in_the_way_only_until_somebody_has_looked_is_no_decision(why: DenialKind) -> None:
    suspect = msgspec.structs.replace(REMEDY, stage=Stage.SUSPECT)
    waits = msgspec.structs.replace(suspect, denial=Denial(why=why, text="not yet"))
    assert not is_decided(waits)
    assert is_decided(msgspec.structs.replace(waits, stage=Stage.AWAITING_APPROVAL))


def test_nothing_started_is_decided_by_what_lasts() -> None:
    suspect = msgspec.structs.replace(REMEDY, stage=Stage.SUSPECT)
    assert not is_decided(suspect)
    denial = Denial(why=DenialKind.BUDGET, text="too many")
    assert is_decided(msgspec.structs.replace(suspect, denial=denial))
    assert is_decided(REMEDY)
