"""Which nodes and devices are expected, kept in SQLite: a killed hub begins where it was.

A device is expected once it was seen, until somebody acknowledges that it has gone.
"""

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.listing import Listing
from accelwatch.schema.device import Device
from accelwatch.schema.renamed import RENAMED, current_id, current_vendor
from accelwatch.system.files.sqlite_files import open_database, transaction, translated

logger = logging.getLogger(__name__)

FILE = "inventory.sqlite"
# Files of the first version may hold every Neuron core as a device.
OLDEST_VERSION, VERSION = 1, 2
_TABLES = (
    "CREATE TABLE IF NOT EXISTS nodes (name TEXT PRIMARY KEY, first_seen REAL NOT NULL,"
    " last_seen REAL NOT NULL, acknowledged REAL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS devices (node TEXT NOT NULL, id TEXT NOT NULL,"
    " first_seen REAL NOT NULL, device BLOB NOT NULL, PRIMARY KEY (node, id)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS listings (node TEXT PRIMARY KEY, listing BLOB NOT NULL) WITHOUT ROWID",
)


class InventoryError(AccelwatchError):
    """The inventory cannot be read or written now."""


class DamagedError(InventoryError):
    """What the file holds is no inventory any more."""


class Expected(msgspec.Struct, kw_only=True):
    """A node as it is expected; times in Unix seconds."""

    first_seen: float
    last_seen: float
    # When somebody acknowledged that it is down; None again once it is seen.
    acknowledged: float | None = None
    # By id.
    devices: dict[str, Device] = {}
    # Whether its exporter lists devices that no pod holds, where a page has shown it.
    listing: Listing | None = None


# Node, device, and when it was first seen.
Added = tuple[str, Device, float]


class Changes(msgspec.Struct, kw_only=True):
    """What is to be written."""

    # Nodes whose row is new or changed.
    updated: dict[str, Expected] = msgspec.field(default_factory=dict)
    added: list[Added] = msgspec.field(default_factory=list)
    removed: list[tuple[str, str]] = msgspec.field(default_factory=list)
    forgotten: list[str] = msgspec.field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.updated or self.added or self.removed or self.forgotten)

    def drop_removed(self) -> None:
        """Do not add what is to be removed."""
        removed = set(self.removed)
        self.added = [added for added in self.added if (added[0], added[1].id) not in removed]

    def before(self, later: "Changes") -> "Changes":
        """These, which could not be written, with those that came after them."""
        kept = Changes(
            updated={
                name: expected
                for name, expected in self.updated.items()
                if name not in later.forgotten
            },
            added=[added for added in self.added if added[0] not in later.forgotten],
            removed=later.removed,
        )
        kept.drop_removed()
        return Changes(
            updated={**kept.updated, **later.updated},
            added=kept.added + later.added,
            removed=self.removed + later.removed,
            forgotten=self.forgotten + later.forgotten,
        )


