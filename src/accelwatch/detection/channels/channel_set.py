"""All channels as one: rows that come, go and start again are the same for each."""

from collections.abc import Mapping

import numpy as np

from accelwatch.detection.arrays import Indices
from accelwatch.detection.baselines.state_arrays import Array, Moves, StateArrays
from accelwatch.detection.channels.components.memory import ChannelState
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
from accelwatch.detection.frame import Frame
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

    def fit(self, frame: Frame) -> None:
        """Have the rows of a frame; those of another generation start without a history."""
        devices = _changed(self._devices, frame.device_generation)
        nodes = _changed(self._nodes, frame.node_generation)
        resized = (self._devices.size, self._nodes.size) != (
            frame.device_generation.size,
            frame.node_generation.size,
        )
        self._devices = frame.device_generation.copy()
        self._nodes = frame.node_generation.copy()
        for channel in self._channels.values():
            if resized:
                channel.resize(self._devices.size, self._nodes.size)
            if devices.size or nodes.size:
                channel.void(devices, nodes)

    def evidence(self, tick: Tick) -> list[Evidence]:
        """What all have to say. Once a tick."""
        self.fit(tick.frame)
        results: list[Evidence] = []
        for channel in self._channels.values():
            results += channel.evidence(tick)
        return results

    def state_arrays(self) -> StateArrays:
        """Everything that a restart must not lose."""
        state = StateArrays.empty()
        for name, channel in self._channels.items():
            state.add(name, channel.state_arrays())
        return state

    def restore(self, other: Mapping[str, Array], moves: Moves) -> None:
        """What `state_arrays` gave beside rows."""
        for name, channel in self._channels.items():
            prefix = f"{name}."
            own = {key.removeprefix(prefix): other[key] for key in other if key.startswith(prefix)}
            channel.restore(own, moves)


def _changed(before: Indices, now: Indices) -> Indices:
    """Rows that were there and have another generation."""
    shared = min(before.size, now.size)
    return np.flatnonzero(before[:shared] != now[:shared])
