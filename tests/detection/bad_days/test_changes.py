"""Jobs, drivers, models and rows that change under a detector."""

import numpy as np

from accelwatch.detection.detector import Detector
from accelwatch.detection.frame import DeviceState, Frame
from support.detection.cluster import ACTIVE, REPLAYS, REST, TRAIN, Cluster, alerts, play
from support.detection.simulated import at

_WARM = 60


def _assert_slow_device_is_found(fleet: Cluster, detector: Detector, row: int = 17) -> None:
    fleet.slow(row)
    found = alerts(play(detector, fleet, 20))
    assert (found[0].device, found[0].advice) == (f"gpu{row}", "exclude")
    assert {finding.node for finding in found} == {fleet.names.nodes[fleet.node_of[row]]}


def test_a_job_that_changes_its_shape_every_minute() -> None:
    fleet, detector, rng = Cluster(12, each=4), Detector(), np.random.default_rng(1)
    play(detector, fleet, _WARM)

    def reshape(tick: int) -> None:
        if tick % 2:
            return
        members = np.isin(np.arange(12), rng.permutation(12)[: rng.integers(3, 13)])
        fleet.job = np.where(members[fleet.node_of], 0, -1)
        fleet.names = fleet.names._replace(jobs=(f"train{tick}",))
        fleet.work = [TRAIN if member else REST for member in members.tolist()]

    assert alerts(play(detector, fleet, 120, reshape)) == []
    fleet.job[:], fleet.work = 0, [TRAIN] * 12
    fleet.names = fleet.names._replace(jobs=("train",))
    assert alerts(play(detector, fleet, 20)) == []
    _assert_slow_device_is_found(fleet, detector)


def test_half_a_fleet_on_another_driver() -> None:
    fleet, detector = Cluster(8, each=4), Detector()
    play(detector, fleet, _WARM)
    half = fleet.node_of < 4
    # It draws a little less, and no longer reports a signal.
    fleet.clock[half], fleet.strength[half] = 0.97, 0.96
    frame = fleet.frame

    def with_driver() -> Frame:
        made = frame()
        made.devices[at(ACTIVE), half] = np.nan
        return made

    fleet.frame = with_driver  # type: ignore[method-assign]
    reported = play(detector, fleet, 120)
    assert alerts(reported) == []
    assert {finding.advice for finding in reported} <= {"wait"}
    _assert_slow_device_is_found(fleet, detector)


def test_a_driver_that_is_updated_node_by_node() -> None:
    fleet, detector = Cluster(9, each=4), Detector()
    play(detector, fleet, _WARM)

    def update(tick: int) -> None:
        node, since = divmod(tick, 30)
        rows = fleet.node_of == node
        if since == 0:
            fleet.maintenance[node] = fleet.silent[node] = True
        if since == 20:
            fleet.silent[node] = False
            fleet.generation[rows] += 1
            fleet.node_generation[node] += 1
            fleet.clock[rows], fleet.strength[rows] = 0.98, 0.97
            fleet.reset_counters(slice(node, node + 1))
        if since == 24:
            fleet.maintenance[node] = False

    assert alerts(play(detector, fleet, 90, update)) == []
    assert alerts(play(detector, fleet, 40)) == []
    _assert_slow_device_is_found(fleet, detector)


def test_half_a_fleet_of_another_model() -> None:
    fleet, detector = Cluster(8, each=4), Detector()
    half = fleet.node_of < 4
    fleet.model = half.astype(np.intp)
    fleet.names = fleet.names._replace(models=("B200", "H100"))
    fleet.strength[half] = 0.6
    assert alerts(play(detector, fleet, 120)) == []
    _assert_slow_device_is_found(fleet, detector)


def test_rows_that_come_and_go_and_are_given_to_others() -> None:
    fleet, detector, rng = Cluster(8, each=4), Detector(), np.random.default_rng(1)
    play(detector, fleet, _WARM)
    ids = list(fleet.names.devices)

    def replace(tick: int) -> None:
        if tick % 3 == 0:
            for row in rng.integers(0, 32, 3).tolist():
                fleet.generation[row] += 1
                fleet.replace_device(row)
                ids[row] = f"gpu{row}-{tick}"
            fleet.names = fleet.names._replace(devices=tuple(ids))
        away = tick % 5 < 3
        fleet.device_state[8:12] = DeviceState.AWAY if away else DeviceState.READ
        fleet.absent[8:12] = away

    assert alerts(play(detector, fleet, 120, replace)) == []
    fleet.names = fleet.names._replace(devices=tuple(f"gpu{row}" for row in range(32)))
    fleet.device_state[:], fleet.absent[:] = DeviceState.READ, False
    _assert_slow_device_is_found(fleet, detector)


def test_what_is_reported_of_a_device_ends_when_it_is_left_out() -> None:
    fleet, detector = Cluster(8, each=4), Detector()
    play(detector, fleet, _WARM)
    fleet.slow(17)
    assert alerts(play(detector, fleet, 20))
    fleet.device_state[17], fleet.absent[17] = DeviceState.AWAY, True
    (ended,) = play(detector, fleet, 1)
    assert (ended.node, ended.cleared) == ("node4", fleet.now)


def test_maintenance_ends_a_finding_and_a_fault_after_it_is_found() -> None:
    fleet, detector = Cluster(8, each=4), Detector()
    play(detector, fleet, _WARM)
    fleet.slow(17)
    assert alerts(play(detector, fleet, 20))
    fleet.maintenance[4] = True
    (ended,) = play(detector, fleet, 1)
    assert (ended.node, ended.cleared) == ("node4", fleet.now)
    assert play(detector, fleet, 20) == []
    fleet.maintenance[4] = False
    (again,) = alerts(play(detector, fleet, 20))
    assert (again.node, again.cleared, again.device) == ("node4", None, "gpu17")


def test_a_job_under_another_name_keeps_what_is_reported_of_its_nodes() -> None:
    fleet, detector = Cluster(8, each=4), Detector()
    play(detector, fleet, _WARM)
    fleet.slow(17)
    (opened,) = alerts(play(detector, fleet, 20))
    fleet.names = fleet.names._replace(jobs=("train-2",))
    play(detector, fleet, 60)
    assert detector.findings["node/node4"].opened == opened.opened


def test_the_counters_of_a_replaced_device_start_anew() -> None:
    fleet = Cluster(2, each=2)
    fleet.replays_s[:] = 10.0
    assert fleet.frame().devices[at(REPLAYS), 1] > 0
    fleet.replays_s[:] = 0.0
    fleet.replace_device(1)
    assert fleet.frame().devices[at(REPLAYS), 1] == 0
