"""Lines of logs and events of drivers: bursts of a node, judged by the first code of each."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.detection.channels.components.memory import ChannelState, Kept
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import Frame, FrameEvent
from accelwatch.detection.tick import Tick
from accelwatch.schema.event import RECOVERED, Category

# A burst ends after three minutes of silence; its first code is the primary (detection.md 4.2, L).
_SILENCE_S = 180.0
# Then it stands for as long as what follows from it may take to be seen: 10 min, the time after an
# onset in which an alert still counts (5.5).
_STANDS_S = 600.0
# As much as the clip of z; a warning as much as confirms (4.3).
_DECISIVE, _CONFIRMING = 12.0, 6.0


class Reaction(NamedTuple):
    """What follows from a category or a code."""

    family: str
    advice: str
    weight: Weight


# 6.3, step 2. Contained memory errors end the job and are among the ten of 1.2: decisive, by restart.
_BY_CATEGORY = {
    Category.APPLICATION: Reaction("other", "restart", Weight.CONFIRMING),
    Category.MEMORY_CONTAINED: Reaction("ecc", "restart", Weight.DECISIVE),
    Category.MEMORY_FATAL: Reaction("ecc", "reset", Weight.DECISIVE),
    Category.BUS: Reaction("pcie", "reboot", Weight.DECISIVE),
    Category.LINK: Reaction("nvlink", "", Weight.CONFIRMING),
    Category.LINK_FATAL: Reaction("nvlink", "reset", Weight.DECISIVE),
    Category.THERMAL: Reaction("thermal", "", Weight.CONFIRMING),
    Category.POWER: Reaction("power", "", Weight.CONFIRMING),
    Category.FIRMWARE: Reaction("other", "reset", Weight.DECISIVE),
    Category.HANG: Reaction("other", "reset", Weight.DECISIVE),
    Category.OTHER: Reaction("other", "", Weight.CONFIRMING),
}
# Codes whose advice differs from their category's: rows that cannot be remapped any more (6.3, REPLACE).
_ADVICE = {"xid_64": "replace"}


class Burst(NamedTuple):
    """Events of a device or node without a silence of three minutes. Times are Unix seconds."""

    node: int
    # -1: the node's.
    device: int
    code: str
    category: str
    is_critical: bool
    started: float
    newest: float


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
                self._add(event)
        self._bursts = {
            key: burst
            for key, burst in self._bursts.items()
            if frame.now - burst.newest <= _SILENCE_S + _STANDS_S
        }
        return [
            _evidence(burst, frame)
            for burst in self._bursts.values()
            if not frame.maintenance[burst.node]
        ]

    def _add(self, observed: FrameEvent) -> None:
        key, event = (observed.node, observed.device), observed.event
        burst = self._bursts.get(key)
        critical = observed.severity == "critical"
        goes_on = burst is not None and event.time - burst.newest <= _SILENCE_S
        if burst is not None and goes_on:
            mine, theirs = _rank(burst.category), _rank(event.category)
            # The first code is the cause and those after it are its consequences, but what an
            # application does wrong causes no fault of hardware.
            if theirs <= mine:
                self._bursts[key] = burst._replace(
                    newest=max(burst.newest, event.time),
                    is_critical=burst.is_critical or critical,
                )
                return
        started = burst.started if burst is not None and goes_on else event.time
        self._bursts[key] = Burst(
            observed.node,
            observed.device,
            event.code,
            event.category,
            critical,
            started,
            event.time,
        )

    def void(self, devices: npt.NDArray[np.intp], nodes: npt.NDArray[np.intp]) -> None:
        """A device or node that began anew has no bursts."""
        gone_devices, gone_nodes = set(devices.tolist()), set(nodes.tolist())
        self._bursts = {
            (node, device): burst
            for (node, device), burst in self._bursts.items()
            if node not in gone_nodes and device not in gone_devices
        }

    def dump(self) -> Kept:
        """Bursts as columns."""
        bursts = list(self._bursts.values())
        return {
            name: np.array([getattr(burst, name) for burst in bursts], dtype=kind)
            for name, kind in _COLUMNS.items()
        }

    def load(self, kept: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """What `dump` gave."""
        if all(name in kept for name in _COLUMNS):
            columns = (kept[name].tolist() for name in _COLUMNS)
            bursts = [Burst(*values) for values in zip(*columns, strict=True)]
            self._bursts = {(burst.node, burst.device): burst for burst in bursts}


_COLUMNS: dict[str, type[object]] = {
    "node": np.int64,
    "device": np.int64,
    "code": np.str_,
    "category": np.str_,
    "is_critical": np.bool_,
    "started": np.float64,
    "newest": np.float64,
}


def _rank(category: str) -> int:
    return 0 if category == Category.APPLICATION else 1


def _evidence(burst: Burst, frame: Frame) -> Evidence:
    reaction = _BY_CATEGORY[Category(burst.category)]
    application = burst.category == Category.APPLICATION
    # What the catalogue or its sender calls critical is decisive; an application's fault never is.
    decisive = reaction.weight is Weight.DECISIVE or (burst.is_critical and not application)
    of_device = burst.device >= 0
    return Evidence(
        channel=Channel.LOG,
        weight=Weight.DECISIVE if decisive else Weight.CONFIRMING,
        family=reaction.family,
        subject=Subject.DEVICE if of_device else Subject.NODE,
        rows=np.array([burst.device if of_device else burst.node], dtype=np.intp),
        score=np.array([_DECISIVE if decisive else _CONFIRMING]),
        # By the clock of who reported, which may be ahead.
        sustained_s=np.array([max(0.0, frame.now - burst.started)]),
        since=np.array([burst.started]),
        signal=np.array([-1], dtype=np.intp),
        advice=reaction.advice if application else _ADVICE.get(burst.code, reaction.advice),
        cause=burst.code,
    )
