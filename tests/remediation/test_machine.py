"""The table of the state machine is whole, leads out of everything, and asks before it does anything."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from types import ModuleType

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.rules.loading.checks import REMEDIES
from accelwatch.remediation.policy import conditions, effects
from accelwatch.remediation.policy.conditions.permission import (
    may_cancel,
    may_check,
    may_cordon,
    may_draw,
    may_fence,
    may_move,
    may_power_cycle,
    may_quarantine,
    may_reboot,
    may_release,
    may_reset,
    may_service,
    may_signal,
    may_swap,
    may_test,
)
from accelwatch.remediation.policy.conditions.progress import idle
from accelwatch.remediation.policy.conditions.transition import Transition, TransitionView
from accelwatch.remediation.policy.plan.escalation import INTENTS, SERVICE
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from accelwatch.remediation.policy.table.ignored import IGNORED
from accelwatch.remediation.policy.table.machine import ROWS, TABLE
from accelwatch.remediation.policy.table.row import TransitionRow

ALLOWED_BY = {
    IntentKind.QUARANTINE: {may_quarantine, may_cordon},
    IntentKind.FENCE: {may_fence},
    IntentKind.SIGNAL_JOB: {may_signal},
    IntentKind.MOVE_JOB: {may_move},
    IntentKind.CANCEL_JOB: {may_cancel},
    IntentKind.SWAP_IN_JOB: {may_swap},
    IntentKind.FOLLOW_JOB: {may_check},
    IntentKind.DRAW_SPARE: {may_draw},
    IntentKind.RESET_DEVICE: {may_reset},
    IntentKind.REBOOT: {may_reboot},
    IntentKind.POWER_CYCLE: {may_power_cycle},
    IntentKind.TEST: {may_test},
    IntentKind.SERVICE: {may_service},
    IntentKind.RELEASE: {may_release},
}


@pytest.mark.parametrize("stage", Stage)
def test_every_trigger_is_answered_in_every_stage_once(stage: Stage) -> None:
    for trigger in Trigger:
        reasons = [one.why for one in IGNORED if stage in one.stages and trigger in one.triggers]
        answered = len(reasons) + bool(ROWS.get((stage, trigger)))
        assert answered == 1, (stage, trigger, reasons)


@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.intent_kind], ids=lambda row: row.intent_kind
)
def test_an_intent_is_started_only_when_nothing_is_on_its_way_and_it_may_be(
    row: TransitionRow,
) -> None:
    assert row.intent_kind is not None
    assert idle in row.conditions
    assert ALLOWED_BY[row.intent_kind] & set(row.conditions)


# By which a person leaves a stage.
WAYS_OUT = (Trigger.RELEASE, Trigger.FORCE_RELEASE, Trigger.FORGET)


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage is not Stage.HEALTHY])
def test_a_person_can_leave_every_stage_at_once(stage: Stage) -> None:
    ways = [row for way in WAYS_OUT for row in ROWS.get((stage, way), ())]
    assert any(not row.conditions and row.target not in (None, stage) for row in ways)


def test_no_row_stands_behind_one_that_always_holds() -> None:
    assert any(len(rows) > 1 for rows in ROWS.values())
    for stage, rows in ROWS.items():
        assert all(row.conditions for row in rows[:-1]), stage


def test_every_stage_is_reached() -> None:
    reached = {row.target for row in TABLE if row.target is not None}
    assert reached == set(Stage)


def test_only_people_ends_and_looks_leave_what_is_unknown() -> None:
    leaving = {row.trigger for row in TABLE if row.stage is Stage.UNKNOWN}
    assert not leaving & {Trigger.TICK, Trigger.DUE, Trigger.FIRED, Trigger.UNCERTAIN}


def functions_of(
    package: ModuleType, of_what: type[Transition | TransitionView]
) -> set[Callable[[Transition], object]]:
    """Every public function of a package's modules that a row of the table could name."""
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    ]
    return {
        function
        for module in modules
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and function.__module__ == module.__name__
        and not name.startswith("_")
        and [p.annotation for p in inspect.signature(function).parameters.values()] == [of_what]
    }


def test_every_condition_and_effect_is_used_by_a_row() -> None:
    conditions_used = {condition for row in TABLE for condition in row.conditions}
    done = {effect for row in TABLE for effect in row.does}
    assert functions_of(conditions, TransitionView) == conditions_used
    assert functions_of(effects, Transition) == done


def test_a_condition_is_shown_by_the_name_that_the_code_has() -> None:
    named = {condition for row in TABLE for condition in row.conditions}
    for condition in named:
        module = importlib.import_module(condition.__module__)
        assert getattr(module, condition.__name__) is condition


def test_every_remedy_that_a_rule_can_name_is_carried_out() -> None:
    assert {*INTENTS, SERVICE} == set(REMEDIES)
