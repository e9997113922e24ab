"""Every setting of the hub (hub.yaml); docs/fleet/hub.md explains them."""

from pathlib import Path as FilePath
from typing import Annotated

import msgspec
from msgspec import Meta, field

from accelwatch.config.complaint import refuse
from accelwatch.config.model import Log, Long, Path, Short, Web
from accelwatch.config.reader import Reader, Values, build
from accelwatch.errors import ConfigError
from accelwatch.fleet.client.access import check_access
from accelwatch.fleet.client.settings import REFUSED, Scrape
from accelwatch.fleet.state.liveness import Thresholds

DEFAULT_ADDRESS = "127.0.0.1:9878"
_LISTEN = "web.listen_address"


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """Who is followed."""

    static: tuple[str, ...] = ()
    """Addresses with host ranges: `n[001-063]:9877`."""
    files: tuple[Path, ...] = ()
    """Files in the format of Prometheus' file_sd; patterns are taken."""
    dns: tuple[str, ...] = ()
    """Names with a port; every address of a name is a target."""
    labels: dict[str, str] = {}
    """Labels of the static targets."""
    refresh_s: Long = field(default=5.0, name="refresh_interval")
    """How often files and names are looked at."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """From which age a node counts as what."""

    slow_s: Annotated[float, Meta(ge=1, le=600, extra={"form": "duration"})] = field(
        default=2.5, name="slow_after"
    )
    stale_s: Long = field(default=10.0, name="stale_after")
    down_s: Long = field(default=30.0, name="down_after")


class HubSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration of a hub."""

    targets: Targets = Targets()
    scrape: Scrape = Scrape()
    state: State = State()
    web: Web = Web(listen_address=(DEFAULT_ADDRESS,), stream_max_clients=512)
    log: Log = Log()
    state_dir: Path | None = None
    stream_interval_s: Short = field(default=1.0, name="stream_interval")
    """How often the hub's own stream sends a tick."""

    @property
    def thresholds(self) -> Thresholds:
        """The ages of `state`."""
        return Thresholds(
            slow_s=self.state.slow_s, stale_s=self.state.stale_s, down_s=self.state.down_s
        )


def load_settings(path: FilePath | None) -> HubSettings:
    """The settings of a file, or the defaults. Raises ConfigError with every mistake and its line."""
    values: Values = {}
    if path is not None:
        values, complaints = Reader(HubSettings, REFUSED).read(path)
        refuse(complaints)
    settings: HubSettings = build(HubSettings, values)
    standing = HubSettings().web
    web = settings.web
    if _LISTEN not in values:
        web = msgspec.structs.replace(web, listen_address=standing.listen_address)
    if "web.stream_max_clients" not in values:
        web = msgspec.structs.replace(web, stream_max_clients=standing.stream_max_clients)
    return checked(msgspec.structs.replace(settings, web=web))


def checked(settings: HubSettings) -> HubSettings:
    """The settings, if they fit together. Raises ConfigError."""
    check_access(settings.scrape)
    state = settings.state
    if not state.slow_s < state.stale_s < state.down_s:
        raise ConfigError("state: slow_after, stale_after and down_after grow in this order")
    return settings
