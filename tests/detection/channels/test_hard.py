import numpy as np
import pytest

from accelwatch.detection.channels.hard import Hard
from accelwatch.detection.evidence import Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState
from accelwatch.detection.signals.signal import ANY
from accelwatch.schema.metrics import Series
from support.detection.ticks import LOAD, TABLE, Ticks, only, row

WIDTH: Series = ("pcie_link_width_lanes", "current")


def started(ticks: Ticks) -> Hard:
    hard = Hard(TABLE)
    ticks.started(hard)
    return hard


@pytest.mark.parametrize(
    ("series", "cause", "advice"),
    [
        (("memory_remapped_rows", "uncorrected"), "row_remap", "reset"),
        (("ecc_errors_total", "uncorrected"), "uncorrected_ecc", "reset"),
    ],
)
def test_one_more_is_enough_and_stands_for_ten_minutes(
    series: Series, cause: str, advice: str
) -> None:
    ticks = Ticks()
    hard = started(ticks)
    assert hard.evidence(ticks.after(increase={series: 0.0})) == []
    found = only(hard.evidence(ticks.after(increase={series: row(16, 0, r4=1)})))
    assert (found.cause, found.advice, found.weight) == (cause, advice, Weight.DECISIVE)
    assert (found.rows.tolist(), found.sustained_s.tolist()) == ([4], [0.0])
    for _ in range(20):
        assert hard.evidence(ticks.after(increase={series: 0.0}))
    assert hard.evidence(ticks.after(increase={series: 0.0})) == []


def test_a_reset_counter_and_a_missing_sample_are_no_step() -> None:
    ticks = Ticks()
    hard = started(ticks)
    series = ("ecc_errors_total", "uncorrected")
    assert hard.evidence(ticks.after({series: 7.0}, increase={series: np.nan})) == []
    ticks.missing = {4}
    assert hard.evidence(ticks.after(increase={series: row(16, 0, r4=1)})) == []


def test_a_remap_failure_stands_as_long_as_its_flag() -> None:
    ticks = Ticks()
    hard = started(ticks)
    series = ("memory_repair_failed",)
    for _ in range(40):
        found = only(hard.evidence(ticks.after({series: row(16, 0, r4=1)})))
    assert (found.cause, found.advice) == ("remap_failure", "replace")
    assert hard.evidence(ticks.after({series: 0.0})) == []


@pytest.mark.parametrize(
    ("series", "cause"),
    [
        (("throttle_active", "thermal_hardware"), "thermal_slowdown"),
        (("throttle_active", "power_brake"), "power_brake"),
    ],
)
def test_slowdowns_of_two_minutes(series: Series, cause: str) -> None:
    ticks = Ticks()
    hard = started(ticks)
    for _ in range(4):
        assert hard.evidence(ticks.after({series: row(16, 0, r4=1)})) == []
    assert only(hard.evidence(ticks.after({series: row(16, 0, r4=1)}))).cause == cause
    assert hard.evidence(ticks.after({series: 0.0})) == []


def test_a_slowdown_that_comes_and_goes_is_none() -> None:
    ticks = Ticks()
    hard = started(ticks)
    series = ("throttle_active", "thermal_hardware")
    for number in range(30):
        assert hard.evidence(ticks.after({series: float(number % 3 > 0)})) == []


def width(ticks: Ticks, hard: Hard, lanes: float, load: float, count: int = 4) -> list[Evidence]:
    found: list[Evidence] = []
    for _ in range(count):
        found = hard.evidence(ticks.after({WIDTH: row(16, 16, r4=lanes), LOAD: load}))
    return found


def test_a_link_below_its_own_best_under_load() -> None:
    ticks = Ticks()
    ticks.model[:] = np.arange(16)
    hard = started(ticks)
    assert width(ticks, hard, 16, 0.9) == []
    found = only(width(ticks, hard, 8, 0.9))
    assert (found.cause, found.rows.tolist()) == ("pcie_width", [4])


