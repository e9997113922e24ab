"""All channels as one: rows that come, go and start again are the same for each."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from accelwatch.detection.arrays import Indices
from accelwatch.detection.channels.components.memory import ChannelState, Kept
from accelwatch.detection.channels.components.table import Table
from accelwatch.detection.channels.counters import Counters
from accelwatch.detection.channels.drift import Drift
from accelwatch.detection.channels.hang import Hang
from accelwatch.detection.channels.hard import Hard
from accelwatch.detection.channels.host import Host
from accelwatch.detection.channels.log import Log
from accelwatch.detection.channels.peer import Peer
from accelwatch.detection.channels.prior import Prior
from accelwatch.detection.channels.relation import Relation
from accelwatch.detection.channels.structural import Structural
from accelwatch.detection.evidence import Channel, Evidence
from accelwatch.detection.tick import Tick


class Channels:
    """The ten channels and what they remember. `prior` learns of incidents from outside."""

    def __init__(self, table: Table) -> None:
        self.prior = Prior()
        self._channels: dict[Channel, ChannelState] = {
            Channel.PEER: Peer(table),
            Channel.DRIFT: Drift(table),
            Channel.COUNTER: Counters(table),
            Channel.HARD: Hard(table),
            Channel.STRUCTURAL: Structural(table),
            Channel.HANG: Hang(table),
            Channel.RELATION: Relation(table),
            Channel.LOG: Log(),
            Channel.HOST: Host(table),
            Channel.PRIOR: self.prior,
        }
        self._devices: Indices = np.array([], dtype=np.intp)
        self._nodes: Indices = np.array([], dtype=np.intp)

    def evidence(self, tick: Tick) -> list[Evidence]:
        """What all have to say; rows of another generation start without a past. Once a tick."""
        frame = tick.frame
        devices = _changed(self._devices, frame.device_generation)
        nodes = _changed(self._nodes, frame.node_generation)
        resized = (self._devices.size, self._nodes.size) != (
            frame.device_generation.size,
            frame.node_generation.size,
        )
        self._devices = frame.device_generation.copy()
        self._nodes = frame.node_generation.copy()
        results: list[Evidence] = []
        for channel in self._channels.values():
            if resized:
                channel.resize(self._devices.size, self._nodes.size)
            if devices.size or nodes.size:
                channel.void(devices, nodes)
            results += channel.evidence(tick)
        return results

    def dump(self) -> Kept:
        """Everything that a restart must not lose."""
        kept: Kept = {"device_generation": self._devices, "node_generation": self._nodes}
        for name, channel in self._channels.items():
            kept |= {f"{name}.{key}": array for key, array in channel.dump().items()}
        return kept

    def load(self, kept: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """What `dump` gave; rows of another generation are voided at the next tick."""
        for name, channel in self._channels.items():
            prefix = f"{name}."
            own = {key.removeprefix(prefix): kept[key] for key in kept if key.startswith(prefix)}
            channel.load(own)
        if "device_generation" in kept and "node_generation" in kept:
            self._devices = kept["device_generation"].astype(np.intp)
            self._nodes = kept["node_generation"].astype(np.intp)
        # An array that was missing or had another shape has as many rows as the others.
        for channel in self._channels.values():
            channel.resize(self._devices.size, self._nodes.size)


def _changed(before: Indices, now: Indices) -> Indices:
    """Rows that were there and have another generation."""
    shared = min(before.size, now.size)
    return np.flatnonzero(before[:shared] != now[:shared])
