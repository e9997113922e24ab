"""From evidence to levels: what is enough, what is not, and when it is over."""

import numpy as np
import pytest

from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState
from accelwatch.detection.fusion.budget import MOST
from accelwatch.detection.fusion.families import position_of
from accelwatch.detection.fusion.fuse import Fused, FusionState, Prior, fresh, fuse
from accelwatch.detection.fusion.row_levels import ALERTED, NONE, WATCHED
from support.detection.fleets import START, evidence_against, tick


def once(*evidence: Evidence, prior: Prior | None = None) -> Fused:
    return fuse(fresh(START), tick(3), evidence, prior)[1]


@pytest.mark.parametrize(
    ("evidence", "level"),
    [
        ([], NONE),
        ([evidence_against(1, 12.0, 0.0, weight=Weight.DECISIVE)], ALERTED),
        (
            [evidence_against(1, 5.0, 120.0), evidence_against(1, 5.0, 120.0, family="clock")],
            ALERTED,
        ),
        ([evidence_against(1, 5.0, 120.0), evidence_against(1, 4.9, 120.0, family="clock")], NONE),
        ([evidence_against(1, 5.0, 120.0), evidence_against(1, 5.0, 90.0, family="clock")], NONE),
        # Two channels of one family are one family.
        ([evidence_against(1, 5.0), evidence_against(1, 5.0, channel=Channel.DRIFT)], NONE),
        ([evidence_against(1, 8.0, 240.0, family="clock")], ALERTED),
        ([evidence_against(1, 8.0, 210.0, family="clock")], WATCHED),
        ([evidence_against(1, 7.9, 240.0, family="clock")], WATCHED),
        # Power and what it follows from are one thing, of which transients last for minutes.
        ([evidence_against(1, 8.0, 570.0)], WATCHED),
        ([evidence_against(1, 8.0, 600.0)], ALERTED),
        ([evidence_against(1, 5.0), evidence_against(1, 5.0, family="compute")], NONE),
        ([evidence_against(1, 5.0), evidence_against(1, 5.0, family="nvlink")], ALERTED),
        ([evidence_against(1, 8.0, 240.0, family="thermal")], WATCHED),
        ([evidence_against(1, 8.0, 600.0, family="thermal")], ALERTED),
        ([evidence_against(1, 6.0, 120.0)], WATCHED),
        ([evidence_against(1, 6.0, 90.0)], NONE),
        ([evidence_against(1, 5.9, 120.0)], NONE),
        # A greater score that is younger does not hide the lesser one that has lasted.
        (
            [
                evidence_against(1, 12.0, 30.0),
                evidence_against(1, 6.5, 300.0, channel=Channel.DRIFT),
            ],
            WATCHED,
        ),
        ([evidence_against(1, 8.0, 570.0, family="clock", weight=Weight.CONFIRMING)], NONE),
        ([evidence_against(1, 3.0, 600.0, family="clock", weight=Weight.CONFIRMING)], WATCHED),
        (
            [
                evidence_against(1, 5.0),
                evidence_against(1, 5.0, 60.0, family="clock", weight=Weight.CONFIRMING),
            ],
            ALERTED,
        ),
        # What many wait for says nothing of one, and is worth a look as soon as it is strong and lasts.
        (
            [
                evidence_against(1, 5.0),
                evidence_against(
                    1, 6.0, 590.0, family="clock", weight=Weight.CONFIRMING, advice="wait"
                ),
            ],
            NONE,
        ),
        ([evidence_against(1, 8.0, 120.0, weight=Weight.CONFIRMING, advice="wait")], WATCHED),
        ([evidence_against(1, 8.0, 90.0, weight=Weight.CONFIRMING, advice="wait")], NONE),
        ([evidence_against(1, 7.9, 570.0, weight=Weight.CONFIRMING, advice="wait")], NONE),
        # What confirms is never enough, however many confirm one another.
        (
            [
                evidence_against(1, 12.0, 60.0, family=family, weight=Weight.CONFIRMING)
                for family in ("power", "clock", "pcie")
            ],
            NONE,
        ),
        ([evidence_against(1, 12.0, channel=Channel.PRIOR)], NONE),
    ],
)
def test_level(evidence: list[Evidence], level: int) -> None:
    fused = once(*evidence)

    assert fused.devices.level.tolist() == [NONE, level, NONE, NONE, NONE, NONE]
    assert not fused.nodes.level.any()


