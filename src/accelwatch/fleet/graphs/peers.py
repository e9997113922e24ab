"""Whose line is drawn for an incident, and who its peers are: the same work, else the same model."""

from typing import NamedTuple

import numpy as np

from accelwatch.alerting.rules.verdict import Entity
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.rows.groups import STAGE
from accelwatch.fleet.state.rows.table import Indices
from accelwatch.fleet.table.belief import Bools
from accelwatch.schema.display import counted

# Peers whose values are read. Of more as many are selected evenly: their quartiles are off by 1.4
# percent of the peers (sqrt(0.25 * 0.75 / 1024)), less than a line is thick, and a page never costs
# more.
MOST_PEERS = 1024


class Subject(NamedTuple):
    """Whose line is drawn, and beside whom."""

    rows: Indices
    # `n002 nvidia3`, `the median of the 8 devices of n002`.
    name: str
    # At most MOST_PEERS.
    peers: Indices
    # `other devices of job 4711 and model NVIDIA H100`; empty without peers.
    band: str


def subject_of(fleet: Fleet, entity: Entity) -> Subject | None:
    """Of a device itself, of a node all its devices; None for what is neither, or is not known.

    As of when nodes were last brought up to date.
    """
    rows = _rows(fleet, entity)
    if not len(rows):
        return None
    peers, band = _peers(fleet, rows, of_node=not entity.device)
    return Subject(rows, _name(fleet, entity, rows), some_of(peers), band)


def _rows(fleet: Fleet, entity: Entity) -> Indices:
    table = fleet.table
    slots = table.slots_of(entity.node)
    if slots is None or entity.job or entity.rack or entity.group:
        return np.empty(0, dtype=np.intp)
    if entity.device:
        row = table.rows.get((entity.node, entity.device))
        return np.array([] if row is None else [row], dtype=np.intp)
    rows = np.array(slots.rows, dtype=np.intp)
    return rows[table.is_device[rows]]


def _name(fleet: Fleet, entity: Entity, rows: Indices) -> str:
    device = fleet.table.devices[rows[0]]
    if not entity.device:
        return f"the median of the {counted(len(rows), 'device')} of {entity.node}"
    return f"{entity.node} {entity.device if device is None else device.name}"


def _peers(fleet: Fleet, rows: Indices, *, of_node: bool) -> tuple[Indices, str]:
    """Rows of the closest group that has others, and what these are called."""
    table = fleet.table
    # A partition is no peer of a whole device. In rows that are free nobody has arrived.
    alike = _flags(len(table.kinds), table.kind[rows])[table.kind] & ~np.isnan(table.arrived)
    alike &= table.is_device == table.is_device[rows[0]]
    if of_node:
        alike &= table.node != table.node[rows[0]]
    else:
        alike[rows] = False
    kind = "other devices" if table.is_device[rows[0]] else "other partitions"
    elsewhere = " on other nodes" if of_node else ""
    model = _model(fleet, rows)
    members, work = _of_work(fleet, rows)
    peers = members[alike[members]]
    if len(peers):
        text = f"{work} and {model}" if model else work
        return peers, f"{kind}{_chosen(peers)} of {text}{elsewhere}"
    peers = np.flatnonzero(alike) if model else peers
    return peers, f"{kind}{_chosen(peers)} of {model}{elsewhere}" if len(peers) else ""


def _chosen(peers: Indices) -> str:
    """That not all peers are read, where there are very many."""
    return f", evenly chosen of {len(peers)}," if len(peers) > MOST_PEERS else ""


def _of_work(fleet: Fleet, rows: Indices) -> tuple[Indices, str]:
    """Rows of the jobs of these rows, within their stage where the node has one, and their names."""
    jobs = fleet.groups.by("job")
    numbers = np.unique(jobs.groups[_flags(fleet.table.rows.size, rows)[jobs.rows]])
    rows_of = [jobs.rows[slice(*np.searchsorted(jobs.groups, (at, at + 1)))] for at in numbers]
    members: Indices = np.flatnonzero(_flags(fleet.table.rows.size, *rows_of))
    names = ", ".join(jobs.names[number] for number in numbers)
    work = f"job{'s' if len(numbers) > 1 else ''} {names}"
    stage = fleet.table.at_number[fleet.table.node[rows[0]]].labels.get(STAGE)
    if not stage:
        return members, work
    return members[_in_stage(fleet, members, stage)], f"{work}, stage {stage}"


def _flags(size: int, *at: Indices) -> Bools:
    """True at these positions: of tens of thousands of rows much quicker than sets are."""
    flags = np.zeros(size, dtype=np.bool_)
    for positions in at:
        flags[positions] = True
    return flags


def _in_stage(fleet: Fleet, rows: Indices, stage: str) -> Bools:
    """By row whether its node has this stage, by its label."""
    nodes, at_number = fleet.table.node[rows], fleet.table.at_number
    numbers = np.flatnonzero(_flags(len(at_number), nodes)).tolist()
    same = [number for number in numbers if at_number[number].labels.get(STAGE) == stage]
    return _flags(len(at_number), np.array(same, dtype=np.intp))[nodes]


def _model(fleet: Fleet, rows: Indices) -> str:
    """`model NVIDIA H100`; empty where no device has its model."""
    devices = (fleet.table.devices[row] for row in rows)
    models = dict.fromkeys(device.model for device in devices if device and device.model)
    return " and ".join(f"model {model}" for model in models)


def some_of(peers: Indices) -> Indices:
    """No more than MOST_PEERS of them, evenly chosen."""
    if len(peers) <= MOST_PEERS:
        return peers
    return peers[np.linspace(0, len(peers) - 1, MOST_PEERS).astype(np.intp)]
