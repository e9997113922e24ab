"""One exposition from one snapshot: choose families, hold the caps, count ourselves."""

import platform
from collections import Counter
from collections.abc import Mapping

from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Kind, Metric, Tier, by_key
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Snapshot
from accelwatch_prometheus.families import Sample, device_samples, node_samples, owner_of
from accelwatch_prometheus.selection import Selection, selected
from accelwatch_prometheus.text import LinePrefixes, header, histogram_lines, sample_line

MAX_SERIES_PER_DEVICE = 300
MAX_SERIES_PER_NODE = 5_000

Histogram = tuple[tuple[int, ...], float]


class Renderer:
    """Renders expositions; keeps line prefixes and the count of withheld series between calls."""

    def __init__(self) -> None:
        self._prefixes = LinePrefixes()
        self._headers: dict[tuple[str, bool], str] = {}
        self.dropped: Counter[str] = Counter()

    def render(
        self,
        snapshot: Snapshot,
        chosen: Selection,
        *,
        own: Mapping[tuple[str, ...], Number] | None = None,
        own_histograms: Mapping[str, Histogram] | None = None,
    ) -> str:
        """The exposition as text. `own` and `own_histograms` are the server's own families."""
        rows = {row.key: row for row in selected(chosen.profile, chosen.groups)}
        if not chosen.inventory:
            rows.pop("device_inventory_info", None)
        by_family = self._collect(snapshot, chosen, rows)
        for series, value in (own or {}).items():
            if series[0] in rows:
                by_family.setdefault(series[0], []).append(("", series, value))
        histograms = self._histograms(snapshot, chosen, rows)
        for key, histogram in (own_histograms or {}).items():
            histograms.setdefault(key, []).append(("", histogram))
        self._describe_ourselves(snapshot, by_family, histograms)
        return self._write(rows, by_family, histograms, chosen.openmetrics)

    def _collect(
        self, snapshot: Snapshot, chosen: Selection, rows: Mapping[str, Metric]
    ) -> dict[str, list[Sample]]:
        by_family: dict[str, list[Sample]] = {key: [] for key in rows}

        def keep(device: Device) -> bool:
            return not chosen.backends or device.backend in chosen.backends

        total = 0
        for samples in device_samples(snapshot, keep):
            kept = 0
            for sample in samples:
                family = by_family.get(sample[1][0])
                if family is None:
                    continue
                if not self._has_room(rows[sample[1][0]], kept, total):
                    continue
                family.append(sample)
                kept += 1
                total += 1
        for sample in node_samples(snapshot):
            family = by_family.get(sample[1][0])
            if family is not None:
                family.append(sample)
        return by_family

    def _has_room(self, row: Metric, kept: int, total: int) -> bool:
        """Minimal families always fit: a cap must never hide that a device is down."""
        if row.tier is Tier.MINIMAL:
            return True
        if kept >= MAX_SERIES_PER_DEVICE:
            self.dropped["device"] += 1
            return False
        if total >= MAX_SERIES_PER_NODE:
            self.dropped["node"] += 1
            return False
        return True

    def _histograms(
        self, snapshot: Snapshot, chosen: Selection, rows: Mapping[str, Metric]
    ) -> dict[str, list[tuple[str, Histogram]]]:
        found: dict[str, list[tuple[str, Histogram]]] = {}
        for view in snapshot.devices:
            if chosen.backends and view.device.backend not in chosen.backends:
                continue
            for key, histogram in view.histograms.items():
                if key in rows:
                    found.setdefault(key, []).append((owner_of(view.device), histogram))
        return found

    def _describe_ourselves(
        self,
        snapshot: Snapshot,
        by_family: dict[str, list[Sample]],
        histograms: Mapping[str, list[tuple[str, Histogram]]],
    ) -> None:
        version = (snapshot.version, "", platform.python_version())
        by_family["exporter_build_info"].append(("", ("exporter_build_info", *version), 1))
        dropped = by_family["exporter_series_dropped_total"]
        for reason in ("device", "node"):
            series = ("exporter_series_dropped_total", reason)
            dropped.append(("", series, self.dropped[reason]))
        lines = sum(len(counts) + 2 for owners in histograms.values() for _, (counts, _) in owners)
        count = sum(map(len, by_family.values())) + lines + 1
        by_family["exporter_series"].append(("", ("exporter_series",), count))

    def _write(
        self,
        rows: Mapping[str, Metric],
        by_family: Mapping[str, list[Sample]],
        histograms: Mapping[str, list[tuple[str, Histogram]]],
        openmetrics: bool,
    ) -> str:
        parts: list[str] = []
        for key, row in rows.items():
            if row.kind is Kind.HISTOGRAM:
                if key in histograms:
                    parts.append(self._header(row, openmetrics))
                    for owner, (counts, total) in histograms[key]:
                        parts += histogram_lines(row, owner, counts, total)
            elif samples := by_family[key]:
                parts.append(self._header(row, openmetrics))
                parts += [sample_line(self._prefixes, row, sample) for sample in samples]
        if openmetrics:
            parts.append("# EOF\n")
        return "".join(parts)

    def _header(self, row: Metric, openmetrics: bool) -> str:
        key = (row.key, openmetrics)
        text = self._headers.get(key)
        if text is None:
            text = self._headers[key] = header(row, openmetrics)
        return text


def family_of(series_name: str) -> Metric | None:
    """The catalogue row behind a series name of an exposition (`_bucket`, `_sum`, `_count` included)."""
    key = series_name.removeprefix("accel_")
    for suffix in ("_bucket", "_sum", "_count"):
        if key not in by_key() and key.endswith(suffix):
            key = key.removesuffix(suffix)
    return by_key().get(key)
