"""`accelwatch hub`: a file and a few flags become settings, settings become a running hub."""

from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from accelwatch.base.default_addresses import HUB_ADDRESS
from accelwatch.base.exit_codes import OK
from accelwatch.cli.fleet import target_flags
from accelwatch.cli.options import command, settings_of
from accelwatch.cli.parameters import Setting, option
from accelwatch.cli.servers import server_flags

if TYPE_CHECKING:
    from accelwatch.config.layers import Effective
    from accelwatch.fleet.hub.model import HubSettings


class HubOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the hub."""

    config_file: target_flags.ConfigFile = None
    followed: target_flags.Followed = target_flags.Followed()
    prometheus: Annotated[target_flags.Prometheus, Setting("prometheus.url")] = None
    remote_write: Annotated[
        str | None,
        option("--remote-write", metavar="URL", help="Write the hub's data to this receiver."),
        Setting("remote_write.url"),
    ] = None
    mode: Annotated[
        str | None,
        option("--scrape.mode", metavar="MODE", help="auto, or only one of stream and poll."),
        Setting("scrape.mode"),
    ] = None
    interval: Annotated[
        str | None,
        option("--scrape.interval", metavar="DURATION", help="Time between polls. Default: 5s."),
        Setting("scrape.scrape_interval"),
    ] = None
    listen_address: Annotated[
        server_flags.Texts,
        server_flags.listen_address(HUB_ADDRESS),
        Setting("web.listen_address"),
    ] = None
    access: server_flags.Access = server_flags.Access()
    state_dir: Annotated[
        server_flags.Text,
        server_flags.state_dir("the expected inventory is kept"),
        Setting("state_dir"),
    ] = None
    logs: server_flags.Logs = server_flags.Logs()


@command
def hub_command(options: HubOptions) -> None:
    """Follow many nodes and serve their state: API, stream, metrics."""
    import asyncio

    from accelwatch.base.single_thread import load_numpy
    from accelwatch.system.daemon.privacy import protect_process

    load_numpy()
    from accelwatch.fleet.hub.foreign import foreign_reader
    from accelwatch.fleet.hub.serve import serve_hub

    def read() -> "Effective[HubSettings]":
        from accelwatch.fleet.hub.model import effective

        loaded = effective(options.config_file, settings_of(options))
        settings = options.followed.laid_over(loaded.settings)
        return msgspec.structs.replace(loaded, settings=settings)

    protect_process()
    asyncio.run(serve_hub(read, foreign_reader))
    raise click.exceptions.Exit(OK)
