"""`accelwatch hub`: a file and a few flags become settings, settings become a running hub."""

from typing import TYPE_CHECKING, Annotated

import typer

from accelwatch.cli import server_flags, target_flags
from accelwatch.exit_codes import OK

if TYPE_CHECKING:
    from accelwatch.fleet.hub.model import HubSettings


def hub_command(
    config_file: target_flags.ConfigFile = None,
    targets: target_flags.Static = None,
    targets_file: target_flags.Files = None,
    targets_http: target_flags.Http = None,
    targets_dns: target_flags.Dns = None,
    targets_kubernetes: target_flags.Kubernetes = None,
    targets_slurm: target_flags.Slurm = False,
    prometheus: target_flags.Prometheus = None,
    remote_write: Annotated[
        str | None,
        typer.Option(
            "--remote-write", metavar="URL", help="Write what the hub sees to this receiver."
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option("--scrape.mode", metavar="MODE", help="auto, or only one of stream and poll."),
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(
            "--scrape.interval", metavar="DURATION", help="Time between polls. Default: 5s."
        ),
    ] = None,
    listen_address: Annotated[
        server_flags.Texts, server_flags.listen_address("127.0.0.1:9878")
    ] = None,
    listen_any: server_flags.ListenAny = False,
    allowed_hosts: server_flags.AllowedHosts = None,
    web_config: server_flags.WebConfig = None,
    unix_socket: server_flags.UnixSocket = None,
    state_dir: Annotated[
        server_flags.Text, server_flags.state_dir("the expected inventory is kept")
    ] = None,
    log_level: server_flags.LogLevel = None,
    log_format: server_flags.LogFormat = None,
) -> None:
    """Follow many nodes and serve their state: API, stream, metrics."""
    import asyncio

    from accelwatch.daemon.privacy import keep_to_ourselves
    from accelwatch.fleet.hub.foreign import foreign_reader
    from accelwatch.fleet.hub.serve import serve_hub

    flags: dict[str, server_flags.Given] = {
        "prometheus.url": prometheus,
        "remote_write.url": remote_write,
        "scrape.mode": mode,
        "scrape.scrape_interval": interval,
        "web.listen_address": server_flags.parts(listen_address),
        "web.listen_any": listen_any or None,
        "web.allowed_hosts": server_flags.parts(allowed_hosts),
        "web.config_file": web_config,
        "web.unix_socket": unix_socket,
        "state_dir": state_dir,
        "log.level": log_level,
        "log.format": log_format,
    }

    wanted = target_flags.followed(
        targets, targets_file, targets_http, targets_dns, targets_kubernetes, targets_slurm
    )

    def read() -> "HubSettings":
        from accelwatch.fleet.hub.model import load_settings

        return wanted.laid_over(load_settings(config_file, flags))

    keep_to_ourselves()
    asyncio.run(serve_hub(read, foreign_reader))
    raise typer.Exit(OK)
