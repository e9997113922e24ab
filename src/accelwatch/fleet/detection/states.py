"""States of nodes in the words of a fleet, as the detector distinguishes them, and words as codes."""

from collections.abc import Mapping

import numpy as np

from accelwatch.detection.arrays import Codes, Indices
from accelwatch.detection.frame import NodeState
from accelwatch.fleet.names import NodeState as Answering
from accelwatch.fleet.rules.columns.columns import Texts

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
