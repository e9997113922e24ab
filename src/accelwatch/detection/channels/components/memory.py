"""What a channel keeps from tick to tick: arrays whose last axis is rows."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from accelwatch.detection.arrays import Codes, Floats, Indices
from accelwatch.detection.evidence import Evidence
from accelwatch.detection.tick import Tick

Kept = dict[str, npt.NDArray[np.generic]]
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
        """Forget what is known of these rows: others are there now, or they began anew."""
        for kept in self.floats.values():
            kept[..., rows] = np.nan
        for codes in self.codes.values():
            codes[..., rows] = -1

    def dump(self, prefix: str) -> Kept:
        """Copies of all arrays, by name."""
        arrays: Kept = {prefix + name: kept.copy() for name, kept in self.floats.items()}
        return arrays | {prefix + name: codes.copy() for name, codes in self.codes.items()}

    def load(self, kept: Mapping[str, npt.NDArray[np.generic]], prefix: str) -> None:
        """Arrays of a dump; what has another shape, as by another table of signals, begins anew."""
        for name, array in self.floats.items():
            saved = kept.get(prefix + name)
            if saved is not None and saved.shape[:-1] == array.shape[:-1]:
                self.floats[name] = saved.astype(np.float64)
        for name, codes in self.codes.items():
            saved = kept.get(prefix + name)
            if saved is not None and saved.shape[:-1] == codes.shape[:-1]:
                self.codes[name] = saved.astype(np.int16)


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

    def dump(self) -> Kept:
        """Everything that a restart must not lose, as plain arrays."""
        return self.devices.dump("devices.") | self.nodes.dump("nodes.")

    def load(self, kept: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """What `dump` gave; `resize` comes after it."""
        self.devices.load(kept, "devices.")
        self.nodes.load(kept, "nodes.")

    def evidence(self, tick: Tick) -> list[Evidence]:
        """What this channel has to say at a tick; also learns from it. Call once a tick."""
        raise NotImplementedError
