"""The rules of a running agent, of which nothing is loaded by those who have none."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from accelwatch.agent.feed import Feed
from accelwatch.agent.hub_presence import HubPresence
from accelwatch.agent.metrics.own_metrics import OwnMetrics
from accelwatch.base.clock import Clock
from accelwatch.config.alerts import Alerts
from accelwatch.config.model import Settings

if TYPE_CHECKING:
    from accelwatch.agent.rules.evaluator import NodeEvaluator
    from accelwatch.alerting.evaluation.notifier_owner import NotifierOwner
    from accelwatch.alerting.evaluation.runner import RuleRunner
    from accelwatch.alerting.incidents.model.incident import Incident
    from accelwatch.web.pages.routes import RouteTable

logger = logging.getLogger(__name__)


class Ruling:
    """Judges the node where rules are configured; the loop's thread only."""

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        own: OwnMetrics,
        folder: Path | None,
        presence: HubPresence,
    ) -> None:
        """`folder` is where the journal is kept; `presence` knows of hubs that notify people."""
        self._presence = presence
        self._feed = feed
        self._clock = clock
        self._own = own
        self._folder = folder
        self._running: tuple[RuleRunner, NodeEvaluator, NotifierOwner] | None = None
        self._pages: RouteTable | None = None

    async def change(self, settings: Settings) -> None:
        """Begin, go on by other settings, or end. Raises ConfigError, PluginError; then all stays."""
        if not settings.rules.any:
            if settings.alerts != Alerts():
                logger.warning("no notification will be sent: alerts are configured, but no rules")
            await self.stop()
        elif self._running is None:
            await self._start(settings)
        else:
            runner, evaluator, owner = self._running
            owner.most_silent_s, owner.beside = settings.hub.silent_s, settings.hub.beside
            evaluator.collect_s = settings.collect.interval_s
            await runner.reload(settings.rules, self._alerts(settings))

    async def _start(self, settings: Settings) -> None:
        from accelwatch.agent.rules.evaluator import NodeEvaluator
        from accelwatch.alerting.evaluation.notifier_owner import NotifierOwner
        from accelwatch.alerting.evaluation.runner import RuleRunner

        evaluator = NodeEvaluator(
            self._feed, self._clock, settings.collect.interval_s, self._folder
        )
        alerts = self._alerts(settings)
        hub = settings.hub
        owner = NotifierOwner(self._presence, hub.silent_s, beside=hub.beside)
        runner = RuleRunner(
            evaluator, settings.rules, self._folder, alerts=alerts, notifier_owner=owner
        )
        evaluator.windows = lambda: runner.incident_store.muting.windows
        await runner.start()
        self._running = runner, evaluator, owner
        self._own.of_rules = runner.rule_states.series

    def _alerts(self, settings: Settings) -> Alerts:
        """The ids of incidents are those of this node: many agents notify the same receivers."""
        alerts = settings.alerts
        return msgspec.structs.replace(alerts, hub=alerts.hub or self._feed.snapshot().host)

    async def stop(self) -> None:
        """Judge no more, and write what waits."""
        running, self._running = self._running, None
        self._pages = None
        self._own.of_rules = dict
        if running is not None:
            await running[0].stop()

    def refuse(self, why: str) -> None:
        """A changed configuration is refused, and why; empty: it is in force."""
        if self._running is not None:
            self._running[0].refuse(why)

    def pages(self) -> "RouteTable | None":
        """The pages about rules; None while there are no rules.

        Loaded at the first request: most agents never get one.
        """
        if self._running is not None and self._pages is None:
            from accelwatch.agent.rules.node_note import node_note
            from accelwatch.alerting.evaluation.pages import IncidentPages
            from accelwatch.alerting.evaluation.silences.pages import SilencePages
            from accelwatch.web.pages.routes import RouteTable

            runner, feed = self._running[0], self._feed
            incidents = IncidentPages(lambda: runner, lambda: node_note(feed.snapshot()))
            silences = SilencePages(lambda: runner, self._clock, lambda: (feed.snapshot().host,))
            self._pages = RouteTable((*incidents.routes(), *silences.routes()))
        return self._pages

    @property
    def open_incidents(self) -> "Iterable[Incident]":
        """What is wrong now by the rules, those that group others too; empty without rules."""
        return () if self._running is None else self._running[0].open

    @property
    def alive(self) -> bool:
        """Whether the node is judged, if it is to be."""
        return self._running is None or self._running[0].alive
