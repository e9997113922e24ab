"""Devices as JSON: what stays is written once a device and kept, what moves is put between."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from accelwatch.fleet.api.query.choosing import subject_at
from accelwatch.fleet.api.query.names import Column, Subject
from accelwatch.fleet.api.query.showing import shown
from accelwatch.fleet.documents.fleet import DeviceRow
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.fleet_status import FleetStatus
from accelwatch.fleet.state.rows.table import Indices, Memo
from accelwatch.fleet.table.state_codes import HEALTHS, NODE_STATES, STATE, STATES
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Number

_to_json = msgspec.json.Encoder().encode
# No field of a device has this name.
_STATIC = "\0standing"
_NODE_STATE = b',"node_state":""'
_MOVING = b',"state":"","health":"","sample_age_s":null,"values":{}'
_UNREACHABLE = STATE["unreachable"]


def written(fleet: Fleet, now: FleetStatus, at: Indices, columns: Sequence[Column]) -> list[bytes]:
    """Devices at these indices of a status as rows of JSON.

    A silent node's last values are not shown as now's: those of a stale node are its last, one that is
    down has none.
    """
    if not len(at):
        return []
    table, rows, state = fleet.table, now.rows[at], now.state[at]
    numbers = shown(table, rows, state == _UNREACHABLE, columns)
    by_name = dict(zip([name for name, _ in columns], numbers, strict=True))
    heads, middles, tails = zip(*_static_texts(fleet, now, at), strict=True)
    cells = zip(
        heads,
        [_NODE_STATES[code] for code in now.node_state[at].tolist()],
        middles,
        [_STATES[code] for code in state.tolist()],
        [_HEALTHS[code] for code in now.health[at].tolist()],
        _texts([None if math.isnan(age) else age for age in now.age_s[at].tolist()]),
        *[_texts(column) for column in by_name.values()],
        tails,
        strict=True,
    )
    row = _template(list(by_name))
    return [row % line for line in cells]


_STATES = [_to_json(state) for state in STATES]
_HEALTHS = [_to_json(health) for health in HEALTHS]
_NODE_STATES = [_to_json(state) for state in NODE_STATES]


def _template(names: Sequence[str]) -> bytes:
    """A row with a placeholder for everything that is no name."""
    values = b",".join([_to_json(name).replace(b"%", b"%%") + b":%b" for name in names])
    return b'%b%b%b,"state":%b,"health":%b,"sample_age_s":%b,"values":{' + values + b"}%b"


def _texts(numbers: Sequence[Number | None]) -> list[bytes]:
    """Each as JSON; written together, a number costs a tenth of what it costs by itself."""
    return _to_json(numbers)[1:-1].split(b",")


def _static_texts(fleet: Fleet, now: FleetStatus, at: Indices) -> list[tuple[bytes, bytes, bytes]]:
    """What stands before the node's state, after it, and after the values."""
    table, rows = fleet.table, now.rows[at]
    memo = table.texts.setdefault(_STATIC, Memo()).of(table.rows.size)
    for position in np.flatnonzero(memo.stamps[rows] != table.changed[rows]).tolist():
        row = int(rows[position])
        memo.texts[row] = _cut(subject_at(fleet, now, int(at[position])))
        memo.stamps[row] = table.changed[row]
    texts: list[tuple[bytes, bytes, bytes]] = memo.texts[rows].tolist()
    return texts


def _cut(subject: Subject) -> tuple[bytes, bytes, bytes]:
    row = DeviceRow(
        **identity_fields(subject),
        node_state="",
        pci_bus_id=subject.device.pci_bus_id,
        state="",
        health="",
        sample_age_s=None,
        values={},
    )
    text = _to_json(row)
    # The last of each: labels stand before them and may be called so, too.
    first = text.rindex(_NODE_STATE) + len(_NODE_STATE) - len(b'""')
    last = text.rindex(_MOVING)
    return text[:first], text[first + len(b'""') : last], text[last + len(_MOVING) :]


def identity_fields(subject: Subject) -> dict[str, Any]:
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
