"""Detectors that go on in another process: arrays restored, and frames whose rows have other numbers."""

from collections.abc import Sequence

import msgspec
import numpy as np

from accelwatch.detection.arrays import Bools, Indices
from accelwatch.detection.baselines.state_arrays import Moves, StateArrays, move
from accelwatch.detection.channels.channel_set import Channels
from accelwatch.detection.channels.components.memory import ChannelState
from accelwatch.detection.detector import Detector
from accelwatch.detection.frame import Frame, Names
from accelwatch.detection.saving.saved_detector import (
    SavedDetector,
    arrays_of,
    documents_of,
    named,
    without_counters,
)
from accelwatch.detection.saving.snapshot import Snapshot, digest_of, from_bytes, to_bytes
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS

DIGEST = digest_of(DEVICE_SIGNALS, NODE_SIGNALS)


def restore(state: StateArrays, other: Channels | ChannelState, rows: tuple[int, int]) -> None:
    """Give a channel that has so many rows of devices and nodes the past of another."""
    now = other.state_arrays()
    moves = Moves(*(np.arange(count) for count in rows))
    move(state.devices, now.devices, moves.devices)
    move(state.nodes, now.nodes, moves.nodes)
    other.restore(state.other, moves)


def saved(detector: Detector, shifted: Bools | None = None) -> bytes:
    """What a detector knows, as in a file; `shifted` sums begin anew."""
    arrays = named(arrays_of(detector))
    if shifted is not None:
        arrays = without_counters(arrays, shifted)
    documents = {
        name: msgspec.msgpack.encode(document) for name, document in documents_of(detector).items()
    }
    return to_bytes(Snapshot(detector.rows.now, documents, arrays), DIGEST)


def read(data: bytes) -> SavedDetector:
    """What `saved` gave."""
    snapshot = from_bytes(data, DIGEST)
    assert isinstance(snapshot, Snapshot), snapshot
    return SavedDetector(snapshot)


class Numbering:
    """The order in which a new process has rows; who is left out is not there."""

    def __init__(self, devices: Sequence[int], nodes: Sequence[int]) -> None:
        self.devices, self.nodes = np.array(devices, dtype=np.intp), np.array(nodes, dtype=np.intp)

    def frame(self, frame: Frame) -> Frame:
        """The same tick with rows in this order."""
        devices, nodes = self.devices, self.nodes
        names = frame.names
        node_now = self._new_rows(nodes, len(names.nodes))
        return frame._replace(
            names=Names(
                tuple(names.nodes[row] for row in nodes),
                tuple(names.devices[row] for row in devices),
                *names[2:],
            ),
            node_of=node_now[frame.node_of[devices]],
            **{
                name: getattr(frame, name)[..., devices]
                for name in (
                    "devices",
                    "device_sampled",
                    "job",
                    "stage",
                    "model",
                    "device_generation",
                    "device_state",
                )
            },
            **{
                name: getattr(frame, name)[..., nodes]
                for name in (
                    "nodes",
                    "node_sampled",
                    "node_generation",
                    "node_state",
                    "maintenance",
                )
            },
        )

    def moves(self, devices: int, nodes: int) -> Moves:
        """Where so many rows of before are now."""
        return Moves(self._new_rows(self.devices, devices), self._new_rows(self.nodes, nodes))

    @staticmethod
    def _new_rows(order: Indices, count: int) -> Indices:
        rows = np.full(count, -1, dtype=np.intp)
        rows[order] = np.arange(len(order))
        return rows
