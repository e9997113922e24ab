"""The hub's /metrics: aggregates of the fleet and how reading each target goes, as series."""

from collections.abc import Callable, Iterator, Mapping

from accelwatch.base.slices import LongWork
from accelwatch.exposition.histogram import Histogram
from accelwatch.exposition.text import LinePrefixes, header, histogram_lines, labels_of
from accelwatch.fleet.api.query.totals import Totals
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.catalogue.lookup import catalogue
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

_REJECTED = "fleet_series_rejected_total"

# Series of the catalogue and whether OpenMetrics is wanted, to text, line by line.
RenderOwn = Callable[[Mapping[Series, Number], bool], Iterator[str]]


def own_text(histograms: Callable[[], Mapping[Series, Histogram]] = dict) -> RenderOwn:
    """Our own series, and histograms by key and labels, as the Prometheus exporter writes them."""
    prefixes = LinePrefixes()

    def render(series: Mapping[Series, Number], openmetrics: bool) -> Iterator[str]:
        families: dict[str, list[Series]] = {}
        for key in series:
            families.setdefault(key[0], []).append(key)
        histogram_series = histograms()
        for key in histogram_series:
            families.setdefault(key[0], []).append(key)
        for row in catalogue():
            if row.key in families:
                yield header(row, openmetrics)
            for name in families.get(row.key, ()):
                if name in histogram_series:
                    yield from histogram_lines(row, labels_of(row, name), *histogram_series[name])
                    continue
                prefix = prefixes.cached.get(("", name)) or prefixes.make(row, "", name)
                yield f"{prefix}{series[name]!r}\n"
        if openmetrics:
            yield "# EOF\n"

    return render


async def own_series(fleet: Fleet, sums: Totals, walk: LongWork) -> dict[Series, Number]:
    """Everything the hub says about itself and the fleet."""
    own: dict[Series, Number] = {("fleet_nodes", state.value): 0 for state in NodeState}
    for node in fleet.nodes.values():
        own["fleet_nodes", fleet.state_of(node).value] += 1
    for (vendor, model, state), count in sorted(sums.kinds.items()):
        own["fleet_devices", vendor, model, state] = count
    own[("fleet_identity_conflicts",)] = len(fleet.conflicts())
    own[("fleet_inventory_kept",)] = int(not fleet.forgetful)
    for name in sorted(fleet.nodes):
        await walk.yield_control()
        for series, value in _targets(fleet, name).items():
            summed = series[0] == _REJECTED and series in own
            own[series] = own[series] + value if summed else value
    return own


def _targets(fleet: Fleet, name: str) -> dict[Series, Number]:
    node = fleet.nodes.get(name)
    sources = [] if node is None else list(node.sources.values())
    if node is None or not sources:
        return {}
    values: dict[Series, Number] = {
        ("fleet_target_up", name): int(any(source.connected for source in sources)),
        ("fleet_target_missed_ticks_total", name): sum(source.gaps_total for source in sources),
    }
    for source in sources:
        failures = ("fleet_target_failures_total", name, source.target.address)
        values[failures] = values.get(failures, 0) + source.faults_total
        if source.dialect:
            values["fleet_target_info", name, source.dialect, source.version] = 1
        for reason, count in source.rejected.items():
            series = (_REJECTED, source.dialect, reason)
            values[series] = values.get(series, 0) + count
    best = node.best
    if best is not None:
        values["fleet_target_last_success_timestamp_seconds", name] = best.arrived_wall
        if best.read_s is not None:
            values["fleet_target_read_duration_seconds", name] = best.read_s
        if best.skew.seconds is not None:
            values["fleet_target_clock_skew_seconds", name] = best.skew.seconds
    return values
