"""Who uses the devices of several hubs: the rows of a user or job added up. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from accelwatch.fleet.hub_client.several.merging.amounts import sum_of_present, weighted_mean
from accelwatch.node.usage.report import MOST_NAMED, UsageReport, UsageRow, row_order

Value = TypeVar("Value", str, float)


def usage_added(
    reports: Mapping[str, UsageReport], faults: Mapping[str, str], shared: str
) -> UsageReport:
    """The reports of hubs by name as one, of at least one; `shared` says which nodes several count."""
    first = next(iter(reports.values()))
    prices = {report.price for report in reports.values()}
    price = first.price if len(prices) == 1 else None
    rows: dict[tuple[str, str | None, str | None], list[UsageRow]] = {}
    for report in reports.values():
        for row in report.rows:
            rows.setdefault((row.kind, row.user, row.job), []).append(row)
    notes = [f"{hub}: {note}" for hub, report in reports.items() for note in report.notes]
    notes += [f"{hub} is missing: {text}" for hub, text in faults.items()]
    if len(prices) > 1:
        notes.append("the hubs have different prices, so there is no cost")
    if shared:
        notes.append(f"{shared}; each hub has counted their use, which is in here more than once")
    totals = [report.total for report in reports.values() if report.total is not None]
    return UsageReport(
        source="+".join(reports),
        by=first.by,
        since=_least(report.since for report in reports.values()),
        until=_most(report.until for report in reports.values()),
        seconds=max(report.seconds for report in reports.values()),
        whole=not faults and all(report.whole for report in reports.values()),
        price=price,
        rows=tuple(sorted((_row(same, price) for same in rows.values()), key=row_order)),
        total=_row(totals, price) if totals else None,
        notes=tuple(notes),
    )


def _row(rows: Sequence[UsageRow], price: object) -> UsageRow:
    if len(rows) == 1:
        return rows[0] if price is not None else msgspec.structs.replace(rows[0], cost=None)
    names = dict.fromkeys(name for row in rows for name in row.device_names)
    row = UsageRow(
        kind=rows[0].kind,
        user=rows[0].user,
        job=rows[0].job,
        devices=sum(row.devices for row in rows),
        device_names=tuple(sorted(names)[:MOST_NAMED]),
        device_seconds=sum(row.device_seconds for row in rows),
        unseen_seconds=sum(row.unseen_seconds for row in rows),
        shared_seconds=sum(row.shared_seconds for row in rows),
        load_ratio=weighted_mean((row.load_ratio, row.load_seconds) for row in rows),
        load_seconds=sum(row.load_seconds for row in rows),
        idle_seconds=sum_of_present(row.idle_seconds for row in rows),
        memory_bytes=weighted_mean((row.memory_bytes, row.device_seconds) for row in rows),
        memory_peak_bytes=_most(row.memory_peak_bytes for row in rows),
        energy_kwh=sum_of_present(row.energy_kwh for row in rows),
        energy_seconds=sum(row.energy_seconds for row in rows),
        energy_divided_seconds=sum(row.energy_divided_seconds for row in rows),
        cost=None if price is None else sum_of_present(row.cost for row in rows),
        counted_since=min(row.counted_since for row in rows),
        began=_least(row.began for row in rows),
        last_seen=max(row.last_seen for row in rows),
        holds_now=any(row.holds_now for row in rows),
    )
    reasons = {name: reason for row in rows for name, reason in row.absent.items()}
    return msgspec.structs.replace(
        row, absent={name: why for name, why in reasons.items() if getattr(row, name) is None}
    )


def _least(values: Iterable[Value | None]) -> Value | None:
    return min((value for value in values if value is not None), default=None)


def _most(values: Iterable[Value | None]) -> Value | None:
    return max((value for value in values if value is not None), default=None)
