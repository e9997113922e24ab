"""Who is to blame for what has befallen a job: who differs from the others, or says nothing any more."""

import numpy as np

from accelwatch.fleet.backtest.ground import ArchiveGround
from accelwatch.fleet.table.belief import Floats
from accelwatch.incidents.incident import Incident

_MOST = 2
"""More nodes that differ are no culprits, but what all have suffered."""
_UTIL, _PROCESSES = ("utilization_ratio",), ("processes", "compute")
_WATTS = ("power_watts",)
LOOKED_AT = frozenset({_UTIL, _PROCESSES, _WATTS})
"""What tells them apart, where it is recorded."""


def suspects(ground: ArchiveGround, incident: Incident) -> tuple[str, ...]:
    """Nodes of a job, the likeliest first; none where none differs."""
    moments = ground.moments
    assert moments is not None
    of_job = set(incident.nodes)
    silent = sorted(of_job & moments.silent_nodes())
    if 0 < len(silent) <= _MOST:
        return tuple(silent)
    rows = np.array(
        [row for node in sorted(of_job) for row in ground.roster.rows(node)], dtype=np.intp
    )
    if len(rows) < 3:
        return ()
    states, words = moments.text("state").codes[rows], moments.text("state").words
    gone = np.isin(states, [words.index(one) for one in ("lost", "missing", "unresponsive")])
    idle = _below(moments.number(_UTIL)[rows], 0.5, 0.9)
    empty = _below(moments.number(_PROCESSES)[rows], 0.5, 1.0)
    watts = moments.number(_WATTS)[rows]
    for differs in (gone, empty, idle, _below(watts / np.nanmedian(watts), 0.75, 0.99)):
        nodes = list(dict.fromkeys(ground.roster.devices[row].node for row in rows[differs]))
        if 0 < len(nodes) <= _MOST:
            return tuple(nodes)
    return ()


def _below(
    values: Floats, low: float, typical: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Where a number is low while that of most is typical."""
    if np.isnan(values).all() or np.nanmedian(values) < typical:
        return np.zeros(len(values), dtype=np.bool_)
    found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = values < low
    return found
