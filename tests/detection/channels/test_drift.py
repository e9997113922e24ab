from accelwatch.detection.channels.drift import Drift
from accelwatch.detection.evidence import Channel, Evidence
from support.detection.restarts import restore
from support.detection.ticks import HEAT, POWER, TABLE, Ticks, only, row


def run(ticks: Ticks, drift: Drift, level: float, count: int) -> list[Evidence]:
    found: list[Evidence] = []
    for _ in range(count):
        found = drift.evidence(ticks.after(device_z={HEAT: row(16, 0.2, r5=level)}))
    return found


def test_four_deviations_of_heat_for_hours_reach_the_threshold() -> None:
    ticks = Ticks()
    drift = Drift(TABLE)
    ticks.started(drift)
    starts = ticks.now
    assert run(ticks, drift, 4.0, 300) == []
    found = only(run(ticks, drift, 4.0, 420))
    assert (found.channel, found.family, found.rows.tolist()) == (Channel.DRIFT, "thermal", [5])
    assert found.score[0] >= 8.0
    assert abs(found.since[0] - starts) <= 600.0


def test_what_is_within_the_allowed_drift_never_adds_up() -> None:
    ticks = Ticks()
    drift = Drift(TABLE)
    ticks.started(drift)
    assert run(ticks, drift, 0.7, 1000) == []


def test_cooler_than_before_is_no_harm() -> None:
    ticks = Ticks()
    drift = Drift(TABLE)
    ticks.started(drift)
    assert run(ticks, drift, -4.0, 400) == []


def test_a_job_that_changes_its_phase_each_minute_is_not_judged() -> None:
    ticks = Ticks()
    drift = Drift(TABLE)
    ticks.started(drift)
    for _ in range(200):
        ticks.held = False
        assert run(ticks, drift, 12.0, 1) == []
        ticks.held = True
        assert run(ticks, drift, 12.0, 1) == []


def test_means_of_few_samples_are_dropped() -> None:
    ticks = Ticks()
    drift = Drift(TABLE)
    ticks.started(drift)
    for count in range(400):
        ticks.missing = set() if count % 5 == 0 else {5}
        assert run(ticks, drift, 12.0, 1) == []


def test_maintenance_adds_nothing() -> None:
    ticks = Ticks(maintenance={1})
    drift = Drift(TABLE)
    ticks.started(drift)
    run(ticks, drift, 12.0, 300)
    ticks.maintenance = set()
    assert run(ticks, drift, 0.0, 1) == []


def test_a_restart_goes_on() -> None:
    ticks = Ticks()
    drift, other = Drift(TABLE), Drift(TABLE)
    ticks.started(drift)
    run(ticks, drift, 12.0, 220)
    other.resize(16, 4)
    restore(drift.state_arrays(), other, (16, 4))
    assert only(run(ticks, other, 12.0, 1)).score[0] >= 8.0


def test_what_returns_to_its_past_ends_within_the_hour() -> None:
    ticks = Ticks()
    drift = Drift(TABLE)
    ticks.started(drift)
    assert run(ticks, drift, 12.0, 400)
    assert run(ticks, drift, -0.1, 60) == []


def test_what_is_as_it_was_is_not_accused_while_its_sum_falls() -> None:
    ticks = Ticks()
    drift = Drift(TABLE)
    ticks.started(drift)
    assert run(ticks, drift, 12.0, 400)
    # The mean that is being made is still of what was.
    run(ticks, drift, 0.1, 20)
    assert run(ticks, drift, 0.1, 1) == []
    # It was not forgotten: a row that leaves its past again is accused at once.
    assert only(run(ticks, drift, 4.0, 20)).rows.tolist() == [5]


def test_what_drifts_to_the_other_side_is_accused_of_that_one() -> None:
    ticks = Ticks()
    drift = Drift(TABLE)
    ticks.started(drift)
    found: list[Evidence] = []
    for level, count in ((6.0, 400), (-6.0, 400)):
        for _ in range(count):
            found = drift.evidence(ticks.after(device_z={POWER: row(16, 0.2, r5=level)}))
    assert only(found).rows.tolist() == [5]
    assert ticks.now - found[0].since[0] <= 410 * 30.0


def test_a_row_without_peers_is_not_accused_by_what_it_was_beside_them() -> None:
    ticks = Ticks()
    drift = Drift(TABLE)
    ticks.started(drift)
    assert run(ticks, drift, 12.0, 400)
    for _ in range(30):
        assert drift.evidence(ticks.after(device_z={HEAT: row(16, 0.2, r5=float("nan"))})) == []
    # Beside peers again it still differs.
    assert only(run(ticks, drift, 12.0, 1)).rows.tolist() == [5]
