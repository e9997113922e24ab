"""A ledger's report: a row for each user or job, the total, and what everything rests on."""

from collections.abc import Iterator

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.node.usage.account import Account
from accelwatch.node.usage.ledger import WINDOW_S, By, Ledger
from accelwatch.node.usage.shares import Kind
from accelwatch.node.usage.sums import Sums
from accelwatch.schema.timestamps import timestamp

SCHEMA = "accelwatch.node.usage/1"
# Means everything that was counted, rather than a window.
SINCE_JOB = "job"
_JOULES_PER_KWH = 3.6e6
# Devices of a row that are named.
MOST_NAMED = 64
_ORDER = {Kind.JOB: 0, Kind.USER: 0, Kind.OTHERS: 1, Kind.UNKNOWN: 2, Kind.FREE: 3, Kind.TOTAL: 4}


class EnergyPrice(msgspec.Struct, frozen=True, kw_only=True):
    """What energy costs; `currency` is a word for people."""

    per_kwh: float
    currency: str = ""


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """One user's or job's use; None has its reason in `absent`. Seconds are of devices: two for one
    second are two."""

    kind: Kind
    user: str | None
    job: str | None
    devices: int
    # The first of them.
    device_names: tuple[str, ...]
    # For which its devices were seen.
    device_seconds: float
    # For which nobody saw its devices: neither busy nor idle, and without energy.
    unseen_seconds: float
    # For which others were on the same device; the numbers are those of its own processes.
    shared_seconds: float
    load_ratio: float | None
    # For which the load is known.
    load_seconds: float
    idle_seconds: float | None
    # Mean on one device.
    memory_bytes: float | None
    # The most on one device.
    memory_peak_bytes: float | None
    energy_kwh: float | None
    # For which the energy is known.
    energy_seconds: float
    # For which it is a device's energy divided evenly, because nobody reports whose it is.
    energy_divided_seconds: float
    cost: float | None
    # RFC 3339; the use before was not seen.
    counted_since: str
    # When its oldest process began; the use before `counted_since` was not seen.
    began: str | None
    last_seen: str
    holds_now: bool
    absent: dict[str, Absence] = {}


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """A document of `/v1/usage` and of `accelwatch usage --json`."""

    schema: str = SCHEMA
    # Who counted.
    source: str = ""
    by: By
    # RFC 3339: the earliest moment that is counted; None where nothing was counted yet.
    since: str | None
    until: str | None
    # Between both.
    seconds: float
    # False: counting began after the requested time.
    whole: bool
    price: EnergyPrice | None = None
    rows: tuple[UsageRow, ...] = ()
    total: UsageRow | None = None
    notes: tuple[str, ...] = ()


def report(
    ledger: Ledger,
    by: By,
    window_s: float | None,
    *,
    price: EnergyPrice | None = None,
    source: str = "",
    notes: tuple[str, ...] = (),
) -> UsageReport:
    """The use of the last `window_s` seconds, in whole minutes; None: of everything that was counted."""
    return Reporting(ledger, by, window_s, price=price, source=source, notes=notes).report()


