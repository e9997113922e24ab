"""`accelwatch hub`: a file and a few flags become settings, settings become a running hub."""

from typing import TYPE_CHECKING, Annotated, Any

import click
import msgspec
from click.core import ParameterSource

from accelwatch.base.default_addresses import HUB_ADDRESS
from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.fleet import target_flags
from accelwatch.cli.options import Group, made, parameters_of, settings_of
from accelwatch.cli.parameters import Setting, option
from accelwatch.cli.servers import server_flags
from accelwatch.cli.servers.hub_status_command import status_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from accelwatch.config.layers import Effective
    from accelwatch.fleet.hub.model import HubSettings

    Read = Callable[[], Effective[HubSettings]]


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


def run_hub(options: HubOptions) -> None:
    """Run a hub until it is stopped. Raises AccelwatchError."""
    import asyncio

    from accelwatch.base.single_thread import load_numpy
    from accelwatch.system.daemon.privacy import protect_process

    load_numpy()

    def read() -> "Effective[HubSettings]":
        from accelwatch.fleet.hub.model import effective

        loaded = effective(options.config_file, settings_of(options))
        settings = options.followed.laid_over(loaded.settings)
        return msgspec.structs.replace(loaded, settings=settings)

    protect_process()
    asyncio.run(_serve(read))


async def _serve(read: "Read") -> None:
    """A hub that follows nodes, or, where the configuration names hubs, one that follows these."""
    from accelwatch.fleet.hub.model import UnfitSettingsError

    try:
        first = read()
    except UnfitSettingsError as error:
        if error.settings.targets.hubs:
            raise
        first = None  # the hub reads it again, and notifies people of what is wrong with it
    if first is not None and first.settings.targets.hubs:
        from accelwatch.fleet.global_hub.serve import serve_global_hub

        await serve_global_hub(_with_first(first, read))
        return
    from accelwatch.fleet.hub.foreign import foreign_reader
    from accelwatch.fleet.hub.serve import serve_hub

    await serve_hub(read if first is None else _with_first(first, read), foreign_reader)


def _with_first(first: "Effective[HubSettings]", read: "Read") -> "Read":
    """What was read already, then whatever is read: loading all rules twice would cost a second."""
    left = [first]
    return lambda: left.pop() if left else read()


@click.pass_context
def _hub(ctx: click.Context, /, **values: Any) -> None:
    if ctx.invoked_subcommand is None:
        run_hub(made(HubOptions, values))
        raise click.exceptions.Exit(OK)
    passed = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name
        and ctx.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT
    ]
    if passed:
        name = ctx.invoked_subcommand
        raise UsageError(f"{passed[0]} is for a hub that is to run; write: accelwatch hub {name}")


hub_command = Group(
    "hub",
    params=parameters_of(HubOptions),
    callback=_hub,
    help="Follow many nodes and serve their state: API, stream, metrics.",
    invoke_without_command=True,
    no_args_is_help=False,
)
hub_command.add_command(status_command, "status")
