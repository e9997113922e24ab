"""What a detector is worth here: the share it finds, how soon, and how often it names the right node.

Measured where the file of a scored run has it, or as an operator states it. The rest are assumptions:
the goals of the detector. They must be shown as such.
"""

import math
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch_lab.recovery.failures import Channel, Recall

# The 95th percentile of a normal distribution, in deviations.
_Z_95 = 1.645


class Origin(StrEnum):
    """Where a value is from."""

    ASSUMED = "assumed"
    MEASURED = "measured"
    STATED = "stated"


class Share(msgspec.Struct, frozen=True):
    """A share with its origin."""

    value: float
    origin: Origin
    # How it was measured: `17 of 17`.
    detail: str = ""


class Delay(msgspec.Struct, frozen=True):
    """From the onset to the alert, seconds; log-normal by median and 95th percentile."""

    median_s: float
    p95_s: float
    origin: Origin

    @property
    def sigma(self) -> float:
        """Of the logarithm; 0 where there is no spread."""
        if not 0.0 < self.median_s < self.p95_s:
            return 0.0
        return math.log(self.p95_s / self.median_s) / _Z_95


class Detector(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    recall: Mapping[Recall, Share]
    # Of alerts about a node or job, those that name the node that is broken.
    right_node: Share
    # Of faults that many nodes share, those that are reported as one.
    single_group: Share
    delays: Mapping[Channel, Delay]
    source: str

    @property
    def is_assumed(self) -> bool:
        """Whether anything of it is only assumed."""
        shares = (*self.recall.values(), self.right_node, self.single_group)
        origins = [share.origin for share in shares]
        origins += [delay.origin for delay in self.delays.values()]
        return Origin.ASSUMED in origins


# The goals that the detector has to reach on its validation traces (issue 31, part 3). Nothing of
# this has been measured; hang: only its median is a goal, and is used for all.
ASSUMED = Detector(
    recall={
        Recall.XID: Share(0.99, Origin.ASSUMED),
        Recall.NO_XID: Share(0.95, Origin.ASSUMED),
        Recall.GROUP: Share(0.90, Origin.ASSUMED),
    },
    right_node=Share(0.90, Origin.ASSUMED),
    single_group=Share(0.90, Origin.ASSUMED),
    delays={
        Channel.HARD: Delay(45.0, 120.0, Origin.ASSUMED),
        Channel.NUMERIC: Delay(270.0, 480.0, Origin.ASSUMED),
        Channel.HANG: Delay(180.0, 180.0, Origin.ASSUMED),
    },
    source="goals of the detector",
)