def test_a_device_is_confirmed_by_its_host_and_not_by_anothers() -> None:
    host = evidence_against(0, 5.0, family="host", subject=Subject.NODE)

    fused = once(evidence_against([1, 2], 5.0), host)

    assert fused.devices.level.tolist() == [NONE, ALERTED, NONE, NONE, NONE, NONE]


def test_what_a_device_says_of_its_host_is_of_its_node() -> None:
    fused = once(evidence_against([2, 3], 8.0, family="fabric"))

    assert fused.nodes.level.tolist() == [NONE, ALERTED, NONE]
    assert not fused.devices.level.any()


@pytest.mark.parametrize(
    ("rows", "score", "lasted_s", "level"),
    [
        ([0, 1, 2], 5.0, 240.0, ALERTED),
        ([0, 1, 2], 5.0, 210.0, NONE),
        ([0, 1, 2], 4.9, 240.0, NONE),
        # Three of one node.
        ([0, 1], 5.0, 240.0, NONE),
        ([0, 1, 7], 5.0, 240.0, NONE),
    ],
)
def test_most_devices_of_a_node_together_accuse_it(
    rows: list[int], score: float, lasted_s: float, level: int
) -> None:
    of_four = tick(4)._replace(
        frame=tick(4).frame._replace(node_of=np.array([0, 0, 0, 0, 0, 1, 2, 3]))
    )
    found = evidence_against(rows, score, lasted_s, family="thermal")

    assert fuse(fresh(START), of_four, [found])[1].nodes.level.tolist() == [level, 0, 0, 0]


@pytest.mark.parametrize(
    ("family", "level"), [("power", NONE), ("compute", NONE), ("clock", ALERTED)]
)
def test_a_node_that_does_another_part_of_the_work_is_not_accused(family: str, level: int) -> None:
    shape = tick(4)
    of_one = shape._replace(frame=shape.frame._replace(node_of=np.array([0, 0, 0, 0, 1, 1, 2, 3])))
    found = evidence_against([0, 1, 2, 3], 5.0, 240.0, family=family)

    assert fuse(fresh(START), of_one, [found])[1].nodes.level[0] == level


def test_three_of_eight_devices_are_not_most() -> None:
    shape = tick(4)
    of_one = shape._replace(frame=shape.frame._replace(node_of=np.array([0, 0, 0, 0, 0, 0, 0, 1])))
    found = evidence_against([0, 1, 2], 5.0, 240.0, family="thermal")

    assert not fuse(fresh(START), of_one, [found])[1].nodes.level.any()


def test_a_device_that_is_decisive_is_to_blame_itself() -> None:
    fused = once(evidence_against(2, 8.0, family="scrape", weight=Weight.DECISIVE))

    assert fused.devices.level[2] == ALERTED
    assert not fused.nodes.level.any()


@pytest.mark.parametrize(("prior", "level"), [(0.8, ALERTED), (0.1, WATCHED), (0.9, WATCHED)])
def test_a_bad_past_lowers_thresholds_by_a_fifth_at_most(prior: float, level: int) -> None:
    score = 6.4 if prior == 0.8 else 6.3
    past = Prior(np.full(6, prior), np.ones(3))

    assert once(evidence_against(0, score), prior=past).devices.level[0] == level


def test_a_family_over_its_budget_needs_more_but_what_is_decisive_does_not() -> None:
    state = fresh(START)
    state.budget.factor[position_of("power")] = MOST
    evidence = [
        evidence_against(0, 11.0),
        evidence_against(1, 1.0, weight=Weight.DECISIVE),
        evidence_against(2, 8.0, family="clock"),
    ]

    fused = fuse(state, tick(3), evidence)[1]

    assert fused.devices.level.tolist() == [WATCHED, ALERTED, ALERTED, NONE, NONE, NONE]


def run(state: FusionState, times: list[float], *evidence: Evidence) -> list[int]:
    levels = []
    for time in times:
        state, fused = fuse(state, tick(1, START + time), evidence)
        levels.append(int(fused.devices.level[0]))
    return levels


def test_an_alert_ends_after_five_minutes_below_half() -> None:
    state, _ = fuse(fresh(START), tick(1), [evidence_against(0, 8.0)])

    assert run(state, [30, 300, 329, 330], evidence_against(0, 3.9)) == [
        ALERTED,
        ALERTED,
        ALERTED,
        NONE,
    ]
    assert run(state, [30, 300, 600, 900], evidence_against(0, 4.0)) == [ALERTED] * 4


def test_calm_starts_anew_after_every_relapse() -> None:
    state, _ = fuse(fresh(START), tick(1), [evidence_against(0, 8.0)])
    state, _ = fuse(state, tick(1, START + 30), [])
    state, _ = fuse(state, tick(1, START + 300), [evidence_against(0, 5.0)])

    assert run(state, [330, 600, 630]) == [ALERTED, ALERTED, NONE]


