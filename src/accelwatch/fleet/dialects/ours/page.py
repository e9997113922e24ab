"""Our own text read back: its families are the catalogue's, so no table but the catalogue is needed.

What the text does not carry stays unknown: reasons for missing values, processes beyond the cap, fields
of the identity without a label.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.sharing import shared
from accelwatch.fleet.dialects.base.table import Dialect, Labels
from accelwatch.fleet.dialects.ours.identity import (
    PARTITION_KEYS,
    DeviceDraft,
    drivers,
    learn,
    start_draft,
)
from accelwatch.fleet.dialects.ours.rows import OurRow
from accelwatch.fleet.dialects.ours.views import read_row, state_of
from accelwatch.fleet.dialects.plans.host import HOST
from accelwatch.fleet.dialects.plans.identity import MAX_DEVICES
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import DeviceState
from accelwatch.schema.metrics import PREFIX, Kind, Metric, MetricSource, Scope, Series
from accelwatch.schema.reading import Number, Reading, complete
from accelwatch.schema.snapshot import DeviceView

OURS = Dialect(
    name="accelwatch",
    vendor="",
    fingerprints=("accel_device_info", "accel_exporter_build_info"),
    labels=Labels(),
)
_HISTOGRAM = ("_bucket", "_sum", "_count")


class OurPlan:
    """The devices of our own text over the keys of one scrape."""

    dialect = OURS

    def __init__(self, keys: Sequence[Key]) -> None:
        self.rejected: Counter[str] = Counter()
        mapped: set[int] = set()
        self._host: list[tuple[Series, int]] = []
        self._counts: dict[str, list[tuple[str, int]]] = {}
        self._drafts: dict[tuple[str, str], DeviceDraft] = {}
        self._rows: dict[tuple[str, str], OurRow] = {}
        for slot, key in enumerate(keys):
            family = key.name.removeprefix(PREFIX)
            if family != key.name and (row := _metric(family)) is not None:
                mapped.add(slot)
                self._map_slot(slot, key, family, row)
        self.mapped = frozenset(mapped)
        self._finish(drivers(keys))

    def _map_slot(self, slot: int, key: Key, family: str, row: Metric) -> None:
        if row.scope is Scope.NODE:
            if row.source is MetricSource.READ:
                self._host.append((_series(row, key), slot))
        elif row.scope is Scope.VENDOR:
            if family == "devices":
                self._counts.setdefault(key.get("vendor"), []).append((key.get("state"), slot))
        elif not key.get("uuid"):
            self.rejected["no_device"] += 1
        else:
            self._of_device(slot, key, family, row)

    def _of_device(self, slot: int, key: Key, family: str, row: Metric) -> None:
        owner = (key.get("vendor"), key.get("uuid"))
        draft = self._drafts.get(owner)
        if draft is None:
            if len(self._drafts) >= MAX_DEVICES:
                self.rejected["no_device"] += 1
                return
            draft = self._drafts[owner] = start_draft(key)
            self._rows[owner] = OurRow(device=draft.device)
        learn(draft, family, key)
        device_row = self._rows[owner]
        if row.kind is Kind.HISTOGRAM:
            suffix = family.removeprefix(row.key)
            device_row.histograms.setdefault(row.key, []).append((suffix, key.get("le"), slot))
        elif family in PARTITION_KEYS:
            where = device_row.partition_values.setdefault(key.get("partition"), [])
            where.append(((PARTITION_KEYS[family],), slot))
        else:
            device_row.add_slot(family, _series(row, key), slot)

    def _finish(self, versions: dict[str, str]) -> None:
        """Give the rows their devices, now that all labels were seen."""
        for owner, draft in self._drafts.items():
            row, device = self._rows[owner], draft.device
            driver = versions.get(device.vendor)
            row.device = msgspec.structs.replace(device, driver_version=driver)
            row.owners = tuple(draft.owners.get("", ()))
            row.links = tuple(draft.links)
            row.commands = draft.processes
            row.settle()
            for name, partition in draft.partitions.items():
                values = row.partition_values.get(name, [])
                child = OurRow(
                    device=msgspec.structs.replace(
                        partition, driver_version=driver, model=device.model
                    ),
                    values=values,
                    owners=tuple(draft.owners.get(name, ())),
                    parent=row,
                )
                child.settle()
                row.partitions.append(child)
            row.partition_values = {}
        self._drafts = {}

    def views(
        self, values: Sequence[Number], now: float, rejected: Counter[str]
    ) -> tuple[DeviceView, ...]:
        """The devices and their partitions, as they stand in the text."""
        down = {
            vendor: [
                DeviceState(state) for state, slot in counts if values[slot] and state in _DOWN
            ]
            for vendor, counts in self._counts.items()
        }
        views: list[DeviceView] = []
        for row in self._rows.values():
            state = state_of(row, values, down.get(row.device.vendor, []))
            for entry in (row, *row.partitions):
                views.append(read_row(entry, values, now, state, rejected))
        return tuple(views)

    def node(self, values: Sequence[Number], now: float) -> DeviceView | None:
        """The host's own quantities, if the text has any."""
        if not self._host:
            return None
        numbers = {series: values[slot] for series, slot in self._host}
        reading = Reading(device_id="host", values=numbers, processes=())
        return DeviceView(
            device=HOST,
            state=DeviceState.OK,
            state_since=now,
            reading=complete(reading, frozenset({"host"}), host=True),
            sample_time=now,
            sample_age_s=0.0,
        )


_DOWN = ("lost", "unresponsive", "excluded")


def _metric(family: str) -> Metric | None:
    row = by_key().get(family)
    if row is not None:
        return row
    for suffix in _HISTOGRAM:
        row = by_key().get(family.removesuffix(suffix))
        if row is not None and row.kind is Kind.HISTOGRAM:
            return row
    return None


def _series(row: Metric, key: Key) -> Series:
    return shared((row.key, *(key.get(label) for label in row.labels)))
