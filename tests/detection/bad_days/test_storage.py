"""Storage that stalls: told as one, nobody is advised to leave, and what comes after it is found."""

import pytest

from accelwatch.detection.detector import Detector
from accelwatch.detection.findings.finding import Finding, Scope
from accelwatch.detection.frame import FrameEvent
from accelwatch.schema.event import Category, ErrorEvent
from support.detection.cluster import LOAD, REST, SAVE, STALL, TRAIN, Cluster, alerts, play

# A job that waits for a read: it turns in a loop and moves nothing.
_WAITS = TRAIN._replace(watts=0.3, traffic=0.0, requests=0.0)


def _after_two_saves() -> tuple[Cluster, Detector]:
    fleet, detector = Cluster(8, each=4), Detector()
    for work, ticks in ((REST, 20), (LOAD, 60), (TRAIN, 200), (SAVE, 16), (TRAIN, 100), (SAVE, 16)):
        fleet.work = [work] * 8
        assert alerts(play(detector, fleet, ticks)) == []
    fleet.work = [TRAIN] * 8
    assert alerts(play(detector, fleet, 100)) == []
    return fleet, detector


def _log(fleet: Cluster, code: str, category: Category = Category.OTHER) -> None:
    for node in range(fleet.nodes):
        event = ErrorEvent(
            code=code, category=category, time=fleet.now + 25.0, text="", source="kernel_log"
        )
        severity = "critical" if category is Category.HANG else "warning"
        fleet.events.append(FrameEvent(node, -1, event, severity))


def _assert_waits(reported: list[Finding]) -> None:
    assert {(finding.scope, finding.family) for finding in alerts(reported)} == {
        (Scope.GROUP, "storage")
    }
    assert {finding.advice for finding in reported} == {"wait"}


def _assert_found_afterwards(fleet: Cluster, detector: Detector) -> None:
    fleet.work = [TRAIN] * 8
    ended = play(detector, fleet, 30)
    assert {finding.advice for finding in ended} == {"wait"}
    assert not detector.findings
    fleet.slow(17)
    found = alerts(play(detector, fleet, 20))
    assert (found[0].node, found[0].advice) == ("node4", "exclude")


def test_a_save_that_takes_ten_times_as_long_is_waited_for() -> None:
    fleet, detector = _after_two_saves()
    fleet.work = [STALL] * 8
    _assert_waits(play(detector, fleet, 20))
    _assert_waits(play(detector, fleet, 60) or list(detector.findings.values()))
    _assert_found_afterwards(fleet, detector)


@pytest.mark.parametrize("noted", [2, 8])
def test_a_server_that_is_silent_is_not_a_job_that_hangs(noted: int) -> None:
    fleet, detector = _after_two_saves()
    fleet.work = [_WAITS] * 8

    def lines(tick: int) -> None:
        if tick == noted:
            _log(fleet, "nfs_not_responding")
        if tick == noted + 4:
            _log(fleet, "hung_task", Category.HANG)

    reported = play(detector, fleet, 40, lines)
    # Before the kernel has said so, it is a hang by all that can be seen.
    before = [finding for finding in reported if finding.opened < fleet.now - (39 - noted) * 30.0]
    assert {finding.scope for finding in before} <= {Scope.JOB}
    _assert_waits([finding for finding in reported if finding not in before])
    _log(fleet, "nfs_ok")
    _assert_found_afterwards(fleet, detector)


def test_a_group_that_ends_soon_raises_no_threshold() -> None:
    fleet, detector = _after_two_saves()
    fleet.strength[[0, 4, 8, 12]] = 0.8
    # Five minutes on hold, and ten of power alone.
    assert {finding.scope for finding in alerts(play(detector, fleet, 34))} == {Scope.JOB}
    fleet.strength[:] = 1.0
    play(detector, fleet, 30)
    assert not detector.findings
    assert detector.fusion is not None
    assert detector.fusion.budget.factor.max() < 1.01
