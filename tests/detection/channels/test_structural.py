import numpy as np
import pytest

from accelwatch.detection.channels.structural import Structural
from accelwatch.detection.evidence import Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState, NodeState
from support.detection.ticks import HEAT, LOAD, POWER, TABLE, Ticks, only, row

SCRAPE = ("fleet_target_read_duration_seconds",)


def started(ticks: Ticks) -> Structural:
    structural = Structural(TABLE)
    ticks.started(structural)
    return structural


def run(ticks: Ticks, structural: Structural, count: int) -> list[Evidence]:
    found: list[Evidence] = []
    for _ in range(count):
        found = structural.evidence(ticks.after({POWER: 400.0, HEAT: 50.0, LOAD: 0.99}))
    return found


def test_a_device_that_its_node_no_longer_lists() -> None:
    ticks = Ticks()
    structural = started(ticks)
    assert run(ticks, structural, 12) == []
    ticks.missing = {6}
    assert run(ticks, structural, 1) == []
    # Its node has answered twice without it.
    found = run(ticks, structural, 1)
    gone = only(found, "device_gone")
    assert (gone.weight, gone.subject, gone.rows.tolist()) == (
        Weight.DECISIVE,
        Subject.DEVICE,
        [6],
    )
    assert only(found, "fewer_samples").rows.tolist() == [1]
    ticks.missing = set()
    assert run(ticks, structural, 1) == []


def test_a_scrape_that_is_missed_is_no_device_that_has_gone() -> None:
    ticks = Ticks()
    structural = started(ticks)
    run(ticks, structural, 12)
    for _ in range(20):
        ticks.missing = {6}
        assert run(ticks, structural, 1) == []
        ticks.missing = set()
        assert run(ticks, structural, 1) == []


def test_a_node_of_which_nothing_comes_has_no_devices_that_have_gone() -> None:
    ticks = Ticks()
    structural = started(ticks)
    run(ticks, structural, 12)
    ticks.silent = {1}
    assert run(ticks, structural, 6) == []


def test_a_device_that_was_never_seen_has_not_gone() -> None:
    ticks = Ticks(missing={6})
    assert run(ticks, started(ticks), 20) == []


def test_a_node_that_was_never_seen_is_no_sum_of_infinities() -> None:
    ticks = Ticks(silent={1})
    with np.errstate(all="raise"):
        assert run(ticks, started(ticks), 3) == []


def test_all_devices_of_a_node_are_the_matter_of_its_collector() -> None:
    ticks = Ticks()
    structural = started(ticks)
    run(ticks, structural, 12)
    ticks.missing = {4, 5, 6, 7}
    found = only(run(ticks, structural, 3), "all_devices_gone")
    assert (found.family, found.subject, found.rows.tolist()) == ("scrape", Subject.NODE, [1])
    assert found.weight is Weight.STATISTICAL


def test_a_device_that_cannot_be_read() -> None:
    ticks = Ticks(device_state={6: DeviceState.UNREADABLE})
    structural = started(ticks)
    assert run(ticks, structural, 1) == []
    assert only(run(ticks, structural, 1)).cause == "device_unreadable"
    ticks.maintenance = {1}
    assert run(ticks, structural, 3) == []


def test_a_device_that_hangs_is_listed_although_no_samples_come() -> None:
    ticks = Ticks()
    structural = started(ticks)
    run(ticks, structural, 12)
    ticks.missing = {6}
    ticks.device_state = {6: DeviceState.UNREADABLE}
    found = run(ticks, structural, 4)
    assert "device_gone" not in {each.cause for each in found}
    assert only(found, "device_unreadable").advice == "reset"


def test_a_family_that_is_gone_while_others_are_there() -> None:
    ticks = Ticks()
    structural = started(ticks)
    run(ticks, structural, 12)
    for _ in range(2):
        found = structural.evidence(
            ticks.after({POWER: row(16, 400, r6=np.nan), HEAT: 50.0, LOAD: 0.99})
        )
    assert only(found, "signals_gone").rows.tolist() == [6]
    assert run(ticks, structural, 1) == []


