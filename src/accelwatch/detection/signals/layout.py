"""The tables of signals as arrays, for code that works on all signals at once."""

from typing import NamedTuple, Self

import numpy as np

from accelwatch.detection.arrays import Floats, Indices
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.signals.signal import Form, SignalRow


class Layout(NamedTuple):
    """Where in a table the signals of each kind are, and how coarse each is."""

    signals: int
    # intp: places of counters, of those that show a phase, and of those that the slot bounds.
    counters: Indices
    phases: Indices
    by_slot: Indices
    # float64[signals]: no smaller difference means anything, in base units and as a share.
    step: Floats
    relative: Floats

    @classmethod
    def of(cls, table: tuple[SignalRow, ...]) -> Self:
        """The layout of a table."""
        return cls(
            len(table),
            np.array([i for i, row in enumerate(table) if row.form is Form.RATE], dtype=np.intp),
            np.array([i for i, row in enumerate(table) if row.phase], dtype=np.intp),
            np.array([i for i, row in enumerate(table) if row.by_slot], dtype=np.intp),
            np.array([row.step for row in table]),
            np.array([row.relative for row in table]),
        )


DEVICE_LAYOUT = Layout.of(DEVICE_SIGNALS)
NODE_LAYOUT = Layout.of(NODE_SIGNALS)
