"""A hub that follows hubs, with the server over it."""

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from accelwatch.base.clock import Clock
from accelwatch.fleet.api.live.streams import LiveStreams
from accelwatch.fleet.global_hub.feed import PictureFeeds
from accelwatch.fleet.global_hub.followed import FollowedHubs
from accelwatch.fleet.global_hub.incidents import PictureIncidents
from accelwatch.fleet.global_hub.pages import GlobalPages
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.system.daemon.logs import set_up_logging
from accelwatch.web.front import Front, server_limits
from accelwatch.web.http.http_server import HttpServer
from accelwatch.web.protection.reloading import note_reload
from accelwatch.web.protection.web_config import Protection

logger = logging.getLogger(__name__)

_RELOADED = "exporter_config_last_reload_successful"


class GlobalHubServer:
    """The hubs that are followed, and the server over their picture."""

    def __init__(
        self,
        endpoints: Sequence[HubEndpoint],
        clock: Clock,
        protection: Protection,
        settings: HubSettings,
    ) -> None:
        """`settings` are those in force; `endpoints` are of their `targets.hubs`."""
        self.settings = settings
        # What they were read from, if from a file.
        self.config_file: Path | None = None
        # Those that are followed until the end of the process.
        self._targets = settings.targets
        self.followed = FollowedHubs(endpoints, clock)
        # Whether the configuration of `hub` and of `web` was read well the last time.
        self.reloads: dict[str, bool] = {}
        pages = GlobalPages(self.followed, may_act=self._may_act, more=self._ours)
        streams = LiveStreams(
            PictureFeeds(self.followed),
            clock,
            settings.stream_interval_s,
            incidents=PictureIncidents(self.followed.view),
        )
        self.http = HttpServer(
            pages, streams, clock, limits=server_limits(settings.web), protection=protection
        )
        self._front = Front(self.http, settings.web, partial(note_reload, self.reloads, "web"))

    async def start(self) -> None:
        """Listen and follow. Raises AccelwatchError."""
        sockets = self._front.open_sockets()
        self.followed.start()
        self._front.start(sockets)

    async def change(self, settings: HubSettings, protection: Protection) -> None:
        """Replace the settings, but for those that only a restart changes; these are logged."""
        before = self.settings
        self.followed.restart_requested = settings.targets != self._targets
        if settings.targets not in (before.targets, self._targets):
            names = ", ".join(self.followed.names)
            logger.warning(
                "targets.hubs has changed, and a reload leaves it as it was: restart this hub; "
                "until then it follows %s",
                names,
            )
        if settings.stream_interval_s != before.stream_interval_s:
            logger.warning("a change takes a restart key=stream_interval")
        set_up_logging(settings.log.level, settings.log.format)
        self._front.change(settings.web, protection)
        self.settings = settings

    @property
    def protection(self) -> Protection:
        """That in force."""
        return self.http.protection

    def report_reload(self, error: str) -> None:
        """Show in the metrics whether the configuration was read well; `error` says why not."""
        self.reloads["hub"] = not error

    async def stop(self) -> None:
        """End in good order."""
        await self._front.stop()
        await self.followed.stop()

    def _may_act(self) -> bool:
        """Whether people prove here who they are.

        Others would change something at the hubs below in the name of this hub, though it is on their
        machine: they can use the hubs themselves.
        """
        return self.http.protection.authenticates

    def _ours(self) -> dict[Series, Number]:
        return {(_RELOADED, name): int(well) for name, well in self.reloads.items()}
