"""Devices as JSON: what stays is written once a device and kept, what moves is put between."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from accelwatch.fleet.api.choosing import subject_at
from accelwatch.fleet.api.documents import DeviceRow
from accelwatch.fleet.api.names import Column, Subject
from accelwatch.fleet.api.showing import shown
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.moment import Moment
from accelwatch.fleet.state.table import Memo, Places
from accelwatch.fleet.table.words import HEALTHS, STATE, STATES
from accelwatch.schema.device import Device

_to_json = msgspec.json.Encoder().encode
_STANDING = "\0standing"
"""No field of a device has this name."""
_NODE_STATE = b',"node_state":""'
_MOVING = b',"state":"","health":"","sample_age_s":null,"values":{}'
_UNREACHABLE = STATE["unreachable"]


def written(fleet: Fleet, now: Moment, at: Places, columns: Sequence[Column]) -> list[bytes]:
    """Devices at these places of a moment as rows of JSON.

    A silent node's last values are not shown as now's: those of a stale node are its last, one that is
    down has none.
    """
    if not len(at):
        return []
    table, rows, state = fleet.table, now.rows[at], now.state[at]
    values = shown(table, rows, state == _UNREACHABLE, columns)
    names = [name for name, _ in columns]
    ages = [None if math.isnan(age) else age for age in now.age_s[at].tolist()]
    moving = zip(
        _standing(fleet, now, at),
        _node_states(fleet, rows),
        [_STATES[code] for code in state.tolist()],
        [_HEALTHS[code] for code in now.health[at].tolist()],
        ages,
        values,
        strict=True,
    )
    return [
        b"".join(
            (
                *(head, told, middle, b',"state":', called, b',"health":', well),
                *(b',"sample_age_s":', _to_json(age)),
                *(b',"values":', _to_json(dict(zip(names, line, strict=True))), tail),
            )
        )
        for (head, middle, tail), told, called, well, age, line in moving
    ]


_STATES = [_to_json(word) for word in STATES]
_HEALTHS = [_to_json(word) for word in HEALTHS]


def _node_states(fleet: Fleet, rows: Places) -> list[bytes]:
    known: dict[int, bytes] = {}
    for number in np.unique(fleet.table.node[rows]).tolist():
        node = fleet.nodes.get(fleet.table.at_number[number].node)
        known[number] = _to_json("never" if node is None else fleet.state_of(node).value)
    return [known[number] for number in fleet.table.node[rows].tolist()]


def _standing(fleet: Fleet, now: Moment, at: Places) -> list[tuple[bytes, bytes, bytes]]:
    """What stands before the node's state, after it, and after the values."""
    table, rows = fleet.table, now.rows[at]
    memo = table.texts.setdefault(_STANDING, Memo()).of(table.rows.size)
    for place in np.flatnonzero(memo.stamps[rows] != table.changed[rows]).tolist():
        row = int(rows[place])
        memo.texts[row] = _cut(subject_at(fleet, now, int(at[place])))
        memo.stamps[row] = table.changed[row]
    found: list[tuple[bytes, bytes, bytes]] = memo.texts[rows].tolist()
    return found


def _cut(subject: Subject) -> tuple[bytes, bytes, bytes]:
    whole = DeviceRow(
        **place(subject),
        node_state="",
        pci_bus_id=subject.device.pci_bus_id,
        state="",
        health="",
        sample_age_s=None,
        values={},
    )
    text = _to_json(whole)
    first = text.index(_NODE_STATE) + len(_NODE_STATE) - len(b'""')
    last = text.rindex(_MOVING)  # a text of a driver has its quotes escaped
    return text[:first], text[first + len(b'""') : last], text[last + len(_MOVING) :]


def place(subject: Subject) -> dict[str, Any]:
    """Who a device is, where it stands and who has it: what rows and streams have in common."""
    device: Device = subject.device
    return {
        "node": subject.node,
        "labels": subject.labels,
        "id": device.id,
        "vendor": device.vendor,
        "index": device.index,
        "name": device.name,
        "kind": device.kind,
        "model": device.model,
        "uuid": device.uuid,
        "parent_id": device.parent_id,
        **subject.occupancy.shown,
    }