class InventoryFile:
    """The file; its methods block and may be called from any thread, one at a time."""

    def __init__(self, folder: Path | None) -> None:
        """Without a folder nothing outlives the process. Raises InventoryError, DamagedError."""
        # One SQLite connection is used by several threads (check_same_thread is off), and a
        # transaction belongs to the connection, not to the thread.
        self._lock = threading.Lock()
        path = None if folder is None else folder / FILE
        with _our_errors(f"{path or 'in memory'}: cannot keep the inventory"):
            self._database = (
                sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
                if path is None
                else open_database(
                    path, version=VERSION, oldest=OLDEST_VERSION, must_exist=path.exists()
                )
            )
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise

    def _prepare(self) -> None:
        for table in _TABLES:
            self._database.execute(table)
        self._rename_devices()
        (written,) = self._database.execute("PRAGMA user_version").fetchone()
        with transaction(self._database):
            if written < VERSION:
                # To older versions every core was a device; one that still is will be learned again.
                self._database.execute("DELETE FROM devices WHERE id GLOB 'neuron:neuroncore*'")
            # Always, so that a file that cannot be written is found here.
            self._database.execute(f"PRAGMA user_version={VERSION}")

    def _rename_devices(self) -> None:
        """Replace rows of devices that were written under an old name of their vendor."""
        of_vendor = "SELECT node, id, first_seen, device FROM devices WHERE id GLOB ?"
        rows = [
            row
            for vendor in RENAMED
            for row in self._database.execute(of_vendor, (f"{vendor}:*",)).fetchall()
        ]
        if not rows:
            return
        with transaction(self._database):
            for node, old_id, first_seen, blob in rows:
                with contextlib.suppress(*DECODE_ERRORS):
                    device = _device_of(blob)
                    row = (node, device.id, first_seen, msgspec.json.encode(device))
                    # What is written under the name of today is newer.
                    self._database.execute("INSERT OR IGNORE INTO devices VALUES (?, ?, ?, ?)", row)
                self._database.execute(
                    "DELETE FROM devices WHERE node = ? AND id = ?", (node, old_id)
                )

    def load(self) -> dict[str, Expected]:
        """Everything expected, by node. Raises InventoryError, DamagedError."""
        with _our_errors("the inventory cannot be read"), self._lock:
            return read_all(self._database)

    def write(self, changes: Changes) -> None:
        """Write all or nothing; when it returns, it is on the disk. Raises InventoryError."""
        with (
            _our_errors("the inventory cannot be written"),
            self._lock,
            transaction(self._database),
        ):
            self._apply(changes)

    def _apply(self, changes: Changes) -> None:
        many = self._database.executemany
        many("DELETE FROM devices WHERE node = ? AND id = ?", changes.removed)
        forgotten = [(name,) for name in changes.forgotten]
        many("DELETE FROM devices WHERE node = ?", forgotten)
        many("DELETE FROM nodes WHERE name = ?", forgotten)
        many("DELETE FROM listings WHERE node = ?", forgotten)
        many(
            "INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?)", _node_rows(changes.updated.items())
        )
        many(
            "INSERT OR REPLACE INTO listings VALUES (?, ?)", _listing_rows(changes.updated.items())
        )
        many(
            "INSERT OR REPLACE INTO devices VALUES (?, ?, ?, ?)",
            [
                (node, device.id, at, msgspec.json.encode(device))
                for node, device, at in changes.added
            ],
        )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


def _node_rows(
    nodes: Iterable[tuple[str, Expected]],
) -> list[tuple[str, float, float, float | None]]:
    return [
        (name, expected.first_seen, expected.last_seen, expected.acknowledged)
        for name, expected in nodes
    ]


def _listing_rows(nodes: Iterable[tuple[str, Expected]]) -> list[tuple[str, bytes]]:
    return [
        (name, msgspec.json.encode(expected.listing))
        for name, expected in nodes
        if expected.listing is not None
    ]


def _our_errors(doing: str) -> contextlib.AbstractContextManager[None]:
    return translated(doing, InventoryError, DamagedError)


def read_all(database: sqlite3.Connection) -> dict[str, Expected]:
    """Everything expected, by node. Raises sqlite3.Error."""
    nodes = database.execute(
        "SELECT name, first_seen, last_seen, acknowledged FROM nodes"
    ).fetchall()
    devices = database.execute("SELECT node, id, device FROM devices").fetchall()
    expected = {
        name: Expected(first_seen=first, last_seen=last, acknowledged=acknowledged)
        for name, first, last, acknowledged in nodes
    }
    for name, device_id, blob in devices:
        if name in expected:
            with contextlib.suppress(*DECODE_ERRORS):
                device = _device_of(blob)
                if device.id == device_id:
                    expected[name].devices[device.id] = device
                else:  # what is written under the name of today is newer
                    expected[name].devices.setdefault(device.id, device)
    for name, blob in _listings(database):
        if name in expected:
            with contextlib.suppress(*DECODE_ERRORS):
                expected[name].listing = msgspec.json.decode(blob, type=Listing)
    return expected


def _device_of(blob: bytes) -> Device:
    """A device of the file, under the name that its vendor has now. Raises DECODE_ERRORS."""
    device = msgspec.json.decode(blob, type=Device)
    if device.vendor not in RENAMED:
        return device
    parent_id = device.parent_id
    return msgspec.structs.replace(
        device,
        id=current_id(device.id),
        vendor=current_vendor(device.vendor),
        parent_id=None if parent_id is None else current_id(parent_id),
    )


def _listings(database: sqlite3.Connection) -> list[tuple[str, bytes]]:
    """Empty for a file that an older version wrote and this one only reads."""
    tables = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'listings'"
    if database.execute(tables).fetchone() is None:
        return []
    return database.execute("SELECT node, listing FROM listings").fetchall()
