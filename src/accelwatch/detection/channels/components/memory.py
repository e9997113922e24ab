"""What a channel keeps from tick to tick: arrays whose last axis is rows."""

from collections.abc import Mapping

import numpy as np

from accelwatch.detection.arrays import Codes, Floats, Indices
from accelwatch.detection.baselines.state_arrays import Array, Arrays, Moves, StateArrays
from accelwatch.detection.evidence import Evidence
from accelwatch.detection.tick import Tick

# Leading axes of an array, without rows.
Shape = tuple[int, ...]


class Memory:
    """Arrays of one level by name. Floats begin as NaN and codes as -1: nothing is known."""

    def __init__(
        self, floats: Mapping[str, Shape], codes: Mapping[str, Shape] | None = None
    ) -> None:
        self.floats: dict[str, Floats] = {
            name: np.empty((*shape, 0)) for name, shape in floats.items()
        }
        self.codes: dict[str, Codes] = {
            name: np.empty((*shape, 0), dtype=np.int16) for name, shape in (codes or {}).items()
        }

    def resize(self, rows: int) -> None:
        """Have so many rows; those that are added know nothing."""
        for name, kept in self.floats.items():
            sized = np.full((*kept.shape[:-1], rows), np.nan)
            shared = min(rows, kept.shape[-1])
            sized[..., :shared] = kept[..., :shared]
            self.floats[name] = sized
        for name, codes in self.codes.items():
            sized_codes = np.full((*codes.shape[:-1], rows), -1, dtype=np.int16)
            shared = min(rows, codes.shape[-1])
            sized_codes[..., :shared] = codes[..., :shared]
            self.codes[name] = sized_codes

    def void(self, rows: Indices) -> None:
        """Forget what is known of these rows: others are there now, or they restarted."""
        for kept in self.floats.values():
            kept[..., rows] = np.nan
        for codes in self.codes.values():
            codes[..., rows] = -1

    def arrays(self) -> Arrays:
        """All of them by name, not copied."""
        return {**self.floats, **self.codes}


class ChannelState:
    """A channel and its past: a memory of devices and one of nodes; a channel may leave one empty."""

    def __init__(self, devices: Memory | None = None, nodes: Memory | None = None) -> None:
        self.devices = devices or Memory({})
        self.nodes = nodes or Memory({})

    def resize(self, devices: int, nodes: int) -> None:
        """Have as many rows as the frame."""
        self.devices.resize(devices)
        self.nodes.resize(nodes)

    def void(self, devices: Indices, nodes: Indices) -> None:
        """Forget the past of rows that have another generation."""
        self.devices.void(devices)
        self.nodes.void(nodes)

    def state_arrays(self) -> StateArrays:
        """Everything that a restart must not lose."""
        return StateArrays(self.devices.arrays(), self.nodes.arrays(), {})

    def restore(self, other: Mapping[str, Array], moves: Moves) -> None:
        """What `state_arrays` gave beside rows; called again when further rows have come."""

    def evidence(self, tick: Tick) -> list[Evidence]:
        """What this channel has to say at a tick; also learns from it. Call once a tick."""
        raise NotImplementedError
