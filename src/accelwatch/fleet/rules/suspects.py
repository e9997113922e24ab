"""Who is to blame for what has befallen a job: who differs from the others, or says nothing any more."""

import numpy as np

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.rules.columns.columns import Columns, Indices
from accelwatch.fleet.rules.columns.rule_context import RuleContext
from accelwatch.fleet.table.belief import Bools, Floats

# More nodes that differ are no culprits, but what all have suffered.
_MOST = 2
_UTIL, _PROCESSES = ("utilization_ratio",), ("processes", "compute")
_WATTS = ("power_watts",)
# What distinguishes them, where it is reported.
COMPARED_SERIES = frozenset({_UTIL, _PROCESSES, _WATTS})
_LOST = ("lost", "missing", "unresponsive")


def suspects(context: RuleContext, columns: Columns, incident: Incident) -> tuple[str, ...]:
    """Nodes of a job, the likeliest first; none where none differs."""
    candidates = [row for node in sorted(set(incident.nodes)) for row in context.rows_of(node)]
    rows: Indices = np.array([row for row in candidates if row < columns.size], dtype=np.intp)
    if not len(rows):
        return ()
    silent = sorted(_nodes(context, rows[_is(columns, "node_state", rows, tuple(SPEAKING), False)]))
    if 0 < len(silent) <= _MOST:
        return tuple(silent)
    if len(rows) < 3:
        return ()
    watts = columns.number(_WATTS)[rows]
    draws = not np.isnan(watts).all()
    for differs in (
        _is(columns, "state", rows, _LOST, True),
        _below(columns.number(_UTIL)[rows], 0.5, 0.9),
        _below(columns.number(_PROCESSES)[rows], 0.5, 1.0),
        _below(watts / np.nanmedian(watts) if draws else watts, 0.75, 0.99),
    ):
        nodes = _nodes(context, rows[differs])
        if 0 < len(nodes) <= _MOST:
            return tuple(nodes)
    return ()


def _nodes(context: RuleContext, rows: Indices) -> list[str]:
    return list(dict.fromkeys(context.node_at(row) for row in rows.tolist()))


def _is(columns: Columns, field: str, rows: Indices, values: tuple[str, ...], among: bool) -> Bools:
    """Where a field is one of some words, or none of them; what is not known is neither."""
    texts = columns.text(field)
    codes = texts.codes[rows]
    accepted = [at for at, value in enumerate(texts.values) if value in values]
    matches: Bools = np.isin(codes, accepted)
    return matches if among else ~matches & (codes >= 0)


def _below(values: Floats, low: float, typical: float) -> Bools:
    """Where a number is low while that of most is typical."""
    if np.isnan(values).all() or np.nanmedian(values) < typical:
        return np.zeros(len(values), dtype=np.bool_)
    is_low: Bools = values < low
    return is_low
