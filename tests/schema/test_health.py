"""The judgement of a device from what it says of itself."""

import pytest

from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Reading


def judged(*series: Series, value: int = 1) -> tuple[Health, tuple[str, ...]]:
    reading = Reading(device_id="x:1", values=dict.fromkeys(series, value))
    judgement = evaluate_health(DeviceState.OK, reading, (), 0.0)
    return judgement.health, judgement.reasons


@pytest.mark.parametrize(
    ("series", "health"),
    [
        (("memory_repair_failed",), Health.FAILED),
        (("memory_unrepairable",), Health.FAILED),
        (("sram_error_threshold_exceeded",), Health.FAILED),
        (("reset_required",), Health.FAILED),
        (("reported_health_info", "failed"), Health.FAILED),
        (("reported_health_info", "degraded"), Health.DEGRADED),
        (("fabric_state_info", "failed"), Health.FAILED),
        (("fabric_state_info", "unhealthy"), Health.DEGRADED),
        (("fabric_state_info", "limited_capacity"), Health.DEGRADED),
        (("memory_repair_pending",), Health.DEGRADED),
        (("compute_repair_pending",), Health.DEGRADED),
    ],
)
def test_what_a_device_says_of_itself_is_part_of_its_health(series: Series, health: Health) -> None:
    assert series[0] in by_key()
    found, reasons = judged(series)
    assert found is health
    assert len(reasons) == 1
    assert judged(series, value=0) == (Health.OK, ())


@pytest.mark.parametrize("state", ["completed", "in_progress", "not_started"])
def test_a_registration_under_way_or_complete_is_no_fault(state: str) -> None:
    assert judged(("fabric_state_info", state)) == (Health.OK, ())


def test_the_worst_signal_counts_and_all_are_reported() -> None:
    health, reasons = judged(("memory_repair_pending",), ("memory_unrepairable",))
    assert health is Health.FAILED
    assert len(reasons) == 2


@pytest.mark.parametrize(
    ("age_s", "health"), [(0.0, Health.DEGRADED), (599.0, Health.DEGRADED), (600.0, Health.OK)]
)
def test_a_fatal_event_is_remembered_for_ten_minutes(age_s: float, health: Health) -> None:
    assert judge_event(Category.BUS, age_s) is health


def test_what_is_not_fatal_or_not_the_kernel_s_word_is_no_fault() -> None:
    assert judge_event(Category.OTHER, 0.0) is Health.OK
    assert judge_event(Category.BUS, 0.0, trusted=False) is Health.OK


def judge_event(category: Category, age_s: float, *, trusted: bool = True) -> Health:
    """The health of a device with one event, `age_s` ago."""
    event = ErrorEvent(
        code="xid_79", category=category, time=1000.0, text="", source="nvml", trusted=trusted
    )
    return evaluate_health(DeviceState.OK, Reading(device_id="x:1"), [event], 1000.0 + age_s).health
