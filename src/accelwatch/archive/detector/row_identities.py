"""Who stood in which row before a restart, and where that is now.

Each process renumbers rows, so that a node is found by its name and a device by its id on its
node. One that was replaced, or whose node was rebooted, is another.
"""

from typing import NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.baselines.state_arrays import Moves

# A boot moves the moment of the last boot by more than samples are late.
BOOT_S = 180.0
RowValues = npt.NDArray[np.object_]


class _RowsFile(msgspec.Struct, frozen=True):
    nodes: list[str]
    booted_at: list[float]
    devices: list[str]
    node_of: list[int]
    uuid: list[str | None]
    serial: list[str | None]


class RowIdentities(NamedTuple):
    """Who stands in each row; N devices, M nodes. Arrays are not written to."""

    # Empty for rows in which nobody is.
    nodes: tuple[str, ...]
    # float64[M]: Unix seconds of the last boot; NaN where unknown.
    booted_at: Floats
    devices: tuple[str, ...]
    # intp[N]
    node_of: Indices
    # object[N]: None where unknown.
    uuid: RowValues
    serial: RowValues

    def to_bytes(self) -> bytes:
        """As a document."""
        return msgspec.msgpack.encode(
            _RowsFile(
                list(self.nodes),
                self.booted_at.tolist(),
                list(self.devices),
                self.node_of.tolist(),
                self.uuid.tolist(),
                self.serial.tolist(),
            )
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """What `to_bytes` gave. Raises MsgspecError, ValueError."""
        document = msgspec.msgpack.decode(data, type=_RowsFile)
        nodes, devices = len(document.nodes), len(document.devices)
        node_of = np.array(document.node_of, dtype=np.intp)
        lengths = (len(document.node_of), len(document.uuid), len(document.serial))
        if lengths != (devices,) * 3 or len(document.booted_at) != nodes:
            raise ValueError("the identities of its rows do not fit one another")
        if not ((node_of >= 0) & (node_of < max(nodes, 1))).all():
            raise ValueError("it has devices on nodes that are not there")
        return cls(
            tuple(document.nodes),
            np.array(document.booted_at, dtype=np.float64),
            tuple(document.devices),
            node_of,
            np.array(document.uuid, dtype=object),
            np.array(document.serial, dtype=object),
        )


class Arrivals(NamedTuple):
    """Where the expected rows are now."""

    moves: Moves
    # bool[N] and bool[M] of the rows of before: those that are neither here nor others now.
    awaited_devices: Bools
    awaited_nodes: Bools


def arrivals(before: RowIdentities, devices: Bools, nodes: Bools, now: RowIdentities) -> Arrivals:
    """Where those of the rows of before are now that are looked for: bool[N] and bool[M]."""
    rows = {name: row for row, name in enumerate(now.nodes) if name}
    node_now = np.array([rows.get(name, -1) for name in before.nodes], dtype=np.intp)
    booted_at = np.append(now.booted_at, np.nan)[node_now]
    booted = booted_at - before.booted_at > BOOT_S
    row_of = {
        (now.nodes[node], name): row
        for row, (name, node) in enumerate(zip(now.devices, now.node_of.tolist(), strict=True))
        if name
    }
    device_now = np.array(
        [
            row_of.get((before.nodes[node], name), -1)
            for name, node in zip(before.devices, before.node_of.tolist(), strict=True)
        ],
        dtype=np.intp,
    )
    other = booted[before.node_of]
    for text_before, text in ((before.uuid, now.uuid), (before.serial, now.serial)):
        text_now = np.array([*text.tolist(), None], dtype=object)[device_now]
        both = (text_before != None) & (text_now != None)  # noqa: E711 - by element
        other |= both & (text_before != text_now)
    named = np.array([bool(name) for name in before.devices], dtype=np.bool_)
    named_nodes = np.array([bool(name) for name in before.nodes], dtype=np.bool_)
    return Arrivals(
        Moves(
            np.where(devices & ~other, device_now, -1),
            np.where(nodes & ~booted, node_now, -1),
        ),
        devices & named & (device_now < 0) & ~other,
        nodes & named_nodes & (node_now < 0),
    )


def at_rows_of_now(before: RowIdentities, moves: Moves, now: RowIdentities) -> RowIdentities:
    """The earlier identities, by the rows of now; nothing for rows without an earlier one."""
    booted_at = np.full(len(now.nodes), np.nan)
    uuid, serial = np.full(len(now.devices), None), np.full(len(now.devices), None)
    nodes, devices = moves.nodes >= 0, moves.devices >= 0
    booted_at[moves.nodes[nodes]] = before.booted_at[nodes]
    uuid[moves.devices[devices]] = before.uuid[devices]
    serial[moves.devices[devices]] = before.serial[devices]
    return now._replace(booted_at=booted_at, uuid=uuid, serial=serial)
