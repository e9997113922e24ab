"""Structure: what is not there any more. Devices, families of signals, changes of a value, nodes.

It moves before any line of a log (detection.md 2): a device that hangs is no longer listed. A gap
without other evidence is the collector's, and counts for the node in the family `scrape`.
"""

from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.channels.components import frozen, scrape
from accelwatch.detection.channels.components.building import (
    active_since,
    evaluated_devices,
    evaluated_nodes,
    of_rows,
)
from accelwatch.detection.channels.components.memory import ChannelState, Memory
from accelwatch.detection.channels.components.table import Table
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState, Frame
from accelwatch.detection.tick import Tick

# Two ticks (detection.md 4.2, S): a scrape may come late, and two seldom do.
_TICKS = 2
# A family counts as had when it was there in ten ticks.
_HAD = 10
# A series that has been gone for a day of samples of 30 s is removed, as after an update of the
# exporter: its evidence ends.
_FORGET_TICKS = 2880
# Alone after some minutes: above the level of 8 (4.3).
_FAMILY_SCORE = 10.0
# More than half of a node's devices at once is the collector, not a device: two devices do not fail
# together, and one of two is no majority.
_MOST = 0.5


class _Condition(NamedTuple):
    """Something that is gone of devices, and how it is named for one device and for most of a node."""

    cause: str
    cause_of_node: str
    weight: Weight
    score: float
    advice: str
    needed: int


# A device that is not listed or cannot be read while its node answers has gone (4.3: S of a device
# alerts alone). Of a family it may be an option of the exporter that somebody changed.
_CONDITIONS = (
    # Not to be listed is to be two samples behind its node already.
    _Condition("device_gone", "all_devices_gone", Weight.DECISIVE, 12.0, "reboot", 1),
    _Condition("device_unreadable", "devices_unreadable", Weight.DECISIVE, 12.0, "reset", _TICKS),
    _Condition("signals_gone", "signals_gone", Weight.STATISTICAL, _FAMILY_SCORE, "", _TICKS),
    # `frozen` has counted ten ticks already. Alone it is the collector's (4.2, S).
    _Condition("values_frozen", "exporter_frozen", Weight.CONFIRMING, 6.0, "", 1),
)


class Structural(ChannelState):
    """Channel S."""

    def __init__(self, table: Table) -> None:
        self._families = list(table.devices.families(lambda _: True).values())
        kinds = (len(_CONDITIONS),)
        series = (len(table.devices.rows),)
        super().__init__(
            Memory(
                {"since": kinds, "value": series, "median": series, "sampled": ()},
                {
                    "ticks": kinds,
                    "had": (len(self._families),),
                    "gone": (len(self._families),),
                    "frozen": series,
                },
            ),
            Memory(scrape.FLOATS, scrape.CODES),
        )
        self._table = table

    def evidence(self, tick: Tick) -> list[Evidence]:
        """What has been gone for two ticks, of devices; and of nodes."""
        results: list[Evidence] = []
        evaluated = evaluated_devices(tick)
        active = (
            _unlisted(tick.frame),
            tick.frame.device_state == DeviceState.UNREADABLE,
            self._lost_families(tick.frame),
            frozen.is_frozen(self.devices, self._table.devices, tick),
        )
        for at, (condition, present) in enumerate(zip(_CONDITIONS, active, strict=True)):
            results += self._of_condition(at, condition, present & evaluated, tick)
        return results + scrape.evidence(self.nodes, self._table.nodes, tick)

    def _lost_families(self, frame: Frame) -> Bools:
        """bool[N]: a family that was there is not, while others of the device are."""
        finite = ~np.isnan(frame.devices)
        there = np.stack([finite[positions].any(axis=0) for positions in self._families])
        had = self.devices.codes["had"]
        lost = (had >= _HAD) & ~there
        fresh = _age(frame, frame.device_sampled) < frame.interval_s * 1.5
        lost_ticks = np.where(lost & fresh, np.maximum(self.devices.codes["gone"], 0) + 1, 0)
        self.devices.codes["gone"] = lost_ticks.astype(np.int16)
        # Of -1, nothing is known.
        had = np.where(
            there, np.minimum(had + 1, _HAD), np.where(lost_ticks >= _FORGET_TICKS, -1, had)
        )
        self.devices.codes["had"] = had.astype(np.int16)
        return np.asarray(lost.any(axis=0) & there.any(axis=0) & fresh)

    def _of_condition(
        self, at: int, condition: _Condition, present: Bools, tick: Tick
    ) -> list[Evidence]:
        now, node_of = tick.frame.now, tick.frame.node_of
        kept = self.devices
        ticks = np.where(present, np.maximum(kept.codes["ticks"][at], 0) + 1, 0)
        kept.codes["ticks"][at] = np.minimum(ticks, _TICKS)
        since = active_since(kept.floats["since"][at], present, now)
        if condition.cause == "signals_gone":
            # Of several families that are missing in turn none is missing for long.
            lost_ticks = kept.codes["gone"].max(axis=0, initial=0)
            since = np.fmax(since, now - (lost_ticks - 1) * tick.frame.interval_s)
        kept.floats["since"][at] = np.where(present, since, np.nan)
        present = ticks >= condition.needed
        listed = tick.frame.device_state != DeviceState.AWAY
        nodes = _most_of(present, node_of[listed], node_of, evaluated_nodes(tick))
        node_since = np.full(nodes.size, np.inf)
        np.minimum.at(node_since, node_of[present], since[present])
        alone = present & ~nodes[node_of]
        results = of_rows(
            Channel.STRUCTURAL,
            condition.weight,
            Subject.DEVICE,
            "other",
            alone,
            since=since,
            now=now,
            score=condition.score,
            advice=condition.advice,
            cause=condition.cause,
        )
        return results + of_rows(
            Channel.STRUCTURAL,
            Weight.STATISTICAL if condition.weight is Weight.DECISIVE else condition.weight,
            Subject.NODE,
            "scrape",
            nodes,
            since=node_since,
            now=now,
            cause=condition.cause_of_node,
        )


def _age(frame: Frame, sampled: Floats) -> Floats:
    return np.where(np.isfinite(sampled), frame.now - sampled, np.inf)


def _unlisted(frame: Frame) -> Bools:
    """bool[N]: its node answers and does not list it; never of one that was never seen.

    Of a device that hangs an agent has the state and no samples: that one is listed.
    """
    node_fresh = _age(frame, frame.node_sampled) < frame.interval_s * 1.5
    # Its sample is older than its node's by two intervals.
    observed = np.isfinite(frame.device_sampled)
    newest = np.where(observed, frame.device_sampled, np.inf)
    behind = frame.node_sampled[frame.node_of] - newest >= frame.interval_s * 1.5
    listed = frame.device_state == DeviceState.UNREADABLE
    return np.asarray(node_fresh[frame.node_of] & behind & observed & ~listed)


def _most_of(present: Bools, listed: Indices, node_of: Indices, evaluated: Bools) -> Bools:
    """bool[M]: more than half of a node's devices, and two at least.

    `listed` are the rows of nodes of those that are not away.
    """
    there = np.bincount(listed, minlength=evaluated.size)
    hit = np.bincount(node_of[present], minlength=evaluated.size)
    return np.asarray((hit > _MOST * there) & (hit >= 2) & evaluated)
