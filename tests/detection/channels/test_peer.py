import numpy as np
import pytest

from accelwatch.detection.channels.peer import Peer
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState
from support.detection.restarts import restore
from support.detection.ticks import HEAT, POWER, TABLE, Ticks, only, row

ACTIVE = ("matrix_active_ratio",)


def run(ticks: Ticks, levels: list[float], peer: Peer | None = None) -> list[list[Evidence]]:
    """Evidence tick by tick with device 3 at these levels of power."""
    peer = peer or Peer(TABLE)
    ticks.started(peer)
    return [
        peer.evidence(ticks.after(device_z={POWER: row(16, 0.3, r3=level)})) for level in levels
    ]


def test_a_level_of_8_in_8_of_10_ticks_scores_8() -> None:
    ticks = Ticks()
    found = only(run(ticks, [-9.0] * 5 + [1.0] + [-9.0] * 2 + [1.0] + [-8.5])[-1])
    assert (found.channel, found.weight, found.subject) == (
        Channel.PEER,
        Weight.STATISTICAL,
        Subject.DEVICE,
    )
    assert found.family == "power"
    assert found.rows.tolist() == [3]
    assert found.score.tolist() == [8.5]
    assert found.sustained_s.tolist() == [270.0]


def test_a_level_of_8_in_7_of_10_ticks_scores_less() -> None:
    found = run(Ticks(), [-9, -9, 6.5, -9, -9, 6.5, -9, -9, 6.5, -9])[-1]
    assert only(found).score.tolist() == [6.5]


def test_transients_are_no_evidence() -> None:
    assert not any(run(Ticks(), [11, 11, 11, 0, 0, 0, 0] * 4))


def test_a_level_that_is_gone_now_is_no_evidence_now() -> None:
    ticks = Ticks()
    peer = Peer(TABLE)
    assert only(run(ticks, [9.0] * 9 + [2.6], peer)[-1]).score.tolist() == [9.0]
    (gone,) = run(ticks, [2.4], peer)
    assert not gone
    # It has missed two ticks of ten, and is back.
    assert only(run(ticks, [9.0], peer)[-1]).score.tolist() == [9.0]


def test_what_came_before_the_run_does_not_count_for_its_length() -> None:
    found = run(Ticks(), [9.0] + [0.0] * 5 + [9.0] * 4)[-1]
    assert only(found).sustained_s.tolist() == [90.0]


def test_only_the_bad_side_counts() -> None:
    ticks = Ticks()
    peer = ticks.started(Peer(TABLE))
    cool = [peer.evidence(ticks.after(device_z={HEAT: row(16, 0, r3=-12)})) for _ in range(10)]
    assert not any(cool)
    hot = [peer.evidence(ticks.after(device_z={HEAT: row(16, 0, r3=12)})) for _ in range(10)]
    assert only(hot[-1]).family == "thermal"


@pytest.mark.parametrize(
    ("watts", "active", "families"),
    [(9.0, 2.4, ["power"]), (9.0, 2.5, []), (-9.0, 2.5, ["power"]), (9.0, np.nan, ["power"])],
)
def test_who_draws_more_as_it_does_more_is_in_no_pain(
    watts: float, active: float, families: list[str]
) -> None:
    ticks = Ticks()
    peer = ticks.started(Peer(TABLE))
    z = {POWER: row(16, 0.3, r3=watts), ACTIVE: row(16, 0.3, r3=active)}
    for _ in range(10):
        found = peer.evidence(ticks.after(device_z=z))
    assert [each.family for each in found] == families


@pytest.mark.parametrize("reason", ["maintenance", "away"])
def test_who_does_more_while_nobody_judges_it_is_not_well_by_that(reason: str) -> None:
    ticks, peer = Ticks(), Peer(TABLE)
    run(ticks, [9.0] * 4, peer)
    if reason == "maintenance":
        ticks.maintenance = {0}
    else:
        ticks.device_state = {3: DeviceState.AWAY}
    z = {POWER: row(16, 0.3, r3=9.0), ACTIVE: row(16, 0.3, r3=3.0)}
    for _ in range(2):
        assert peer.evidence(ticks.after(device_z=z)) == []
    ticks.maintenance, ticks.device_state = set(), {}
    # Two samples are unknown, and of the others all are at this level.
    assert only(run(ticks, [9.0], peer)[-1]).score.tolist() == [9.0]


def test_nodes_are_judged_too() -> None:
    ticks = Ticks()
    peer = ticks.started(Peer(TABLE))
    series = ("host_interrupts_total",)
    for _ in range(10):
        found = peer.evidence(ticks.after(node_z={series: row(4, 0, r2=-10)}))
    assert (only(found).subject, only(found).rows.tolist()) == (Subject.NODE, [2])


@pytest.mark.parametrize(
    "series",
    [("host_uptime_seconds",), ("fleet_target_clock_skew_seconds",), ("exporter_series",)],
)
def test_what_a_row_is_and_since_when_is_not_compared(series: tuple[str, ...]) -> None:
    ticks = Ticks()
    peer = ticks.started(Peer(TABLE))
    for _ in range(10):
        assert not peer.evidence(ticks.after(node_z={series: row(4, 0, r2=-12)}))
        assert not peer.evidence(ticks.after(node_z={series: row(4, 0, r2=12)}))


def test_how_a_node_is_read_confirms_at_most() -> None:
    ticks = Ticks()
    peer = ticks.started(Peer(TABLE))
    series = ("fleet_target_read_duration_seconds",)
    for _ in range(10):
        found = peer.evidence(ticks.after(node_z={series: row(4, 0, r2=12)}))
    assert (only(found).family, only(found).weight) == ("scrape", Weight.CONFIRMING)


def test_missing_samples_say_nothing_and_cost_nothing() -> None:
    ticks, peer = Ticks(), Peer(TABLE)
    run(ticks, [9.0] * 6, peer)
    ticks.missing = {3}
    assert peer.evidence(ticks.after(device_z={POWER: row(16, 0, r3=9)})) == []
    ticks.missing = set()
    assert only(peer.evidence(ticks.after(device_z={POWER: row(16, 0, r3=9)}))).score == 9.0


@pytest.mark.parametrize("reason", ["maintenance", "held"])
def test_maintenance_and_a_hold_end_all_evidence(reason: str) -> None:
    ticks, peer = Ticks(), Peer(TABLE)
    assert run(ticks, [9.0] * 10, peer)[-1]
    if reason == "held":
        ticks.held = True
    else:
        ticks.maintenance = {0}
    for _ in range(4):
        assert not peer.evidence(ticks.after(device_z={POWER: row(16, 0, r3=9)}))
    ticks.held, ticks.maintenance = False, set()
    assert not peer.evidence(ticks.after(device_z={POWER: row(16, 0, r3=9)}))


def test_a_new_generation_and_a_restart() -> None:
    ticks, peer = Ticks(), Peer(TABLE)
    run(ticks, [9.0] * 10, peer)
    other = ticks.started(Peer(TABLE))
    restore(peer.state_arrays(), other, (16, 4))
    tick = ticks.after(device_z={POWER: row(16, 0, r3=9)})
    assert only(other.evidence(tick)).sustained_s.tolist() == [300.0]
    peer.void(np.array([3]), np.array([], dtype=np.intp))
    assert peer.evidence(tick) == []
