"""One exposition from one snapshot: choose families, hold the caps, count ourselves."""

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from accelwatch.exposition.families import Sample, device_samples, node_samples, owner_of
from accelwatch.exposition.histogram import Histogram
from accelwatch.exposition.selection import Selection, selected
from accelwatch.exposition.text import LinePrefixes, header, histogram_lines
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Metric, Tier
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Snapshot

MAX_SERIES_PER_DEVICE = 300
MAX_SERIES_PER_NODE = 5_000

# Finished sample lines by catalogue key.
Lines = dict[str, list[str]]


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
        lines: Lines = {key: [] for key in rows}

        def is_selected(device: Device) -> bool:
            return not chosen.backends or device.backend in chosen.backends

        total = 0
        for samples in device_samples(snapshot, is_selected):
            total += self._add(rows, lines, self._capped(samples, rows, total))
        self._add(rows, lines, node_samples(snapshot))
        self._add(rows, lines, (("", series, value) for series, value in (own or {}).items()))
        self._add_histograms(rows, lines, _device_histograms(snapshot, is_selected))
        self._add_histograms(rows, lines, [("", own_histograms or {})])
        self._add(rows, lines, self._ourselves(snapshot, lines))
        return self._write(rows, lines, chosen.openmetrics)

    def _add(self, rows: Mapping[str, Metric], lines: Lines, samples: Iterable[Sample]) -> int:
        added = 0
        cached = self._prefixes.cached
        for owner, series, value in samples:
            family = lines.get(series[0])
            if family is not None:
                prefix = cached.get((owner, series))
                if prefix is None:
                    prefix = self._prefixes.make(rows[series[0]], owner, series)
                family.append(f"{prefix}{value!r}\n")
                added += 1
        return added

    def _capped(
        self, samples: list[Sample], rows: Mapping[str, Metric], total: int
    ) -> Iterable[Sample]:
        """The samples that may stay. Minimal families always fit: a cap must not hide a dead device."""
        if len(samples) <= MAX_SERIES_PER_DEVICE and total + len(samples) <= MAX_SERIES_PER_NODE:
            return samples
        requested = [sample for sample in samples if sample[1][0] in rows]
        kept: list[Sample] = []
        for sample in requested:
            if rows[sample[1][0]].tier is Tier.MINIMAL:
                kept.append(sample)
            elif len(kept) >= MAX_SERIES_PER_DEVICE:
                self.dropped["device"] += 1
            elif total + len(kept) >= MAX_SERIES_PER_NODE:
                self.dropped["node"] += 1
            else:
                kept.append(sample)
        return kept

    def _add_histograms(
        self,
        rows: Mapping[str, Metric],
        lines: Lines,
        histograms: Iterable[tuple[str, Mapping[str, Histogram]]],
    ) -> None:
        for owner, totals in histograms:
            for key, (counts, total) in totals.items():
                if key in lines:
                    lines[key] += histogram_lines(rows[key], owner, counts, total)

    def _ourselves(self, snapshot: Snapshot, lines: Lines) -> list[Sample]:
        version = (snapshot.version, "", platform.python_version())
        samples: list[Sample] = [("", ("exporter_build_info", *version), 1)]
        for reason in ("device", "node"):
            series = ("exporter_series_dropped_total", reason)
            samples.append(("", series, self.dropped[reason]))
        count = sum(map(len, lines.values())) + len(samples) + 1
        return [*samples, ("", ("exporter_series",), count)]

    def _write(self, rows: Mapping[str, Metric], lines: Lines, openmetrics: bool) -> str:
        chunks: list[str] = []
        for key, row in rows.items():
            if lines[key]:
                chunks.append(self._header(row, openmetrics))
                chunks += lines[key]
        if openmetrics:
            chunks.append("# EOF\n")
        return "".join(chunks)

    def _header(self, row: Metric, openmetrics: bool) -> str:
        key = (row.key, openmetrics)
        text = self._headers.get(key)
        if text is None:
            text = self._headers[key] = header(row, openmetrics)
        return text


def _device_histograms(
    snapshot: Snapshot, keep: Callable[[Device], bool]
) -> Iterator[tuple[str, Mapping[str, Histogram]]]:
    for view in snapshot.devices:
        if view.histograms and keep(view.device):
            yield owner_of(view.device), view.histograms
