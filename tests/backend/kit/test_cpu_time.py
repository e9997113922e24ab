"""The busy share between two readings of processor times, whoever told them."""

import pytest

from accelwatch.backend.kit.cpu_time import CpuTimes, busy_ratio

BEFORE: CpuTimes = {"user": 50.0, "system": 10.0, "idle": 100.0, "iowait": 10.0}


@pytest.mark.parametrize(
    ("passed", "ratio"),
    [
        ({"user": 3.0, "idle": 6.0, "iowait": 1.0}, 0.3),
        ({"user": 3.0, "system": 1.0}, 1.0),
        ({"idle": 0.5}, 0.0),
        ({"user": 3.0, "idle": 1.0, "iowait": -1.0}, 0.75),
    ],
)
def test_waiting_for_a_disk_is_idle(passed: CpuTimes, ratio: float) -> None:
    now = {mode: seconds + passed.get(mode, 0.0) for mode, seconds in BEFORE.items()}
    busy, since = busy_ratio(BEFORE, now)
    assert busy == pytest.approx(ratio)
    assert since is now


def test_what_is_too_near_is_compared_again_later() -> None:
    busy, since = busy_ratio(BEFORE, {**BEFORE, "user": 50.1})
    assert busy is None
    assert since is BEFORE


def test_counters_that_were_reset_are_compared_with_from_now_on() -> None:
    now = dict.fromkeys(BEFORE, 1.0)
    busy, since = busy_ratio(BEFORE, now)
    assert busy is None
    assert since is now