class Reporting:
    """A report in the making, for a caller that yields control between its rows."""

    def __init__(
        self,
        ledger: Ledger,
        by: By,
        window_s: float | None,
        *,
        price: EnergyPrice | None = None,
        source: str = "",
        notes: tuple[str, ...] = (),
    ) -> None:
        """As `report`."""
        self._ledger = ledger
        self._by = by
        self._window_s = None if window_s is None else min(window_s, WINDOW_S)
        self._price = price
        self._source = source
        self._notes = notes
        self._rows: list[UsageRow] | None = None

    def steps(self) -> Iterator[None]:
        """Make the rows, one a step."""
        builder = _Telling(self._ledger, self._since, self._price)
        rows = []
        for account in self._ledger.accounts(self._by):
            if builder.counts(account):
                rows.append(builder.row(account))
                yield
        self._rows = rows

    @property
    def _since(self) -> float | None:
        return None if self._window_s is None else self._ledger.time - self._window_s

    def report(self) -> UsageReport:
        """The whole, with what steps have not made yet."""
        ledger, overall, notes = self._ledger, self._ledger.total, self._notes
        if self._rows is None:
            for _ in self.steps():
                pass
        requested = self._since
        first = ledger.time if overall is None else overall.first
        since = first if requested is None else max(first, requested)
        if overall is None:
            notes = (*notes, "nothing was counted yet")
        if ledger.dropped:
            notes = (*notes, f"{ledger.dropped} users or jobs were let go of: there were too many")
        total = None if overall is None else _Telling(ledger, requested, self._price).row(overall)
        return UsageReport(
            by=self._by,
            since=None if overall is None else timestamp(since),
            until=None if overall is None else timestamp(ledger.time),
            seconds=ledger.time - since,
            whole=overall is not None and (requested is None or first <= requested),
            price=self._price,
            source=self._source,
            rows=tuple(sorted(self._rows or (), key=row_order)),
            total=total,
            notes=notes,
        )


class _Telling:
    """Rows of one report."""

    def __init__(self, ledger: Ledger, since: float | None, price: EnergyPrice | None) -> None:
        self._now = ledger.time
        self._names = ledger.names
        self._since = since
        self._price = price

    def counts(self, account: Account) -> bool:
        """Whether it was there in that time."""
        return self._since is None or account.last >= self._since

    def row(self, account: Account) -> UsageRow:
        """One account as a row."""
        sums = account.over(self._since)
        names = [
            self._names[device]
            for device, last in account.devices.items()
            if self._since is None or last >= self._since
        ]
        energy = sums.energy_joules / _JOULES_PER_KWH if sums.energy_known_s > 0 else None
        holder = account.holder
        return UsageRow(
            kind=holder.kind,
            user=holder.user or None,
            job=holder.job or None,
            devices=len(names),
            device_names=tuple(sorted(names)[:MOST_NAMED]),
            device_seconds=sums.held_s,
            unseen_seconds=sums.unseen_s,
            shared_seconds=sums.shared_s,
            load_ratio=sums.load_ratio,
            load_seconds=sums.load_known_s,
            idle_seconds=sums.idle_s if sums.load_known_s > 0 else None,
            memory_bytes=sums.memory_bytes,
            memory_peak_bytes=sums.memory_peak_bytes,
            energy_kwh=energy,
            energy_seconds=sums.energy_known_s,
            energy_divided_seconds=sums.divided_s,
            cost=None if energy is None or self._price is None else energy * self._price.per_kwh,
            counted_since=timestamp(account.first),
            began=None if account.started_at is None else timestamp(account.started_at),
            last_seen=timestamp(account.last),
            holds_now=account.last >= self._now,
            absent=_absent(account, sums),
        )


def _absent(account: Account, sums: Sums) -> dict[str, Absence]:
    """The reasons for what has no value; nothing is collected before a second reading."""
    lacking = {
        "load_ratio": sums.load_known_s <= 0,
        "idle_seconds": sums.load_known_s <= 0,
        "memory_bytes": sums.memory_known_s <= 0,
        "memory_peak_bytes": sums.memory_known_s <= 0,
        "energy_kwh": sums.energy_known_s <= 0,
    }
    cause = {"idle_seconds": "load_ratio", "memory_peak_bytes": "memory_bytes"}
    cause["energy_kwh"] = "energy_joules"
    return {
        name: account.reasons.get(cause.get(name, name), Absence.NOT_COLLECTED)
        for name, lacks in lacking.items()
        if lacks
    }


def row_order(row: UsageRow) -> tuple[int, float, float, str, str]:
    """Those with most energy first, then with most time; what belongs to nobody last."""
    return (
        _ORDER[row.kind],
        -(row.energy_kwh or 0.0),
        -row.device_seconds,
        row.user or "",
        row.job or "",
    )
