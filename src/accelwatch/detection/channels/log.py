"""Lines of logs and events of drivers: bursts of a node, judged by the first code of each."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.detection.baselines.state_arrays import Array, Moves, StateArrays
from accelwatch.detection.channels.components.memory import ChannelState
from accelwatch.detection.channels.components.reactions import (
    Reaction,
    is_decisive,
    reaction_of,
)
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import FrameEvent
from accelwatch.detection.tick import Tick
from accelwatch.schema.event import RECOVERED, Category

# A burst ends after three minutes of silence; its first code is the primary (detection.md 4.2, L).
_SILENCE_S = 180.0
# Then it stands for as long as its consequences may need to appear: 10 min, the time after an
# onset in which an alert still counts (5.5). The kernel says once that a file server is silent, and
# stands by it until it says that the server is back: an hour at most, twice the longest wait of 6.3.
_STANDS_S = 600.0
_STANDS_BY = {"nfs_not_responding": 3600.0}
_ENDS = {"nfs_ok": "nfs_not_responding"}
# As much as the clip of z; a warning as much as confirms, what many share as much as weighs alone (4.3).
_DECISIVE, _CONFIRMING, _SHARED = 12.0, 6.0, 8.0
# In this share of nodes at once it is no node's matter (4.1, step 6).
_EVERYBODY = 0.2


class Burst(NamedTuple):
    """Events of a device or node without a silence of three minutes. Times are Unix seconds."""

    node: int
    # -1: the node's.
    device: int
    code: str
    category: str
    is_decisive: bool
    # By the clock of who reported it, and never later than now.
    started: float
    # By ours: the first and the last.
    received: float
    newest: float

    @property
    def reaction(self) -> Reaction:
        """What follows from it."""
        return reaction_of(self.code, self.category, decisive=self.is_decisive)

    def lasted_s(self, now: float) -> float:
        """What is decisive or stands until its end is logged lasts; a warning while it is repeated."""
        if self.is_decisive or self.code in _STANDS_BY:
            return now - self.started
        return self.newest - self.received


class Log(ChannelState):
    """Channel L."""

    def __init__(self) -> None:
        super().__init__()
        # By row of the node and of the device: there are few at any time.
        self._bursts: dict[tuple[int, int], Burst] = {}

    def evidence(self, tick: Tick) -> list[Evidence]:
        """Bursts that go on or ended less than ten minutes ago."""
        frame = tick.frame
        for event in frame.events:
            if event.event.trusted and event.event.code not in RECOVERED:
                self._add(event, frame.now)
        self._bursts = {
            key: burst
            for key, burst in self._bursts.items()
            if frame.now - burst.newest <= _SILENCE_S + _STANDS_BY.get(burst.code, _STANDS_S)
        }
        reported = [burst for burst in self._bursts.values() if not frame.maintenance[burst.node]]
        storage = {burst.node for burst in reported if burst.reaction.family == "storage"}
        common = len(storage) > max(1.0, _EVERYBODY * len(frame.node_state))
        return [_evidence(burst, frame.now, common=common) for burst in reported]

    def _add(self, observed: FrameEvent, now: float) -> None:
        key, event = (observed.node, observed.device), observed.event
        burst = self._bursts.get(key)
        # A clock that is off by minutes neither ends a burst nor keeps it.
        goes_on = burst is not None and now - burst.newest <= _SILENCE_S
        if event.code in _ENDS:
            if burst is not None and burst.code == _ENDS[event.code]:
                del self._bursts[key]
            return
        started = min(event.time, now)
        new = Burst(
            observed.node,
            observed.device,
            event.code,
            event.category,
            is_decisive(observed),
            started,
            received=now,
            newest=now,
        )
        if burst is not None and goes_on:
            # The first code is the cause and those after it are its consequences, but what an
            # application does wrong or what only warns causes no fault of hardware.
            if _rank(new) <= _rank(burst):
                self._bursts[key] = burst._replace(newest=now)
                return
            new = new._replace(started=min(started, burst.started), received=burst.received)
        self._bursts[key] = new

    def void(self, devices: npt.NDArray[np.intp], nodes: npt.NDArray[np.intp]) -> None:
        """Drop the bursts of a device or node that restarted."""
        gone_devices, gone_nodes = set(devices.tolist()), set(nodes.tolist())
        self._bursts = {
            (node, device): burst
            for (node, device), burst in self._bursts.items()
            if node not in gone_nodes and device not in gone_devices
        }

    def state_arrays(self) -> StateArrays:
        """Bursts as columns."""
        bursts = list(self._bursts.values())
        columns: dict[str, Array] = {
            name: np.array([getattr(burst, name) for burst in bursts], dtype=kind)
            for name, kind in _COLUMNS.items()
        }
        return StateArrays({}, {}, columns)

    def restore(self, other: Mapping[str, Array], moves: Moves) -> None:
        """Bursts of devices and nodes that have come. Raises KeyError, ValueError, IndexError."""
        columns = [other[name].tolist() for name in _COLUMNS]
        for values in zip(*columns, strict=True):
            saved = Burst(*values)
            # No device is the last index.
            node, device = moves.nodes[saved.node], np.append(moves.devices, -1)[saved.device]
            present = node >= 0 and (device >= 0) == (saved.device >= 0)
            if present and saved.category in _CATEGORIES:
                burst = saved._replace(node=int(node), device=int(device))
                self._bursts.setdefault((burst.node, burst.device), burst)


_COLUMNS: dict[str, type[object]] = {
    "node": np.int64,
    "device": np.int64,
    "code": np.str_,
    "category": np.str_,
    "is_decisive": np.bool_,
    "started": np.float64,
    "received": np.float64,
    "newest": np.float64,
}


_CATEGORIES = frozenset(Category)


def _rank(burst: Burst) -> int:
    if burst.category == Category.APPLICATION or burst.code == "hung_task":
        return 0
    return 2 if burst.is_decisive else 1


def _evidence(burst: Burst, now: float, *, common: bool) -> Evidence:
    reaction, of_device = burst.reaction, burst.device >= 0
    # Storage that is silent for many is waited for (6.3, GROUP).
    waits = common and reaction.family == "storage"
    warning = _SHARED if waits else _CONFIRMING
    return Evidence(
        channel=Channel.LOG,
        weight=Weight.DECISIVE if burst.is_decisive else Weight.CONFIRMING,
        family=reaction.family,
        subject=Subject.DEVICE if of_device else Subject.NODE,
        rows=np.array([burst.device if of_device else burst.node], dtype=np.intp),
        score=np.array([_DECISIVE if burst.is_decisive else warning]),
        sustained_s=np.array([burst.lasted_s(now)]),
        since=np.array([burst.started]),
        signal=np.array([-1], dtype=np.intp),
        advice="wait" if waits else reaction.advice,
        cause=burst.code,
    )
