"""The chain of the journal's entries: each holds the hash of all that was written before it."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from accelwatch.alerting.incidents.journal.database import Database

# The greatest integer of both databases.
_END = 2**63 - 1
# Entries that are read at once.
_PAGE = 500
# The version of the tables from which on an entry has an address.
_HAS_ADDRESS = 2


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
    database: Database, after: int = 0, to: int = _END, *, newest_first: bool = False
) -> Iterator[Line]:
    """The entries from after a sequence up to another, in their order, read page by page.

    Raises what the database raises.
    """
    order = "DESC" if newest_first else "ASC"
    # A file of the first version is only read.
    address = "address" if database.version >= _HAS_ADDRESS else "''"
    statement = (
        f"SELECT seq, time, actor, {address}, body, hash FROM entry"  # noqa: S608
        f" WHERE seq > ? AND seq <= ? ORDER BY seq {order} LIMIT {_PAGE}"
    )
    while page := database.execute(statement, (after, to)):
        yield from map(Line._make, page)
        last = page[-1][0]
        after, to = (after, last - 1) if newest_first else (last, to)


def anchor(database: Database) -> str:
    """What the oldest entry is chained to: nothing, or the last of those that were removed."""
    rows = database.execute("SELECT value FROM meta WHERE key = 'anchor'")
    return str(rows[0][0]) if rows else ""


def last_hash(database: Database) -> str:
    """What the next entry is chained to."""
    rows = database.execute("SELECT hash FROM entry ORDER BY seq DESC LIMIT 1")
    return str(rows[0][0]) if rows else anchor(database)


class Verdict(NamedTuple):
    """What following the chain has shown."""

    # Entries that are what was written.
    good: int
    # The first that is not.
    bad: int | None
    # The hash of the last that is.
    last: str


def follow(database: Database) -> Verdict:
    """Follow the chain to its end or to the first entry that is not what was written."""
    last, good = anchor(database), 0
    for line in lines(database):
        body = line.body if isinstance(line.body, bytes) else b""
        hash_ = chained(last, line.time, line.actor, body, line.address)
        if hash_ != line.hash:
            return Verdict(good, line.sequence, last)
        last, good = hash_, good + 1
    return Verdict(good, None, last)
