"""Courses of single faults under each policy: what is done, and what is never done."""

import math
from itertools import pairwise
from random import Random

import msgspec
import pytest

from accelwatch_lab.recovery.course import Course, Fault, fault_of
from accelwatch_lab.recovery.detector import ASSUMED, Delay, Detector, Origin, Share
from accelwatch_lab.recovery.failures import BY_NAME, FAILURES, Channel, Recall
from accelwatch_lab.recovery.policies import own as policy
from accelwatch_lab.recovery.policies.fixed import ATTEMPTS, INTERVAL_S, fixed
from accelwatch_lab.recovery.policies.own import own
from accelwatch_lab.recovery.policies.person import manual
from accelwatch_lab.recovery.site import FULL_TEST_S, START_S, TIME_OUT_S, Site

SITE = Site()
SEEDS = range(300)


def detector(recall: float = 1.0, right: float = 1.0, single: float = 1.0) -> Detector:
    """One without any doubt, which takes a minute."""
    return Detector(
        recall=dict.fromkeys(Recall, Share(recall, Origin.STATED)),
        right_node=Share(right, Origin.STATED),
        single_group=Share(single, Origin.STATED),
        delays=dict.fromkeys(Channel, Delay(60.0, 60.0, Origin.STATED)),
        source="",
    )


def course(name: str, *, lasts: bool = True, ends_s: float = math.inf, seed: int = 0) -> Course:
    return Course(Fault(BY_NAME[name], lasts, ends_s), SITE, Random(seed))


def under_own(name: str, measures: Detector, seed: int = 0, **fault: object) -> Course:
    run = course(name, seed=seed, **fault)  # type: ignore[arg-type]
    own(run, measures)
    return run


@pytest.mark.parametrize("name", [kind.name for kind in FAILURES if kind.is_hardware])
def test_the_right_node_out_is_the_end_of_it(name: str) -> None:
    run = under_own(name, detector())
    assert not run.by_person
    assert run.wrong_exclusions == 0
    # A contained error is retried on the same nodes first.
    assert len(run.starts) == (2 if name == "ecc" else 1)
    assert run.starts[-1].excluded == 1


def test_time_of_a_swap_at_once() -> None:
    run = under_own("off_bus", detector())
    # Delay, kill and stacks, light test, start, load.
    assert run.now == pytest.approx(60.0 + 60.0 + 60.0 + START_S + SITE.load_s)


def test_a_transient_end_is_retried_at_once_on_the_same_nodes() -> None:
    run = under_own("software", detector(), lasts=False)
    assert [start.excluded for start in run.starts] == [0]
    assert run.now == pytest.approx(60.0 + 60.0 + START_S + SITE.load_s)


