"""How long the end of an incident waits until people are notified of it."""

import msgspec
import pytest

from accelwatch.alerting.delivery.stages.resolve_wait import (
    MOST_WORK_S,
    WORK_AGAIN_S,
    resolve_wait_s,
)
from accelwatch.alerting.incidents.model.incident import Incident, TimelineEntry, TimelineKind
from accelwatch.config.alerts import Alerts
from support.incidents.incident_samples import START, incident, over


def ended(**fields: object) -> Incident:
    return msgspec.structs.replace(over(incident(), START), **fields)


def wait_s(
    one: Incident, after_s: float, *, working: bool = False, cooldown_s: float = 1800.0
) -> float:
    return resolve_wait_s(
        one, START + after_s, resolve_after_s=300.0, cooldown_s=cooldown_s, working=working
    )


@pytest.mark.parametrize(("after_s", "left_s"), [(0.0, 300.0), (299.0, 1.0), (300.0, 0.0)])
def test_it_has_to_stay_over_for_a_while(after_s: float, left_s: float) -> None:
    assert wait_s(ended(), after_s) == left_s


def test_what_cannot_come_back_any_more_is_sent_at_once() -> None:
    assert wait_s(ended(), 0.0, cooldown_s=0.0) == 0.0
    assert wait_s(ended(), 60.0, cooldown_s=60.0) == 0.0


def test_where_nothing_else_is_set_it_waits_until_it_cannot_come_back() -> None:
    cooldown_s, one = 1800.0, ended()
    for after_s, left_s in ((0.0, 1800.0), (301.0, 1499.0), (1800.0, 0.0)):
        wait = resolve_wait_s(
            one,
            START + after_s,
            resolve_after_s=Alerts().resolve_after_s,
            cooldown_s=cooldown_s,
            working=False,
        )
        assert wait == left_s


def test_what_has_come_back_stays_over_for_its_whole_cool_down() -> None:
    assert wait_s(ended(reopened=1), 300.0) == 1500.0
    assert wait_s(ended(reopened=1), 1800.0) == 0.0


def test_what_a_person_has_closed_is_sent_at_once() -> None:
    by_hand = TimelineEntry(START, TimelineKind.CLOSED, "seen", "ann")
    assert wait_s(ended(timeline=(by_hand,)), 0.0) == 0.0
    by_itself = TimelineEntry(START, TimelineKind.CLOSED, "cleared after 9 s")
    assert wait_s(ended(timeline=(by_hand, by_itself)), 0.0) == 300.0


def test_a_group_has_been_calm_already() -> None:
    assert wait_s(ended(members=("i2", "i3")), 0.0) == 0.0


def test_it_waits_for_what_is_done_but_not_for_ever() -> None:
    assert wait_s(ended(), 0.0, working=True) == 300.0
    assert wait_s(ended(), 3600.0, working=True) == WORK_AGAIN_S
    assert wait_s(ended(), MOST_WORK_S, working=True) == 0.0


def test_a_clock_that_was_set_back_makes_it_wait_no_longer_than_once() -> None:
    assert wait_s(ended(), -9999.0) == 300.0


def test_what_is_open_has_no_end() -> None:
    assert wait_s(incident(), 9.0) == 0.0