@pytest.mark.parametrize(
    ("series", "full", "less", "samples"),
    [(WIDTH, 16.0, 8.0, 2), (("pcie_link_generation", "current"), 5.0, 4.0, 3)],
)
def test_lanes_need_two_samples_and_a_speed_that_follows_load_three(
    series: Series, full: float, less: float, samples: int
) -> None:
    ticks = Ticks()
    hard = started(ticks)
    found: list[list[Evidence]] = [
        hard.evidence(ticks.after({series: row(16, full, r4=less), LOAD: 0.9})) for _ in range(4)
    ]
    assert [bool(each) for each in found] == [False] * (samples - 1) + [True] * (5 - samples)


def test_a_link_below_what_its_model_has_under_load() -> None:
    ticks = Ticks()
    hard = started(ticks)
    assert only(width(ticks, hard, 8, 0.9)).rows.tolist() == [4]


@pytest.mark.parametrize(
    ("narrow", "before", "expected"),
    [
        # All four of a node never had more: its risers.
        ((4, 5, 6, 7), 8, []),
        # They had more before.
        ((4, 5, 6, 7), 16, [4, 5, 6, 7]),
        # One of the node has more.
        ((4, 5, 6), 8, [4, 5, 6]),
    ],
)
def test_a_node_whose_devices_all_have_fewer_lanes_is_wired_so(
    narrow: tuple[int, ...], before: int, expected: list[int]
) -> None:
    ticks = Ticks()
    hard = started(ticks)
    lanes = {f"r{device}": 8.0 for device in narrow}
    first = {f"r{device}": float(before) for device in narrow}
    hard.evidence(ticks.after({WIDTH: row(16, 16, **first), LOAD: 0.9}))
    for _ in range(4):
        found = hard.evidence(ticks.after({WIDTH: row(16, 16, **lanes), LOAD: 0.9}))
    assert [device for each in found for device in each.rows.tolist()] == expected


def test_the_only_device_of_its_model_on_a_node_is_compared_with_the_model() -> None:
    ticks = Ticks()
    ticks.model[5:8] = 1
    hard = started(ticks)
    assert only(width(ticks, hard, 8, 0.9)).rows.tolist() == [4]


def test_a_link_that_rests_is_no_fault() -> None:
    ticks = Ticks()
    hard = started(ticks)
    assert width(ticks, hard, 8, 0.1) == []


def test_a_link_that_was_always_so_without_peers_is_no_fault() -> None:
    ticks = Ticks()
    ticks.model[:] = np.arange(16)
    hard = started(ticks)
    assert width(ticks, hard, 8, 0.9) == []


def test_a_lost_device_but_not_in_maintenance() -> None:
    ticks = Ticks(device_state={4: DeviceState.LOST})
    hard = started(ticks)
    assert hard.evidence(ticks.after()) == []
    found = only(hard.evidence(ticks.after()))
    assert (found.cause, found.advice, found.rows.tolist()) == ("device_lost", "reboot", [4])
    ticks.maintenance = {1}
    assert hard.evidence(ticks.after()) == []


def test_a_device_that_is_not_listed_in_a_single_sample_is_not_lost() -> None:
    ticks = Ticks()
    hard = started(ticks)
    for number in range(20):
        ticks.device_state = {4: DeviceState.LOST} if number % 2 else {}
        assert hard.evidence(ticks.after()) == []


UP: Series = ("host_rdma_port_up",)
RATE: Series = ("host_rdma_port_rate_bytes_per_second",)


@pytest.mark.parametrize(
    ("series", "usual", "now", "cause"),
    [(UP, 1.0, 0.0, "rdma_port_down"), (RATE, 5e10, 2.5e10, "rdma_port_rate")],
)
def test_a_port_below_what_it_has_had(series: Series, usual: float, now: float, cause: str) -> None:
    ticks = Ticks()
    hard = started(ticks)
    assert hard.evidence(ticks.after(node={series: usual})) == []
    # A flap of a sample is a matter of counters.
    assert hard.evidence(ticks.after(node={series: row(4, usual, r2=now)})) == []
    found = only(hard.evidence(ticks.after(node={series: row(4, usual, r2=now)})))
    assert (found.cause, found.subject, found.family) == (cause, Subject.NODE, "fabric")
    assert (found.weight, found.advice) == (Weight.DECISIVE, "exclude")
    assert found.rows.tolist() == [2]
    assert hard.evidence(ticks.after(node={series: usual})) == []