def test_a_family_that_was_never_there_is_not_gone() -> None:
    ticks = Ticks()
    structural = started(ticks)
    for _ in range(20):
        assert structural.evidence(ticks.after({HEAT: 50.0})) == []


@pytest.mark.parametrize(("moves", "expected"), [(True, ["values_frozen"]), (False, [])])
def test_a_value_that_stands_still_counts_while_its_group_moves(
    moves: bool, expected: list[str]
) -> None:
    ticks = Ticks()
    structural = started(ticks)
    for number in range(14):
        level = 400.0 + 10 * (number % 3 if moves else 0)
        found = structural.evidence(
            ticks.after(
                {POWER: row(16, level + number * moves, r6=400.0)}, device_median={POWER: level}
            )
        )
    assert [item.cause for item in found] == expected


@pytest.mark.parametrize(("moving", "expected"), [(9, ["values_frozen"]), (8, [])])
def test_a_value_stands_still_beside_most_of_its_peers(moving: int, expected: list[str]) -> None:
    ticks = Ticks()
    structural = started(ticks)
    power = np.full(16, 400.0)
    for number in range(14):
        # Those that rest differ too, by less than the sensor can tell.
        power[:6], power[7:] = 400.0 + number % 2, 400.0 + number % 2
        power[7 : 7 + moving] = 400.0 + 10 * (number % 3)
        found = structural.evidence(
            ticks.after({POWER: power}, device_median={POWER: 400.0 + 10 * (number % 3)})
        )
    assert [item.cause for item in found] == expected


def test_samples_that_do_not_come_are_no_frozen_value() -> None:
    ticks = Ticks()
    structural = started(ticks)
    for number in range(30):
        ticks.missing = {6} if number % 3 == 0 else set()
        level = 400.0 + 10 * (number % 3)
        found = structural.evidence(ticks.after({POWER: level}, device_median={POWER: level}))
        assert found == []


def test_an_exporter_that_repeats_itself_is_the_nodes_matter() -> None:
    ticks = Ticks()
    structural = started(ticks)
    power = np.full(16, 400.0)
    for number in range(14):
        power[:4] = power[8:] = 400.0 + 10 * (number % 3)
        found = structural.evidence(
            ticks.after({POWER: power}, device_median={POWER: float(power[0])})
        )
    assert (only(found).cause, only(found).weight) == ("exporter_frozen", Weight.CONFIRMING)
    assert only(found).rows.tolist() == [1]


def test_a_node_that_answers_again_soon_had_a_gap_and_one_that_does_not_is_down() -> None:
    ticks = Ticks(count=40, per_node=4)
    structural = started(ticks)
    run(ticks, structural, 3)
    ticks.silent, ticks.node_state = {1}, {1: NodeState.DOWN}
    assert run(ticks, structural, 1) == []
    gap = only(run(ticks, structural, 1))
    assert (gap.cause, gap.rows.tolist(), gap.weight) == ("node_silent", [1], Weight.CONFIRMING)
    assert only(run(ticks, structural, 7)).weight is Weight.CONFIRMING
    found = only(run(ticks, structural, 1))
    assert (found.cause, found.rows.tolist(), found.weight) == (
        "node_silent",
        [1],
        Weight.DECISIVE,
    )


def test_a_node_that_may_be_starting_is_not_to_be_rebooted_yet() -> None:
    ticks = Ticks(count=40, per_node=4)
    structural = started(ticks)
    run(ticks, structural, 3)
    ticks.silent, ticks.node_state = {1}, {1: NodeState.DOWN}
    down = only(run(ticks, structural, 10))
    assert (down.weight, down.advice) == (Weight.DECISIVE, "")
    assert only(run(ticks, structural, 9)).advice == ""
    stays_down = only(run(ticks, structural, 1))
    assert (stays_down.cause, stays_down.weight, stays_down.advice) == (
        "node_silent",
        Weight.DECISIVE,
        "reboot",
    )


