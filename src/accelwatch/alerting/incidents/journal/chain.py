"""The chain of the journal's entries: each holds the hash of all that was written before it."""

import hashlib
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

# SQLite's greatest integer.
_END = 2**63 - 1


class Line(NamedTuple):
    """A row of the table `entry`, as it stands there."""

    sequence: int
    time: float
    actor: str
    address: str
    # Text where somebody else's hand was in it.
    body: bytes | str
    hash: str


def chained(last: str, time: float, actor: str, body: bytes, address: str = "") -> str:
    """The hash of an entry after the one with the hash `last`.

    Without an address it is what the first version of the journal wrote.
    """
    where = f"\0{address}\0\n" if address else ""
    head = f"{last}\n{time!r}\n{actor}\n{where}".encode()
    return hashlib.sha256(head + body).hexdigest()


def lines(
    database: sqlite3.Connection, after: int = 0, to: int = _END, *, newest_first: bool = False
) -> Iterator[Line]:
    """The entries from after a sequence up to another, in their order. Raises sqlite3.Error."""
    order = "DESC" if newest_first else "ASC"
    columns = {row[1] for row in database.execute("PRAGMA table_info(entry)")}
    address = "address" if "address" in columns else "''"  # a file of the first version, only read
    rows = database.execute(
        f"SELECT seq, time, actor, {address}, body, hash FROM entry"  # noqa: S608
        f" WHERE seq > ? AND seq <= ? ORDER BY seq {order}",
        (after, to),
    )
    return map(Line._make, rows)


def anchor(database: sqlite3.Connection) -> str:
    """What the oldest entry is chained to: nothing, or the last of those that were removed."""
    row = database.execute("SELECT value FROM meta WHERE key = 'anchor'").fetchone()
    return "" if row is None else str(row[0])


def last_hash(database: sqlite3.Connection) -> str:
    """What the next entry is chained to."""
    row = database.execute("SELECT hash FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
    return anchor(database) if row is None else str(row[0])


class Verdict(NamedTuple):
    """What following the chain has shown."""

    # Entries that are what was written.
    good: int
    # The first that is not.
    bad: int | None
    # The hash of the last that is.
    last: str


def follow(database: sqlite3.Connection) -> Verdict:
    """Follow the chain to its end or to the first entry that is not what was written."""
    last, good = anchor(database), 0
    for line in lines(database):
        body = line.body if isinstance(line.body, bytes) else b""
        hash_ = chained(last, line.time, line.actor, body, line.address)
        if hash_ != line.hash:
            return Verdict(good, line.sequence, last)
        last, good = hash_, good + 1
    return Verdict(good, None, last)
