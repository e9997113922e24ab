"""What a ledger has counted, in a file: who counts may be restarted, and a job's sums go on.

The file is written whole, a few hundred rows at a time between other work, so that a fleet of thousands
of devices stops nobody. It names users and jobs, so it is its owner's alone.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.slices import YieldControl
from accelwatch.node.usage.account import Account
from accelwatch.node.usage.ledger import WINDOW_S, By, Ledger
from accelwatch.node.usage.observation import Observation
from accelwatch.node.usage.shares import Holder
from accelwatch.node.usage.sums import Sums
from accelwatch.schema.stream.frames import Splitter, frame
from accelwatch.system.files.kept_file import KeptFile

FILE = "usage.msgpack"
# After a crash so much is reported as time without data.
KEEP_EVERY_S = 600.0
_VERSION = 1
_MAX_BYTES = 1 << 30
# At a time: an account has the sums of an hour's minutes.
_ACCOUNTS, _ROWS = 8, 256
T = TypeVar("T")
logger = logging.getLogger(__name__)


class AccountRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An `Account`."""

    holder: Holder
    first: float
    last: float
    started_at: float | None
    devices: dict[str, float]
    older: list[float]
    minutes: dict[int, list[float]]
    reasons: dict[str, Absence]


class Head(msgspec.Struct, frozen=True, kw_only=True, tag="head"):
    """Comes first."""

    version: int
    time: float
    total: AccountRow


class Names(msgspec.Struct, frozen=True, kw_only=True, tag="names"):
    """Devices, and what people call them."""

    rows: list[tuple[str, str]]


class Accounts(msgspec.Struct, frozen=True, kw_only=True, tag="accounts"):
    """Some of those by user or by job."""

    by: By
    rows: list[AccountRow]


class LastObserved(msgspec.Struct, frozen=True, kw_only=True, tag="seen"):
    """Devices when they were last observed, Unix seconds."""

    rows: list[tuple[float, Observation]]


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """Comes last: nothing is missing."""


class Stored(NamedTuple):
    """What `Ledger.resume` goes on from."""

    time: float
    total: Account
    accounts: dict[By, list[Account]]
    observations: list[tuple[float, Observation]]
    names: dict[str, str]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Head | Names | Accounts | LastObserved | End).decode


class LedgerFile:
    """Where a ledger is kept; without a path, nowhere."""

    def __init__(self, path: Path | None) -> None:
        self._file = (
            None
            if path is None
            else KeptFile(path, _stored, "usage is counted from zero", durable=False)
        )

    def load(self, ledger: Ledger, now: float) -> None:
        """Have an empty ledger go on where it was, if that is not long ago. Never raises.

        A clock that was set back a little meanwhile is followed, as while it counts. A file that cannot
        be read is set aside.
        """
        stored = None if self._file is None else self._file.load()
        if stored is None:
            return
        ago = now - stored.time
        if abs(ago) > WINDOW_S:
            when = f"{ago:.0f} s ago" if ago > 0 else f"{-ago:.0f} s after what the clock says now"
            logger.info("usage is counted from zero: it was counted last %s", when)
            return
        ledger.resume(*stored)

    async def save(self, ledger: Ledger, yield_control: YieldControl) -> None:
        """Write it down; nobody may count meanwhile. What goes wrong is logged, once."""
        if self._file is None or ledger.total is None:
            return
        chunks: list[bytes] = []
        for message in _messages(ledger, ledger.total):
            chunks.append(frame(_encode(message)))
            await yield_control()
        await asyncio.to_thread(_save, self._file, chunks)


def _save(file: KeptFile[Stored], chunks: list[bytes]) -> None:
    file.save(b"".join(chunks))


def _messages(
    ledger: Ledger, total: Account
) -> Iterator[Head | Names | Accounts | LastObserved | End]:
    yield Head(version=_VERSION, time=ledger.time, total=_row(total))
    for names in _batches(ledger.names.items(), _ROWS):
        yield Names(rows=names)
    for by in By:
        for accounts in _batches(ledger.accounts(by), _ACCOUNTS):
            yield Accounts(by=by, rows=[_row(account) for account in accounts])
    for observations in _batches(ledger.last_observations(), _ROWS):
        yield LastObserved(rows=observations)
    yield End()


def _batches(some: Iterable[T], most: int) -> Iterator[list[T]]:
    remaining = iter(some)
    while batch := list(islice(remaining, most)):
        yield batch


def _row(account: Account) -> AccountRow:
    return AccountRow(
        holder=account.holder,
        first=account.first,
        last=account.last,
        started_at=account.started_at,
        devices=account.devices,
        older=account.older.values(),
        minutes={minute: sums.values() for minute, sums in account.minutes.items()},
        reasons=account.reasons,
    )


def _account(row: AccountRow) -> Account:
    account = Account(row.holder, row.first)
    account.last, account.started_at = row.last, row.started_at
    account.devices, account.reasons = row.devices, row.reasons
    account.older = Sums(row.older)
    account.minutes = {minute: Sums(values) for minute, values in row.minutes.items()}
    return account


def _stored(data: bytes) -> Stored:
    """What a file holds. Raises DecodeError, WireError, ValueError."""
    messages = [_decode(body) for body in Splitter(_MAX_BYTES).feed(data)]
    if not messages or not isinstance(messages[-1], End):
        raise ValueError("it ends before it is complete")
    head = messages[0]
    if not isinstance(head, Head) or head.version != _VERSION:
        raise ValueError("another version wrote it")
    stored = Stored(head.time, _account(head.total), {by: [] for by in By}, [], {})
    for message in messages[1:]:
        if isinstance(message, Names):
            stored.names.update(message.rows)
        elif isinstance(message, Accounts):
            stored.accounts[message.by].extend(map(_account, message.rows))
        elif isinstance(message, LastObserved):
            stored.observations.extend(message.rows)
    return stored
