"""Who is to blame for what has befallen a job: who differs from the others, or says nothing any more."""

import numpy as np

from accelwatch.alerting.incidents.incident import Incident
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.rules.columns import Columns, Places
from accelwatch.fleet.rules.ground import Ground
from accelwatch.fleet.table.belief import Bools, Floats

_MOST = 2
"""More nodes that differ are no culprits, but what all have suffered."""
_UTIL, _PROCESSES = ("utilization_ratio",), ("processes", "compute")
_WATTS = ("power_watts",)
LOOKED_AT = frozenset({_UTIL, _PROCESSES, _WATTS})
"""What tells them apart, where it is told."""
_GONE = ("lost", "missing", "unresponsive")


def suspects(ground: Ground, columns: Columns, incident: Incident) -> tuple[str, ...]:
    """Nodes of a job, the likeliest first; none where none differs."""
    found = [row for node in sorted(set(incident.nodes)) for row in ground.rows_of(node)]
    rows: Places = np.array([row for row in found if row < columns.size], dtype=np.intp)
    if not len(rows):
        return ()
    silent = sorted(_nodes(ground, rows[_is(columns, "node_state", rows, tuple(SPEAKING), False)]))
    if 0 < len(silent) <= _MOST:
        return tuple(silent)
    if len(rows) < 3:
        return ()
    watts = columns.number(_WATTS)[rows]
    draws = not np.isnan(watts).all()
    for differs in (
        _is(columns, "state", rows, _GONE, True),
        _below(columns.number(_UTIL)[rows], 0.5, 0.9),
        _below(columns.number(_PROCESSES)[rows], 0.5, 1.0),
        _below(watts / np.nanmedian(watts) if draws else watts, 0.75, 0.99),
    ):
        nodes = _nodes(ground, rows[differs])
        if 0 < len(nodes) <= _MOST:
            return tuple(nodes)
    return ()


def _nodes(ground: Ground, rows: Places) -> list[str]:
    return list(dict.fromkeys(ground.node_at(row) for row in rows.tolist()))


def _is(columns: Columns, field: str, rows: Places, words: tuple[str, ...], among: bool) -> Bools:
    """Where a field is one of some words, or none of them; what is not known is neither."""
    texts = columns.text(field)
    codes = texts.codes[rows]
    wanted = [at for at, word in enumerate(texts.words) if word in words]
    is_one: Bools = np.isin(codes, wanted)
    return is_one if among else ~is_one & (codes >= 0)


def _below(values: Floats, low: float, typical: float) -> Bools:
    """Where a number is low while that of most is typical."""
    if np.isnan(values).all() or np.nanmedian(values) < typical:
        return np.zeros(len(values), dtype=np.bool_)
    found: Bools = values < low
    return found
