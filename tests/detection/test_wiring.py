"""Links of nodes whose risers give fewer lanes, beside those of other nodes of the same job."""

import numpy as np
import pytest

from accelwatch.detection.arrays import Floats
from accelwatch.detection.baselines.passes import advance
from accelwatch.detection.baselines.state import DetectorState
from accelwatch.detection.tick import Tick
from accelwatch.schema.metrics import Series
from support.detection.simulated import Fleet, at

WIDTH: Series = ("pcie_link_width_lanes", "current")
GENERATION: Series = ("pcie_link_generation", "current")
SERIES = pytest.mark.parametrize("series", [WIDTH, GENERATION])
# Of four nodes of eight devices, the last has narrow risers.
NARROW = np.arange(32) >= 24


def read(state: DetectorState, fleet: Fleet, series: Series, value: Floats, ticks: int) -> Tick:
    """The last of so many ticks with these values."""
    tick = None
    for _ in range(ticks):
        frame = fleet.frame()
        frame.devices[at(series)] = value
        tick = advance(state, frame)
    assert tick is not None
    return tick


def z(tick: Tick, series: Series) -> Floats:
    result: Floats = tick.devices.z[at(series)]
    return result


def wired() -> Floats:
    return np.where(NARROW, 8.0, 16.0)


@SERIES
def test_a_node_on_narrow_risers_is_as_its_peers(series: Series) -> None:
    tick = read(DetectorState(), Fleet(4), series, wired(), 15)
    assert (z(tick, series) == 0.0).all()


@SERIES
@pytest.mark.parametrize("ticks", [15, 600])
def test_a_link_below_its_own_past_deviates(series: Series, ticks: int) -> None:
    state, fleet = DetectorState(), Fleet(4)
    read(state, fleet, series, wired(), ticks)
    fallen = wired()
    fallen[25] = 4.0
    tick = read(state, fleet, series, fallen, 2)
    assert np.flatnonzero(z(tick, series) != 0.0).tolist() == [25]
    assert z(tick, series)[25] == -12.0


@SERIES
def test_a_link_below_the_others_of_its_narrow_node_deviates(series: Series) -> None:
    lanes = wired()
    lanes[25] = 4.0
    tick = read(DetectorState(), Fleet(4), series, lanes, 15)
    assert np.flatnonzero(z(tick, series) <= -8.0).tolist() == [25]


@SERIES
def test_a_node_that_had_as_much_as_others_deviates_whole(series: Series) -> None:
    state, fleet = DetectorState(), Fleet(4)
    read(state, fleet, series, np.full(32, 16.0), 15)
    tick = read(state, fleet, series, wired(), 2)
    assert (z(tick, series)[NARROW] == -12.0).all()


@SERIES
def test_one_device_with_as_much_as_others_shows_what_its_node_gives(series: Series) -> None:
    lanes = wired()
    lanes[31] = 16.0
    tick = read(DetectorState(), Fleet(4), series, lanes, 15)
    assert np.flatnonzero(z(tick, series) <= -8.0).tolist() == list(range(24, 31))


@SERIES
def test_the_only_device_of_its_model_on_a_node_says_nothing_of_the_node(series: Series) -> None:
    fleet = Fleet(4)
    fleet.model[25:] = 1
    tick = read(DetectorState(), fleet, series, wired(), 15)
    assert z(tick, series)[24] == -12.0


@SERIES
def test_what_a_node_gives_outlives_the_move_of_a_device_to_another_job(series: Series) -> None:
    state, fleet = DetectorState(), Fleet(4)
    read(state, fleet, series, np.full(32, 16.0), 15)
    fleet.names = fleet.names._replace(jobs=("again",))
    tick = read(state, fleet, series, wired(), 15)
    assert (z(tick, series)[NARROW] == -12.0).all()
