"""`accelwatch hub`: a file and a few flags become settings, settings become a running hub."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accelwatch.cli import server_flags
from accelwatch.exit_codes import OK

if TYPE_CHECKING:
    from accelwatch.fleet.hub.model import HubSettings


def hub_command(
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config.file", "-c", metavar="FILE", help="Configuration (docs/fleet/hub.md)."
        ),
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--targets",
            "-t",
            metavar="HOSTS",
            help="Targets with host ranges, n[001-063]:9877; may be repeated.",
        ),
    ] = None,
    targets_file: Annotated[
        list[str] | None,
        typer.Option(
            "--targets-file",
            metavar="FILE",
            help="Targets as Prometheus' file_sd lists them, watched; may be repeated.",
        ),
    ] = None,
    targets_http: Annotated[
        list[str] | None,
        typer.Option(
            "--targets-http",
            metavar="URL",
            help="Targets as Prometheus' http_sd answers them; may be repeated.",
        ),
    ] = None,
    targets_dns: Annotated[
        list[str] | None,
        typer.Option(
            "--targets-dns",
            metavar="NAME[:PORT]",
            help="Every address of a name is a target; may be repeated.",
        ),
    ] = None,
    targets_kubernetes: Annotated[
        str | None,
        typer.Option(
            "--targets-kubernetes",
            metavar="SELECTOR",
            help="Pods of this cluster with these labels, app=accelwatch.",
        ),
    ] = None,
    targets_slurm: Annotated[
        bool, typer.Option("--targets-slurm", help="Slurm's nodes with GPUs, from scontrol.")
    ] = False,
    prometheus: Annotated[
        str | None,
        typer.Option(
            "--prometheus",
            metavar="URL",
            help="Read the fleet from a Prometheus-compatible server instead of its nodes.",
        ),
    ] = None,
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

    from accelwatch.fleet.hub.foreign import foreign_reader
    from accelwatch.fleet.hub.serve import serve_hub

    flags: dict[str, server_flags.Given] = {
        "prometheus.url": prometheus,
        "remote_write.url": remote_write,
        "scrape.mode": mode,
        "scrape.scrape_interval": interval,
        "web.listen_address": server_flags.parts(listen_address),
        "web.listen_any": listen_any or None,
        "web.config_file": web_config,
        "web.unix_socket": unix_socket,
        "state_dir": state_dir,
        "log.level": log_level,
        "log.format": log_format,
    }

    def read() -> "HubSettings":
        from accelwatch.fleet.hub.flags import with_targets
        from accelwatch.fleet.hub.model import load_settings

        return with_targets(
            load_settings(config_file, flags),
            targets=targets or (),
            targets_files=targets_file or (),
            http=targets_http or (),
            dns=targets_dns or (),
            kubernetes=targets_kubernetes,
            slurm=targets_slurm,
        )

    asyncio.run(serve_hub(read, foreign_reader))
    raise typer.Exit(OK)
