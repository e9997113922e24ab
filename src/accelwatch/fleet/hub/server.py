"""A hub with the server over it: pages, streams, and whether the configuration was read well."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from accelwatch.alerting.evaluation.pages import IncidentPages
from accelwatch.alerting.evaluation.silences.pages import SilencePages
from accelwatch.base.clock import Clock
from accelwatch.config.model import Web
from accelwatch.config.reloading import losses
from accelwatch.fleet.api.evidence.evidence_pages import EvidencePages
from accelwatch.fleet.api.hardware.lemons_page import LemonPages
from accelwatch.fleet.api.hub_pages import HubStatusPages
from accelwatch.fleet.api.incidents.audit_pages import AuditPages
from accelwatch.fleet.api.incidents.incident_feed import IncidentFeed
from accelwatch.fleet.api.incidents.incident_history import IncidentHistoryPage
from accelwatch.fleet.api.incidents.remedy_pages import RemedyPages
from accelwatch.fleet.api.live.feed import FleetFeeds
from accelwatch.fleet.api.live.streams import LiveStreams
from accelwatch.fleet.api.own import RenderOwn, own_text
from accelwatch.fleet.api.pages import HubPages
from accelwatch.fleet.api.query.names import target_labels
from accelwatch.fleet.api.store_pages import PeerPages
from accelwatch.fleet.avoid.page import AvoidPages
from accelwatch.fleet.detection.pages import DetectorPages
from accelwatch.fleet.hub.hub import Hub
from accelwatch.fleet.hub.leadership.hubs_page import hubs_page
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.incident_page.door import IncidentDoor
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.system.daemon.logs import set_up_logging
from accelwatch.web.front import Front, server_limits
from accelwatch.web.http.http_server import HttpServer
from accelwatch.web.pages.changing import may_change
from accelwatch.web.pages.page import VisitedPages
from accelwatch.web.protection.reloading import note_reload
from accelwatch.web.protection.web_config import Protection

logger = logging.getLogger(__name__)

_RELOADED = "exporter_config_last_reload_successful"


class HubServer:
    """A hub and the server over it."""

    def __init__(
        self,
        hub: Hub,
        clock: Clock,
        protection: Protection,
        *,
        web: Web,
        interval_s: float,
    ) -> None:
        self.hub = hub
        # What the settings in force were read from, if from a file.
        self.config_file: Path | None = None
        # Whether the configuration of `hub` and of `web` was read well the last time.
        self.reloads: dict[str, bool] = {}
        pages = HubPages(
            hub.fleet,
            self._own(),
            ready=lambda: hub.ready,
            may_act=self._may_act,
            peers=PeerPages(hub.fleet, hub.peers, lambda: hub.settings.federation),
            incidents=IncidentPages(
                lambda: hub.rules,
                reader=lambda: hub.incidents,
                refusal=lambda: hub.status.refusal,
            ),
            incident_history=IncidentHistoryPage(lambda: hub.incidents, lambda: hub.journal, clock),
            evidence=EvidencePages(hub.fleet, lambda: hub.settings.evidence, hub.evidence),
            remedies=RemedyPages(
                lambda: hub.remedies,
                clock,
                lambda: hub.fleet.nodes,
                followed=hub.status.remedies,
                refusal=lambda: hub.status.refusal,
            ),
            audit=AuditPages(lambda: hub.journal, clock),
            hubs=HubStatusPages(lambda: hubs_page(hub.status), lambda: hub.status.leader_status),
            avoid=AvoidPages(
                hub.fleet, lambda: hub.incidents, lambda: hub.remedies, hub.status.remedies
            ),
            detector=DetectorPages(
                hub.fleet,
                lambda: hub.detector,
                lambda: None if hub.rules is None else hub.rules.rules,
            ),
            lemons=LemonPages(hub.fleet, hub.faults),
            usage=hub.usage.page,
            rules=lambda: hub.incidents,
            journal_note=self._journal_note,
            muting=lambda: None if hub.incidents is None else hub.incidents.muting,
            silences=SilencePages(
                lambda: hub.rules,
                clock,
                lambda: hub.fleet.nodes,
                lambda: target_labels(hub.fleet),
                reader=lambda: hub.incidents,
                refusal=lambda: hub.status.refusal,
            ),
        )
        # What the fleet came to over the last hour.
        self.totals = pages.kept_totals
        self._counting: asyncio.Task[None] | None = None
        self._pages = pages
        hub.peers.also_write(self._written)
        self._streams = streams = LiveStreams(
            FleetFeeds(hub.fleet, pages.counts.sums, pages.counts.labels),
            clock,
            interval_s,
            incidents=IncidentFeed(lambda: hub.incidents),
        )
        limits = server_limits(web)
        self.http = HttpServer(
            pages,
            streams,
            clock,
            limits=limits,
            protection=protection,
            visited=IncidentDoor(self._visits),
        )
        hub.status.serves_tls = lambda: self.http.protection.tls is not None
        self._front = Front(self.http, web, partial(note_reload, self.reloads, "web"))

    def tick_now(self) -> None:
        """Have streams show the fleet as it stands, at once."""
        self._pages.counts.invalidate()
        self._streams.tick_now()

    async def _journal_note(self, node: str, text: str, actor: str) -> str:
        """Into the audit log of the hub that leads, where there are rules.

        What is wrong with the journal; empty when it is written, or there is nowhere to write it.
        """
        if (rules := self.hub.rules) is None or not rules.incident_store.has_journal:
            return ""
        return await rules.incident_store.journal_note(node, text, actor)

    def _visits(self) -> VisitedPages:
        from accelwatch.fleet.incident_page.pages import IncidentVisits

        hub = self.hub
        return IncidentVisits(
            hub.fleet,
            hub.fleet.clock,
            rules=lambda: hub.incidents,
            remedies=lambda: hub.remedies,
            approvals=lambda: hub.approvals,
            refusal=lambda: hub.status.refusal,
            may_act=self._may_act,
            external_url=lambda: hub.settings.alerts.external_url,
            turns=self._pages.counts.turns,
        )

    def _own(self) -> RenderOwn:
        render = own_text(self.hub.own_histograms)

        def with_ours(series: Mapping[Series, Number], openmetrics: bool) -> Iterator[str]:
            return render({**series, **self._ours()}, openmetrics)

        return with_ours

    def _ours(self) -> dict[Series, Number]:
        """How discoveries, rules, remedies and the reading of the configuration do."""
        ours = self.hub.own()
        ours.update(((_RELOADED, name), int(well)) for name, well in self.reloads.items())
        return ours

    async def _written(self) -> dict[Series, Number]:
        """All of /metrics but for histograms, for receivers of pushed metrics."""
        return {**await self._pages.own(), **self._ours()}

    def _may_act(self) -> bool:
        """A client may change something if it has to log in, or is on this machine."""
        return may_change(self.http.protection, self._front.web)

    async def start(self, first: Callable[[], Awaitable[None]] | None = None) -> None:
        """Listen and follow. Raises AccelwatchError.

        Who connects before `first` has ended is answered then.
        """
        sockets = self._front.open_sockets()
        await self.hub.start()
        self._counting = asyncio.create_task(self.totals.run(), name="totals")
        if first is not None:
            await first()
        self._front.start(sockets)

    @property
    def settings(self) -> HubSettings:
        """Those in force."""
        return self.hub.settings

    @property
    def protection(self) -> Protection:
        """That in force."""
        return self.http.protection

    def report_reload(self, error: str) -> None:
        """Show whether the configuration was read well; `error` says why not, empty when it was."""
        self.reloads["hub"] = not error
        if self.hub.rules is not None:
            self.hub.rules.refuse(error)

    async def change(self, settings: HubSettings, protection: Protection) -> None:
        """Replace the settings, but for those that only a restart changes; these are logged.

        Raises UsageError for targets that make no sense, and then nothing has changed.
        """
        before = self.hub.settings
        await self.hub.reload(settings)
        for name in ("state_dir", "journal", "stream_interval_s"):
            if getattr(settings, name) != getattr(before, name):
                logger.warning("a change takes a restart key=%s", name.removesuffix("_s"))
        set_up_logging(settings.log.level, settings.log.format)
        self._front.change(settings.web, protection)
        for loss in losses(before, settings):
            logger.warning("%s", loss)

    async def stop(self) -> None:
        """End in good order."""
        if self._counting is not None:
            self._counting.cancel()
        await self._front.stop()
        await self.hub.stop()
