"""Health says which action the driver asks for, and what is about many nodes is no fault of a device."""

import pytest

from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health, HealthEvaluation, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch.schema.recovery_action import ACTIONS, OF_DOMAIN, concerns_device

NAMES = tuple(ACTIONS.values())
GENERIC = "the driver asks for a reset, reboot or drain"


def judged(values: dict[tuple[str, ...], int]) -> HealthEvaluation:
    return evaluate_health(DeviceState.OK, Reading(device_id="d", values=values), (), 0.0)


@pytest.mark.parametrize("name", [name for name in NAMES if concerns_device(name)])
def test_each_action_has_words_of_its_own(name: str) -> None:
    found = judged({("recovery_action_info", name): 1, ("reset_required",): 1})
    assert found.health is Health.FAILED
    assert len(found.reasons) == 1
    assert found.reasons[0] != GENERIC


def test_no_two_actions_have_the_same_words() -> None:
    all_reasons = [judged({("recovery_action_info", name): 1}).reasons for name in NAMES]
    faults = [reasons for reasons in all_reasons if reasons]
    assert len(set(faults)) == len(faults) == len(NAMES) - 2


@pytest.mark.parametrize("name", ["none", OF_DOMAIN])
def test_what_requests_nothing_of_the_device_is_no_fault_of_it(name: str) -> None:
    found = judged({("recovery_action_info", name): 1, ("reset_required",): 0})
    assert found == HealthEvaluation(Health.OK)


@pytest.mark.parametrize(
    "values",
    [{("reset_required",): 1}, {("reset_required",): 1, ("recovery_action_info", "42"): 1}],
)
def test_an_action_without_a_known_name_is_described_in_general(
    values: dict[tuple[str, ...], int],
) -> None:
    assert judged(values) == HealthEvaluation(Health.FAILED, (GENERIC,))
