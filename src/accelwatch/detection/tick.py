"""A frame after the first passes: rates, groups, phases and residuals, as channels read them."""

from typing import NamedTuple

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.frame import Frame


class Groups(NamedTuple):
    """Rows that do the same work. A row is in one group; -1 for those in none."""

    # intp[rows]
    code: Indices
    # intp[groups]: how many rows are in it.
    size: Indices
    # intp[groups]: how many nodes these are on.
    nodes: Indices
    # intp[groups]: the job; -1 for rows of no job.
    job: Indices
    # bool[groups]: whether there are enough on enough nodes to be compared with one another.
    comparable: Bools


class Residuals(NamedTuple):
    """One level, devices or nodes: S signals, R rows. NaN where unknown, on hold, or without peers."""

    # float64[S, R]: gauges as read, counters as rate a second, ratios.
    value: Floats
    # float64[S, R]: the median and quartiles of the row's group; NaN without comparable peers.
    median: Floats
    low: Floats
    high: Floats
    # float64[S, R]: value - median - own offset, in units of `scale`; clipped to +-12, the sign as the
    # signal goes. NaN in a group that changes its phase.
    z: Floats
    # float64[S, R]: what one unit of z is, in units of the value.
    scale: Floats
    # float64[S, R]: what the row had of late in this phase (own past), in units of the value.
    usual: Floats
    groups: Groups
    # bool[R]: numeric channels are on hold, since its group changes its phase.
    on_hold: Bools
    # float64[L, R]: the greatest value ever read of signals that the slot bounds, in their order.
    best: Floats


class Tick(NamedTuple):
    """What channels read. Arrays belong to the detector and are not written to."""

    frame: Frame
    # Seconds since the tick before.
    step_s: float
    devices: Residuals
    nodes: Residuals
    # float64[S, R]: increase of counters since the sample before, NaN for others and where unknown.
    device_increase: Floats
    node_increase: Floats
    # bool[M]: nodes whose exporter sends the same values again; None where that is not known.
    repeated: Bools | None = None
    # float64[M]: how much warmer nodes have become of late than their peers, in standard deviations;
    # None where that is not known.
    warmed: Floats | None = None
