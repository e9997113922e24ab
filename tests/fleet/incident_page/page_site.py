"""A hub that waits for a yes, with its server in front, as a browser meets it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.fleet.api.incidents.incident_feed import IncidentFeed
from accelwatch.fleet.api.live.feed import FleetFeeds
from accelwatch.fleet.api.live.streams import LiveStreams
from accelwatch.fleet.api.own import own_text
from accelwatch.fleet.api.pages import HubPages
from accelwatch.fleet.approval.approvals import Approvals
from accelwatch.fleet.approval.links import Link, Signer
from accelwatch.fleet.approval.shown import ShownPlans
from accelwatch.fleet.approval.used import UsedLinks
from accelwatch.fleet.incident_page.pages import IncidentVisits
from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.web.http.http_server import HttpServer
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.listeners import open_tcp
from fleet.remedies.hub_site import HubSite, until

KEY = b"k" * 32


class PageSite:
    """What a test needs of it."""

    def __init__(
        self, base: str, rules: RuleRunner, remedies: RemedyRunner, approvals: Approvals
    ) -> None:
        self.base = base
        self.rules = rules
        self.remedies = remedies
        self.approvals = approvals

    @property
    def incident(self) -> str:
        (incident,) = self.rules.open
        return incident.id

    def token(self, sink: str = "oncall", **other: object) -> str:
        """A link to the plan that waits, or to another one."""
        remedy = self.remedies.engine.state.remedies["a"]
        document = {
            "incident": self.incident,
            "node": "a",
            "plan": remedy.approval.asked,
            "requested_at": remedy.clocks.since,
        }
        link = Link(sink=sink, until=remedy.clocks.since + 1800.0, **{**document, **other})  # type: ignore[arg-type]
        return self.approvals.signer.link(link)

    async def waits(self) -> None:
        """Until a person is asked."""
        await until(
            lambda: any(
                one.stage is Stage.AWAITING_APPROVAL and bool(one.approval.asked)
                for one in self.remedies.engine.state.remedies.values()
            )
        )


@contextlib.asynccontextmanager
async def page_site(site: HubSite, protection: Protection) -> AsyncIterator[PageSite]:
    """The site behind a server on loopback."""
    async with site.running() as (rules, remedies):
        writer = rules.incident_store.writer
        assert writer is not None
        approvals = Approvals(
            Signer(KEY), UsedLinks(writer.commit, site.clock, rules.states), ShownPlans()
        )
        site.approvals = approvals
        visits = IncidentVisits(
            site.fleet,
            site.clock,
            rules=lambda: rules,
            remedies=lambda: remedies,
            approvals=lambda: approvals,
            may_act=lambda: True,
            external_url=lambda: "",
        )
        pages = HubPages(site.fleet, own_text(), ready=lambda: True, may_act=lambda: True)
        streams = LiveStreams(
            FleetFeeds(site.fleet, pages.counts.sums, pages.counts.labels),
            site.clock,
            1.0,
            incidents=IncidentFeed(lambda: rules),
        )
        server = HttpServer(pages, streams, site.clock, protection=protection, visited=visits)
        sockets = open_tcp("127.0.0.1:0")
        base = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        site.external_url = base
        server.start(sockets)
        try:
            yield PageSite(base, rules, remedies, approvals)
        finally:
            await asyncio.shield(server.stop(0.1))
