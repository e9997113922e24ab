"""What a row of the tables of signals says."""

from enum import StrEnum
from typing import NamedTuple

from accelwatch.schema.metrics import Series

# In a series of a signal that is folded: any value of this label.
ANY = "*"


class Form(StrEnum):
    """How a signal is made of what is read."""

    GAUGE = "gauge"
    # A counter: its increase a second. A counter that falls was reset and has no rate for that sample.
    RATE = "rate"


class Direction(StrEnum):
    """Which side of its peers a signal is bad on."""

    BOTH = "both"
    HIGH = "high"
    LOW = "low"


class Fold(StrEnum):
    """How several series of a key become one number of a node: its interfaces, mounts, disks.

    Counters are folded only while the same series are there: one that comes or goes would look like
    what it had counted before. A frame has NaN then.
    """

    SUM = "sum"
    MAX = "max"
    MIN = "min"


class SignalRow(NamedTuple):
    """A signal; `step` in base units (a second of it, for a rate)."""

    # The series, with all its labels. `ANY` matches each value of a label; `fold` says how the series
    # that match become one number. The label of the row itself (`node`) is left out.
    series: Series
    family: str
    form: Form = Form.GAUGE
    direction: Direction = Direction.BOTH
    # Resolution of the sensor or of who records it: no smaller difference means anything.
    step: float = 0.0
    # Share of the level below which no difference means anything.
    relative: float = 0.005
    fold: Fold | None = None
    # Whether it shows which phase of its work a group is in.
    phase: bool = False
    # Whether it counts faults: judged by the counter channel, not against peers.
    errors: bool = False
    # Whether it says what a row is, or since when: sizes, inventory, uptime, clocks. Healthy rows differ
    # in it for ever, so that neither peers nor the own past say anything.
    inventory: bool = False
    # Whether the slot bounds it, of whose kinds a site has several: lanes and generation of a link.
    by_slot: bool = False


def faults(series: Series, family: str, fold: Fold | None = None) -> SignalRow:
    """A counter of faults: whole events, of which the least there can be is one in 30 s."""
    return SignalRow(series, family, Form.RATE, Direction.HIGH, 1 / 30, fold=fold, errors=True)