def test_silence_and_a_change_of_phase_end_nothing() -> None:
    state, _ = fuse(fresh(START), tick(1), [evidence_against(0, 8.0)])
    later = tick(1, START + 30)
    silent = later._replace(frame=later.frame._replace(device_sampled=np.full(2, START - 600)))
    held = later._replace(devices=later.devices._replace(on_hold=np.ones(2, dtype=np.bool_)))
    for paused in (silent, held):
        after, _ = fuse(state, paused, [])
        assert run(after, [360, 659, 660]) == [ALERTED, ALERTED, NONE]


def test_another_device_in_a_row_is_not_accused() -> None:
    state, _ = fuse(fresh(START), tick(1), [evidence_against(0, 8.0)])
    after = tick(1, START + 30)
    other = after._replace(frame=after.frame._replace(device_generation=np.array([1, 0])))

    assert not fuse(state, other, [])[1].devices.level.any()


def test_maintenance_mutes() -> None:
    state, _ = fuse(fresh(START), tick(2), [evidence_against(0, 8.0)])

    fused = fuse(state, tick(2, START + 30, maintenance=[0]), [evidence_against([0, 1, 2], 8.0)])[1]

    assert fused.devices.level.tolist() == [NONE, NONE, ALERTED, NONE]


def ended(*last: Evidence) -> float:
    """The budget's factor for power after an alarm of it that ended."""
    state, _ = fuse(fresh(START), tick(1), [evidence_against(0, 8.0)])
    state, _ = fuse(state, tick(1, START + 30), last)
    state, _ = fuse(state, tick(1, START + 60), [])
    state, _ = fuse(state, tick(1, START + 360), [])
    return float(state.budget.factor[position_of("power")])


def test_an_alarm_that_nothing_confirms_and_that_soon_ends_raises_its_family() -> None:
    assert ended() > 1.04
    assert ended(evidence_against(0, 8.0)) > 1.04
    assert ended(evidence_against(0, 8.0), evidence_against(0, 8.0, weight=Weight.DECISIVE)) == 1.0
    assert ended(evidence_against(0, 8.0), evidence_against(0, 8.0, family="clock")) == 1.0


def test_a_raised_family_falls_back_by_its_budget_and_never_below_one() -> None:
    state = fresh(START)
    state.budget.factor[0] = 1.05
    state, _ = fuse(state, tick(1, START + 25 * 86400), [])
    assert state.budget.factor[0] == pytest.approx(1.025)
    state, _ = fuse(state, tick(1, START + 99 * 86400), [])
    assert state.budget.factor[0] == 1.0


def test_a_job_keeps_its_level_when_codes_change() -> None:
    hang = evidence_against(0, 9.0, family="hang", subject=Subject.JOB, weight=Weight.DECISIVE)
    state, _ = fuse(fresh(START), tick(1), [hang])
    later = tick(1, START + 30)
    names = later.frame.names._replace(jobs=("4700", "4711"))

    _, fused = fuse(state, later._replace(frame=later.frame._replace(names=names)), [])

    assert fused.jobs.level.tolist() == [NONE, ALERTED]


@pytest.mark.parametrize(("grouped", "raised"), [([True], 1.0), ([False], 1.05)])
def test_what_many_suffered_in_was_no_false_alarm(grouped: list[bool], raised: float) -> None:
    state, _ = fuse(fresh(START), tick(1), [evidence_against(0, 8.0)])
    for time in (30, 330):
        state, _ = fuse(state, tick(1, START + time), [], grouped=np.array(grouped))

    assert state.budget.factor[position_of("power")] == pytest.approx(raised, abs=1e-3)


def test_what_is_reported_of_a_device_ends_when_it_is_in_others_hands() -> None:
    state, _ = fuse(fresh(START), tick(1), [evidence_against(0, 8.0)])
    after = tick(1, START + 30)
    away = after.frame.device_state.copy()
    away[0] = DeviceState.AWAY
    absent = after._replace(frame=after.frame._replace(device_state=away))

    assert not fuse(state, absent, [])[1].devices.level.any()


def test_a_page_that_is_sent_again_ends_nothing() -> None:
    state, _ = fuse(fresh(START), tick(1), [evidence_against(0, 8.0)])
    for time in (30, 330):
        again = tick(1, START + time)._replace(repeated=np.array([True]))
        state, fused = fuse(state, again, [])

    assert fused.devices.level[0] == ALERTED
