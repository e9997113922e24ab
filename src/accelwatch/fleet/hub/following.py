"""The targets that a hub follows: configured, discovered, and known by its store."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from accelwatch.base.clock import Clock
from accelwatch.fleet.dialects.base.precedence import precedence
from accelwatch.fleet.follow.access import BoundAccess
from accelwatch.fleet.follow.follow import Following, MakeFollowing, MakeReader, Sink
from accelwatch.fleet.follow.followers import Followers
from accelwatch.fleet.follow.poll import ReadExposition
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.hub.fleet_sink import FleetSink
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.target import SSH, Target
from accelwatch.fleet.targets.discovery import MakeDiscoverer, discoverers, without_credentials
from accelwatch.fleet.targets.watch import TargetWatch
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.web.http.stream import ALERTING, HUB_HEADER

if TYPE_CHECKING:
    from accelwatch.fleet.ssh.transport import SshTransport

logger = logging.getLogger(__name__)

# A reader of expositions of a target, given the precedence of dialects.
MakeForeignReader = Callable[[Target, Sequence[str]], ReadExposition]


class FollowedTargets:
    """Keeps a follower for each target and the fleet's list of targets; the loop's thread only."""

    def __init__(
        self,
        fleet: Fleet,
        clock: Clock,
        settings: HubSettings,
        static: Sequence[Target],
        make_reader: MakeForeignReader | None,
    ) -> None:
        """`static`: the targets that `settings` name themselves."""
        self.fleet = fleet
        self._settings = settings
        self._static = static
        self._make_reader = make_reader
        self._sink = FleetSink(fleet, clock, lambda: self._settings.scrape.interval_s)
        self._targets: dict[str, Target] = {}
        # Those that a store knows; they are read from the store, not followed.
        self._stored: dict[str, Target] = {}
        # Whether the targets are known: discoveries have answered, or there are none.
        self.listed = False
        self._watch = TargetWatch(self._set_targets)
        self._followers: Followers | None = None
        fleet.believe(precedence(settings.merge.precedence))
        fleet.verify(not settings.scrape.tls_config.insecure_skip_verify)

    def start(self) -> None:
        """Begin to follow."""
        self._start_followers()
        self.fleet.discovering = self._watch.unanswered
        self._watch.set(self._static, self._discoveries())
        self._warn()

    async def run(self) -> None:
        """Follow the targets that discoveries find, until cancelled."""
        await self._watch.run()

    async def reload(self, settings: HubSettings, static: Sequence[Target]) -> None:
        """Other targets, and other ways to read them."""
        before, self._settings, self._static = self._settings, settings, static
        self.fleet.verify(not settings.scrape.tls_config.insecure_skip_verify)
        if settings.merge != before.merge:
            self.fleet.believe(precedence(settings.merge.precedence))
        same = _reading(settings) == _reading(before)
        if not same or _alerts(settings) is not _alerts(before):
            await self.stop()
            self._start_followers()
        self._watch.set(static, self._discoveries())
        self._warn()

    async def stop(self) -> None:
        """Follow nothing any more."""
        if self._followers is not None:
            await self._followers.close()

    def set_store_targets(self, targets: dict[str, Target]) -> None:
        """The targets that a store knows."""
        self._stored = targets
        self.fleet.set_targets((*self._targets.values(), *targets.values()))

    @property
    def problems(self) -> tuple[str, ...]:
        """Why targets may be lacking."""
        return self._watch.problems()

    def series(self) -> dict[Series, Number]:
        """How the discoveries do."""
        series: dict[Series, Number] = {}
        for kind, status in self._watch.status().items():
            series["fleet_discovery_up", kind] = int(status.works)
            series["fleet_discovery_targets", kind] = status.targets
        return series

    def _set_targets(self, targets: dict[str, Target]) -> None:
        self._targets = targets
        self.fleet.set_targets((*targets.values(), *self._stored.values()))
        if self._followers is not None:
            self._followers.set_targets(targets)
        self.listed = True

    def _start_followers(self) -> None:
        scrape = self._settings.scrape
        hello = {HUB_HEADER: ALERTING} if _alerts(self._settings) else {}
        client = Client(scrape, BoundAccess(scrape), hello)
        otherwise = by_ssh(self._settings, client, self._sink)
        self._followers = Followers(client, self._sink, self._reader(), otherwise)
        self._followers.set_targets(self._targets)

    def _reader(self) -> MakeReader | None:
        make, order = self._make_reader, precedence(self._settings.merge.precedence)
        return None if make is None else lambda target: make(target, order)

    def _discoveries(self) -> dict[str, MakeDiscoverer]:
        return discoverers(self._settings.targets, self._settings.scrape)

    def _warn(self) -> None:
        for section in without_credentials(self._settings.targets, self._settings.scrape):
            logger.warning(
                "targets found here get no credentials, those of scrape are for static targets "
                "and files only key=targets.%s.scrape",
                section,
            )
        if not (self._static or self._discoveries() or self._settings.prometheus.url):
            logger.warning("nothing to follow: no targets, discovery or store is configured")


def _reading(settings: HubSettings) -> tuple[object, ...]:
    """What decides how targets are read."""
    return settings.scrape, settings.ssh, settings.merge


def _alerts(settings: HubSettings) -> bool:
    """Whether a hub notifies people of incidents, so that the agents it follows need not."""
    return settings.rules.any and bool(settings.alerts.sinks)


def by_ssh(settings: HubSettings, client: Client, sink: Sink) -> MakeFollowing:
    """Makes followers of the targets that ssh reaches; nothing of ssh is loaded for others."""
    transport: SshTransport | None = None

    def make(target: Target) -> Following | None:
        nonlocal transport
        if target.scheme != SSH:
            return None
        from accelwatch.fleet.ssh.follow import SshFollower
        from accelwatch.fleet.ssh.transport import SshTransport

        if transport is None:
            scrape = settings.scrape
            limit_bytes = scrape.body_size_limit_bytes
            transport = SshTransport(
                settings.ssh,
                limit_bytes,
                scrape.max_backoff_s,
                client.reading,
                failures=client.failures,
            )
        return SshFollower(transport, target, sink)

    return make