def test_of_two_silent_nodes_only_the_one_that_stays_down_is_to_be_rebooted() -> None:
    ticks = Ticks(count=40, per_node=4)
    structural = started(ticks)
    run(ticks, structural, 3)
    ticks.silent, ticks.node_state = {1}, {1: NodeState.DOWN}
    run(ticks, structural, 11)
    ticks.silent, ticks.node_state = {1, 2}, {1: NodeState.DOWN, 2: NodeState.DOWN}
    found = run(ticks, structural, 10)
    assert {int(piece.rows[0]): piece.advice for piece in found} == {1: "reboot", 2: ""}


def test_many_silent_nodes_are_nobodys_matter() -> None:
    ticks = Ticks(count=40, per_node=4, node_state=dict.fromkeys((1, 2, 3), NodeState.DOWN))
    found = only(run(ticks, started(ticks), 2))
    assert (found.cause, found.advice, found.weight) == (
        "many_nodes_silent",
        "wait",
        Weight.CONFIRMING,
    )


def test_nodes_that_have_been_out_for_long_do_not_hide_one_that_goes_now() -> None:
    ticks = Ticks(count=40, per_node=4)
    structural = started(ticks)
    for node in (1, 2, 3):
        ticks.node_state[node] = NodeState.DOWN
        ticks.silent.add(node)
        found = run(ticks, structural, 30)
    assert only(found).rows.tolist() == [1, 2, 3]


def test_a_node_in_maintenance_may_be_silent() -> None:
    ticks = Ticks(node_state={1: NodeState.DOWN}, maintenance={1})
    assert run(ticks, started(ticks), 5) == []


@pytest.mark.parametrize(("seconds", "is_slow"), [(0.4, False), (0.9, False), (1.1, True)])
def test_a_scrape_that_takes_five_times_as_long(seconds: float, is_slow: bool) -> None:
    ticks = Ticks()
    structural = started(ticks)
    for _ in range(2):
        tick = ticks.after(
            node={SCRAPE: row(4, 0.2, r2=seconds)}, node_usual={SCRAPE: row(4, 0.2, r2=0.2)}
        )
        found = structural.evidence(tick)
    assert [item.rows.tolist() for item in found] == ([[2]] if is_slow else [])


def test_five_times_very_little_is_no_slow_scrape() -> None:
    ticks = Ticks()
    structural = started(ticks)
    for _ in range(3):
        assert not structural.evidence(ticks.after(node={SCRAPE: 0.4}, node_usual={SCRAPE: 0.05}))


def test_what_an_exporter_no_longer_reports_is_over_after_a_day() -> None:
    ticks = Ticks()
    structural = started(ticks)
    run(ticks, structural, 12)

    def without_power_and_heat(count: int) -> set[str]:
        found: list[Evidence] = []
        for _ in range(count):
            power, heat = row(16, 400.0, r6=np.nan), row(16, 50.0, r6=np.nan)
            found = structural.evidence(ticks.after({LOAD: 0.99, POWER: power, HEAT: heat}))
        return {item.cause for item in found}

    assert without_power_and_heat(2870) == {"signals_gone", "fewer_samples"}
    assert without_power_and_heat(20) == set()
    # It is had again when it comes back, and missed when it goes.
    run(ticks, structural, 12)
    assert "signals_gone" in without_power_and_heat(3)


def test_signals_that_are_missing_in_turn_are_not_missing_for_long() -> None:
    ticks = Ticks()
    structural = started(ticks)
    run(ticks, structural, 12)
    for number in range(12):
        power, heat = row(16, 400.0), row(16, 50.0)
        (power, heat)[number // 3 % 2][6] = np.nan
        found = structural.evidence(ticks.after({LOAD: 0.99, POWER: power, HEAT: heat}))
        assert all(item.sustained_s[0] < 90.0 for item in found if item.cause == "signals_gone")


def test_a_page_that_is_sent_again_confirms_for_its_node() -> None:
    ticks = Ticks()
    structural = started(ticks)
    values = {POWER: 400.0, HEAT: 50.0, LOAD: 0.99}
    repeated = np.array([False, True, False, False])
    for _ in range(2):
        found = structural.evidence(ticks.after(values)._replace(repeated=repeated))
    frozen = only(found, "exporter_frozen")
    assert (frozen.rows.tolist(), frozen.weight) == ([1], Weight.CONFIRMING)
    assert run(ticks, structural, 1) == []