def test_a_port_that_was_never_better_has_no_fault() -> None:
    ticks = Ticks()
    hard = started(ticks)
    for _ in range(6):
        # Another adapter, and a port that nobody uses.
        found = hard.evidence(
            ticks.after(node={UP: row(4, 1.0, r1=0.0), RATE: row(4, 5e10, r1=2.5e10)})
        )
    assert found == []


def test_a_port_whose_node_is_worked_at() -> None:
    ticks = Ticks()
    hard = started(ticks)
    hard.evidence(ticks.after(node={RATE: 5e10}))
    ticks.maintenance = {2}
    for _ in range(6):
        assert hard.evidence(ticks.after(node={RATE: row(4, 5e10, r2=2.5e10)})) == []


def test_a_missing_sample_of_a_port_neither_starts_nor_ends_a_fault() -> None:
    ticks = Ticks()
    hard = started(ticks)
    hard.evidence(ticks.after(node={RATE: 5e10}))
    slow = {RATE: row(4, 5e10, r2=2.5e10)}
    hard.evidence(ticks.after(node=slow))
    assert hard.evidence(ticks.after(node={RATE: np.nan})) == []
    assert only(hard.evidence(ticks.after(node=slow))).rows.tolist() == [2]


def test_a_port_that_flaps_is_not_lost() -> None:
    ticks = Ticks()
    hard = started(ticks)
    for number in range(30):
        assert hard.evidence(ticks.after(node={UP: row(4, 1.0, r2=float(number % 2))})) == []


DOWNED: Series = ("host_rdma_errors_total", ANY, ANY, "link_downed")


def downs(ticks: Ticks, hard: Hard, *after_s: float) -> list[Evidence]:
    """Evidence after the port of node 2 went down, each time so many seconds after the tick before."""
    found: list[Evidence] = []
    for seconds in after_s:
        ticks.now += seconds - ticks.step_s
        found = hard.evidence(ticks.after(node_increase={DOWNED: row(4, 0, r2=2)}))
    return found


def test_a_port_that_goes_down_for_the_third_time_in_twelve_hours_flaps() -> None:
    ticks = Ticks()
    hard = started(ticks)
    assert downs(ticks, hard, 30.0, 6 * 3600.0) == []
    found = only(downs(ticks, hard, 6 * 3600.0))
    assert (found.cause, found.subject, found.family) == (
        "rdma_port_flaps",
        Subject.NODE,
        "fabric",
    )
    assert (found.rows.tolist(), found.weight) == ([2], Weight.DECISIVE)
    quiet = {DOWNED: 0.0}
    for _ in range(20):
        assert only(hard.evidence(ticks.after(node_increase=quiet))).rows.tolist() == [2]
    assert hard.evidence(ticks.after(node_increase=quiet)) == []


def test_a_port_that_goes_down_now_and_then_does_not_flap() -> None:
    ticks = Ticks()
    hard = started(ticks)
    assert downs(ticks, hard, *[6 * 3600.0 + 1.0] * 8) == []


def test_what_a_port_did_while_its_node_is_worked_at_does_not_count() -> None:
    ticks = Ticks()
    hard = started(ticks)
    ticks.maintenance = {2}
    assert downs(ticks, hard, *[30.0] * 5) == []
    ticks.maintenance = set()
    assert downs(ticks, hard, 30.0, 30.0) == []
    assert only(downs(ticks, hard, 30.0)).cause == "rdma_port_flaps"


def test_a_link_below_the_others_of_a_node_on_narrow_risers() -> None:
    ticks = Ticks()
    hard = started(ticks)
    lanes = row(16, 16, r4=4, r5=8, r6=8, r7=8)
    found: list[Evidence] = []
    for _ in range(4):
        found = hard.evidence(ticks.after({WIDTH: lanes, LOAD: 0.9}))
    assert only(found).rows.tolist() == [4]
