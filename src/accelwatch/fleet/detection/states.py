"""States of devices and nodes in the words of a fleet, as the detector distinguishes them."""

from collections.abc import Mapping

import numpy as np

from accelwatch.detection.arrays import Codes, Indices
from accelwatch.detection.frame import DeviceState, NodeState
from accelwatch.fleet.names import NodeState as Answering
from accelwatch.fleet.rules.columns.columns import Texts

DEVICE_STATES: dict[str, DeviceState] = {
    "ok": DeviceState.READ,
    "degraded": DeviceState.DEGRADED,
    "unresponsive": DeviceState.UNREADABLE,
    "lost": DeviceState.LOST,
    "missing": DeviceState.LOST,
    "suspended": DeviceState.AWAY,
    "excluded": DeviceState.AWAY,
    "stale": DeviceState.STALE,
    "unreachable": DeviceState.STALE,
}
NODE_STATES: dict[str, NodeState] = {
    Answering.UP: NodeState.UP,
    Answering.SLOW: NodeState.SLOW,
    Answering.STALE: NodeState.DOWN,
    Answering.DOWN: NodeState.DOWN,
    Answering.NEVER: NodeState.UNKNOWN,
}


def codes_of(texts: Texts, states: Mapping[str, int], rows: Indices) -> Codes:
    """Words at rows as codes, int16; 0, which is unknown, where there is none and at -1."""
    code_of = np.array([*(states.get(value, 0) for value in texts.values), 0], dtype=np.int16)
    codes: Codes = code_of[np.append(texts.codes, -1)[rows]]
    return codes
