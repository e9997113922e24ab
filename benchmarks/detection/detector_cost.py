"""What the detector costs a node and tick: processor time and state. One JSON document.

Every signal of every device and node is known, and what is measured moves; frames are made
before they are timed. Processor time of this thread, so that others on the machine matter little; the
median over the ticks, since those at which something else is due (stages, every ten minutes) are few.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence

import numpy as np

from accelwatch.detection.arrays import Floats
from accelwatch.detection.detector import Detector
from accelwatch.detection.frame import DeviceState, Frame, Names, NodeState
from accelwatch.detection.saving.saved_detector import arrays_of
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.signals.signal import Form, SignalRow

_INTERVAL_S = 30.0
# Groups and offsets are learned by then.
_WARM = 20
# Steps of what is set and not measured, such as lanes and flags.
_SET = (0.1, 0.5)
_GOAL_US, _GOAL_BYTES = 100.0, 64 * 1024


class Fleet:
    """Frames of healthy devices at work; each has its own level of every signal."""

    def __init__(self, nodes: int, devices: int, jobs: int) -> None:
        self._rng = np.random.default_rng(1)
        self._now = 1_800_000_000.0
        rows = nodes * devices
        self._node_of = np.repeat(np.arange(nodes, dtype=np.intp), devices)
        self._job = np.arange(rows, dtype=np.intp) * jobs // rows
        self._names = Names(
            tuple(f"node{node}" for node in range(nodes)),
            tuple(f"device{row}" for row in range(rows)),
            tuple(f"job{job}" for job in range(jobs)),
            (),
            ("model",),
        )
        self._devices = self._levels(DEVICE_SIGNALS, rows)
        self._nodes = self._levels(NODE_SIGNALS, nodes)
        self._sums = np.zeros_like(self._devices), np.zeros_like(self._nodes)

    def frame(self) -> Frame:
        """The next tick."""
        self._now += _INTERVAL_S
        rows, nodes = len(self._node_of), len(self._names.nodes)
        return Frame(
            now=self._now,
            interval_s=_INTERVAL_S,
            names=self._names,
            devices=self._values(DEVICE_SIGNALS, self._devices, self._sums[0]),
            nodes=self._values(NODE_SIGNALS, self._nodes, self._sums[1]),
            device_sampled=np.full(rows, self._now - 2.0),
            node_sampled=np.full(nodes, self._now - 2.0),
            node_of=self._node_of,
            job=self._job,
            stage=np.full(rows, -1, dtype=np.intp),
            model=np.zeros(rows, dtype=np.intp),
            device_generation=np.zeros(rows, dtype=np.intp),
            node_generation=np.zeros(nodes, dtype=np.intp),
            device_state=np.full(rows, DeviceState.READ, dtype=np.int16),
            node_state=np.full(nodes, NodeState.UP, dtype=np.int16),
            maintenance=np.zeros(nodes, dtype=np.bool_),
            events=(),
        )

    def _levels(self, signals: Sequence[SignalRow], rows: int) -> Floats:
        levels: Floats = self._rng.normal(1.0, 0.01, (len(signals), rows))
        for position, signal in enumerate(signals):
            is_flag = signal.step == 0.5 or "device_up" in signal.series
            levels[position] *= 0.0 if signal.errors or is_flag else max(100 * signal.step, 1.0)
            if signal.series == ("utilization_ratio",):
                levels[position] = 0.99
        return levels

    def _values(self, signals: Sequence[SignalRow], levels: Floats, sums: Floats) -> Floats:
        values: Floats = levels * self._rng.normal(1.0, 0.002, levels.shape)
        for position, signal in enumerate(signals):
            if signal.step in _SET:
                values[position] = levels[position].round()
            if signal.form is Form.RATE:
                sums[position] += values[position] * _INTERVAL_S
                values[position] = sums[position]
        return values


def _state_bytes(detector: Detector) -> int:
    """Of everything that grows with rows."""
    arrays = (array for part in arrays_of(detector) for array in part.values())
    return sum(array.nbytes for array in arrays)


def main() -> int:
    """Measure once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=63)
    parser.add_argument("--devices", type=int, default=8, help="of each node")
    parser.add_argument("--jobs", type=int, default=1, help="of equal size")
    parser.add_argument("--ticks", type=int, default=300)
    arguments = parser.parse_args()
    fleet = Fleet(arguments.nodes, arguments.devices, arguments.jobs)
    detector, taken_us = Detector(), list[float]()
    for _ in range(_WARM + arguments.ticks):
        frame = fleet.frame()
        started = time.thread_time()
        detector.detect(frame)
        taken_us.append((time.thread_time() - started) * 1e6 / arguments.nodes)
    measured = taken_us[_WARM:]
    result = {
        "nodes": arguments.nodes,
        "devices": arguments.nodes * arguments.devices,
        "jobs": arguments.jobs,
        "us_a_node_and_tick": round(statistics.median(measured), 1),
        "us_most": round(max(measured), 1),
        "us_goal": _GOAL_US,
        "bytes_a_node": round(_state_bytes(detector) / arguments.nodes),
        "bytes_goal": _GOAL_BYTES,
        "findings": len(detector.findings),
    }
    print(json.dumps(result, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
