"""The tables of signals as arrays, for code that works on all signals at once."""

from typing import NamedTuple, Self

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.fusion.families import family_of
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.signals.signal import Form, SignalRow

# Families of links are not of work, but what they carry is.
_TRAFFIC = frozenset({"interconnect_bytes_total", "pcie_bytes_total"})
_TEMPERATURE = "temperature_celsius"


class Layout(NamedTuple):
    """Where in a table the signals of each kind are, and how coarse each is."""

    signals: int
    # intp: indices of counters, of those that show a phase, and of those that the slot bounds.
    counters: Indices
    phases: Indices
    by_slot: Indices
    # float64[signals]: no smaller difference means anything, in base units and as a share.
    step: Floats
    relative: Floats
    # bool[signals]: what follows from which part of the work a row does.
    work: Bools
    # intp: places of temperatures, in degrees that rise with the air.
    heat: Indices

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
            np.array([_is_of_work(row) for row in table], dtype=np.bool_),
            np.array(
                [i for i, row in enumerate(table) if row.series[0] == _TEMPERATURE], dtype=np.intp
            ),
        )


def _is_of_work(row: SignalRow) -> bool:
    return family_of(row.family).of_work or row.series[0] in _TRAFFIC


DEVICE_LAYOUT = Layout.of(DEVICE_SIGNALS)
NODE_LAYOUT = Layout.of(NODE_SIGNALS)
