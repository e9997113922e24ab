"""A fleet's own rates: the incidents that paged a person, of a hub or of an archive."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from accelwatch.alerting.incidents.grouping.grouping_key import NODE
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.cli.hub_requests import HubFlags, fetch_page
from accelwatch.cli.output import complain
from accelwatch.cli.parameters import option
from accelwatch.expr.vocabulary.detector_names import DETECTOR
from accelwatch.schema.display import counted as counted_noun
from accelwatch_lab.recovery.rates import DAY_S, Observed, Rates, counted, published

if TYPE_CHECKING:
    from accelwatch.alerting.evaluation.documents import IncidentDocument

# More than a hub keeps of a year.
_MOST = "20000"
_PAGED = "critical"
# Of fewer, a Poisson rate is uncertain by more than a factor of two (10: 4.8 to 18.4).
_FEW = 10
_DAYS = 30
# The rules of findings begin so; findings are no failures until something else confirms them.
_SUSPICION = f"{DETECTOR}."


class RateFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Whose failures are counted; the published ones without an option."""

    hub: Annotated[
        str | None, option("--hub", metavar="URL", help="Count the incidents of this hub.")
    ] = None
    hub_config_file: Annotated[
        Path | None,
        option("--hub.config.file", metavar="FILE", help="Credentials and TLS for the connection."),
    ] = None
    days: Annotated[
        int | None,
        option(
            metavar="N", min=1, max=3650, help="With --hub: count the last N days; default: 30."
        ),
    ] = None
    history: Annotated[
        Path | None,
        option(metavar="DIR", help="Count what all packs find in this archive instead."),
    ] = None

    def rates(self) -> Rates:
        """The rates. Raises AccelwatchError, UnmetError where there is nothing to count."""
        if self.hub is not None and self.history is not None:
            raise UsageError("--hub and --history: one of them")
        if self.hub is not None:
            return _something(of_hub(self.hub, self.hub_config_file, self.days or _DAYS))
        if self.days is not None:
            raise UsageError("--days goes with --hub")
        if self.hub_config_file is not None:
            raise UsageError("--hub.config.file goes with --hub")
        if self.history is not None:
            return _something(of_archive(self.history))
        return published()


def of_hub(url: str, config_file: Path | None, days: int) -> Rates:
    """By the incidents of a hub and the nodes that it follows now."""
    from accelwatch.alerting.evaluation.documents import IncidentsPage
    from accelwatch.fleet.hub_client.documents import decoded
    from accelwatch.fleet.wire import FleetDocument
    from accelwatch.schema.timestamps import unix_seconds

    files = None if config_file is None else [config_file]
    hub = HubFlags(hub=[url], hub_config_file=files)
    fleet = decoded(fetch_page(hub, "/v1/fleet", {}), FleetDocument)
    query = {"since": f"{days}d", "limit": _MOST}
    page = decoded(fetch_page(hub, "/v1/incidents", query), IncidentsPage)
    incidents = causes(page.incidents, unix_seconds(fleet.time) - days * DAY_S)
    return counted(incidents, fleet.nodes_total * float(days), f"{url}, the last {days} days")


def causes(incidents: "Iterable[IncidentDocument]", start: float) -> list[Observed]:
    """Incidents that paged a person and began after `start`, Unix seconds; each cause once."""
    from accelwatch.schema.timestamps import unix_seconds

    by_id = {incident.id: incident for incident in incidents}
    return [
        _observed(incident, by_id)
        for incident in by_id.values()
        if incident.severity == _PAGED
        and not incident.group_incident
        and not incident.follows
        and incident.muted_by is None
        and not incident.rule.startswith(_SUSPICION)
        and unix_seconds(incident.since) >= start
    ]


def _observed(incident: "IncidentDocument", by_id: "Mapping[str, IncidentDocument]") -> Observed:
    if not incident.members:
        return Observed(advice=incident.advice, scope=incident.scope)
    if not incident.group.startswith(NODE):
        return Observed(advice=incident.advice, scope="group")
    # Several devices of one node are mended as one of them is.
    advice = next((by_id[id_].advice for id_ in incident.members if id_ in by_id), incident.advice)
    return Observed(advice=advice, scope="node")


def of_archive(folder: Path) -> Rates:
    """By what the shipped packs find in an archive."""
    from accelwatch.alerting.incidents.grouping.levels import ALERT
    from accelwatch.alerting.rules.loading.pack_files import pack_names
    from accelwatch.archive.history.reading.reader import Archive
    from accelwatch.archive.history.summary import summary
    from accelwatch.cli.history.archive_arguments import need_pyarrow
    from accelwatch.cli.progress import progress, recorded_time
    from accelwatch.cli.rules.rule_loading import load_rules
    from accelwatch.fleet.backtest.incidents import Backtest
    from accelwatch.fleet.backtest.run import final_lines

    need_pyarrow()
    archive, contents = Archive(folder), summary(folder)
    if contents.start is None or contents.end is None or not contents.nodes:
        raise UnmetError(f"{folder}: the archive has no data")
    start, days = contents.start, (contents.end - contents.start) / DAY_S
    # What a detector suspects is no failure until something else confirms it.
    packs = [name for name in pack_names() if name != DETECTOR]
    test = Backtest(archive, load_rules([], packs).rules)
    with progress("back-test", contents.end - start, recorded_time) as bar:
        lines = final_lines(archive, test, lambda at: bar.at(at - start))
        incidents = [
            Observed(advice=line.advice.value, scope=line.scope)
            for line in lines
            if line.level == ALERT
        ]
    return counted(incidents, contents.nodes * days, f"all packs over {folder}, {days:.1f} days")


def _something(rates: Rates) -> Rates:
    """The rates; few are said to be few. Raises UnmetError."""
    if not rates.count:
        raise UnmetError(
            f"{rates.source}: no incident paged anybody and advised anything; without --hub and "
            "--history the published rates are used"
        )
    if rates.count < _FEW:
        failures = counted_noun(rates.count, "failure")
        complain(f"{rates.source}: only {failures}; the rates are uncertain")
    return rates