@pytest.mark.parametrize("single", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("recall", [0.0, 0.5, 1.0])
def test_a_shared_cause_takes_no_node_out(recall: float, single: float) -> None:
    for seed in SEEDS:
        ends_s = Random(seed).uniform(60.0, 7200.0)
        run = under_own("group", detector(recall, 0.0, single), seed, ends_s=ends_s)
        assert run.exclusions == 0
        assert all(start.excluded == 0 for start in run.starts)
        assert run.now >= ends_s


def test_a_shared_cause_is_waited_for_by_polls() -> None:
    run = under_own("group", detector(), ends_s=600.0)
    (start,) = run.starts
    assert start.waited
    assert 600.0 <= start.at_s < 600.0 + policy.POLL_S
    assert not run.by_person


def test_a_person_comes_where_a_shared_cause_does_not_end() -> None:
    run = under_own("group", detector(), ends_s=5_000.0)
    assert run.by_person
    # Nothing was started meanwhile.
    assert all(start.by_person for start in run.starts)
    assert run.starts[0].at_s >= 120.0 + policy.POLLED_S


@pytest.mark.parametrize("kind", FAILURES, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("recall", "right"), [(1.0, 0.0), (0.0, 0.0), (0.5, 0.5)])
def test_a_retry_differs_from_the_last_one(kind: object, recall: float, right: float) -> None:
    for seed in SEEDS:
        fault = fault_of(kind, Random(seed))  # type: ignore[arg-type]
        run = Course(fault, SITE, Random(f"{seed}/own"))
        own(run, detector(recall, right, recall))
        starts = [start for start in run.starts if not start.by_person]
        for before, after in pairwise(starts):
            assert after.excluded > before.excluded or after.older or after.waited


def test_the_stop_rule_calls_a_person() -> None:
    for seed in SEEDS:
        run = under_own("nvlink", detector(right=0.0), seed)
        automatic = [start for start in run.starts if not start.by_person]
        assert run.by_person
        assert 1 <= len(automatic) <= policy.ATTEMPTS
        assert run.exclusions <= policy.EXCLUSIONS


def test_three_exclusions_an_hour_and_no_more() -> None:
    runs = [under_own("off_bus", detector(right=0.0), seed) for seed in SEEDS]
    assert max(run.exclusions for run in runs) == policy.EXCLUSIONS


def test_an_hour_ends_the_chain_before_exclusions_do() -> None:
    """Starts that die late, where a load lasts four hours, fill it."""
    site = Site(load_s=4 * 3600.0)
    runs = [Course(Fault(BY_NAME["off_bus"], True, math.inf), site, Random(seed)) for seed in SEEDS]
    for run in runs:
        own(run, detector(right=0.0))
    assert any(run.exclusions < policy.EXCLUSIONS for run in runs)
    # The decision is before the hour; a light test and the pace follow.
    latest = policy.STOP_S + 60.0 + policy.PACE_S[-1] * (1 + policy.JITTER)
    automatic = [start for run in runs for start in run.starts if not start.by_person]
    assert max(start.at_s for start in automatic) <= latest


def test_the_first_start_is_made_however_late_the_alert_is() -> None:
    delays = dict.fromkeys(Channel, Delay(7200.0, 7200.0, Origin.STATED))
    run = under_own("off_bus", msgspec.structs.replace(detector(), delays=delays))
    assert run.starts[0].at_s > policy.STOP_S
    assert not run.by_person


def test_code_goes_back_one_checkpoint_once() -> None:
    cured = 0
    for seed in SEEDS:
        run = under_own("code", detector(), seed)
        automatic = [start for start in run.starts if not start.by_person]
        assert [start.older for start in automatic] == [False, True]
        assert run.exclusions == 0
        cured += not run.by_person
    # 1.2 of 10.4 by ByteRobust.
    assert 0.05 < cured / len(SEEDS) < 0.20


def test_what_is_not_detected_ends_by_its_time_out_and_pair_tests() -> None:
    run = under_own("off_bus", detector(recall=0.0))
    first, second = run.starts
    assert TIME_OUT_S[0] + 120.0 <= first.at_s <= TIME_OUT_S[1] + 120.0
    assert (first.excluded, second.excluded) == (0, 1)
    # Six rounds halve 60 nodes, and the pace is a minute with a jitter.
    assert second.at_s - first.at_s >= 6 * 60.0 + 48.0


@pytest.mark.parametrize("nodes", [2, 1024])
def test_pair_tests_halve_the_nodes(nodes: int) -> None:
    run = Course(Fault(BY_NAME["off_bus"], True, math.inf), Site(nodes=nodes), Random(0))
    step = policy.next_step(run, 1, detected=False)
    assert step.exclude
    assert step.test_s == 60.0 * math.log2(nodes)


def test_a_delay_has_its_median_and_its_95th_percentile() -> None:
    delays = dict(ASSUMED.delays) | {Channel.HARD: Delay(45.0, 120.0, Origin.STATED)}
    measures = msgspec.structs.replace(detector(), delays=delays)
    times = sorted(
        under_own("off_bus", measures, seed).now - 120.0 - START_S - SITE.load_s
        for seed in range(4000)
    )
    assert times[2000] == pytest.approx(45.0, rel=0.06)
    assert times[3800] == pytest.approx(120.0, rel=0.12)


def test_fixed_retries_six_times_and_then_a_person_comes() -> None:
    run = course("off_bus")
    fixed(run)
    automatic = [start for start in run.starts if not start.by_person]
    assert len(automatic) == ATTEMPTS
    assert all(start.excluded == 0 for start in automatic)
    gaps = [after.at_s - before.at_s for before, after in pairwise(automatic)]
    assert min(gaps) >= INTERVAL_S
    assert run.by_person
    assert run.exclusions == 0


def test_fixed_ends_where_a_retry_works() -> None:
    run = course("nvlink", lasts=False)
    fixed(run)
    assert not run.by_person
    assert len(run.starts) == 1
    low, high = (limit + INTERVAL_S + START_S + SITE.load_s for limit in TIME_OUT_S)
    assert low <= run.now <= high


def test_a_slow_device_that_recovers_lets_the_job_run() -> None:
    run = course("slow", ends_s=3_600.0)
    fixed(run)
    assert not run.by_person
    assert run.starts[-1].at_s + START_S >= 3_600.0


def test_a_person_waits_for_the_time_out_looks_and_tests() -> None:
    for seed in SEEDS:
        run = course("nvlink", seed=seed)
        manual(run)
        assert run.starts[0].at_s >= TIME_OUT_S[0] + FULL_TEST_S
        assert all(start.by_person for start in run.starts)


@pytest.mark.parametrize(("name", "first"), [("off_bus", 0.7), ("code", 0.7), ("software", 1.0)])
def test_how_often_a_person_is_right_at_once(name: str, first: float) -> None:
    runs = []
    for seed in range(1000):
        run = course(name, lasts=name != "software", seed=seed)
        manual(run)
        runs.append(run)
    assert sum(len(run.starts) == 1 for run in runs) / 1000 == pytest.approx(first, abs=0.04)
