"""`accelwatch hub`: a file and a few flags become settings, settings become a running hub."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    listen_address: Annotated[
        list[str] | None,
        typer.Option(
            "--web.listen-address",
            metavar="HOST:PORT",
            help="Address to listen on; may be repeated. Default: 127.0.0.1:9878.",
        ),
    ] = None,
    listen_any: Annotated[
        bool,
        typer.Option("--web.listen-any", help="Let other machines read without credentials."),
    ] = False,
    web_config: Annotated[
        str | None,
        typer.Option(
            "--web.config.file",
            metavar="FILE",
            help="TLS, passwords and tokens, in the format of Prometheus' exporters.",
        ),
    ] = None,
    state_dir: Annotated[
        str | None,
        typer.Option("--state-dir", metavar="DIR", help="Where the expected inventory is kept."),
    ] = None,
) -> None:
    """Follow many nodes and serve their state: API, stream, metrics."""
    import asyncio

    from accelwatch.fleet.hub.foreign import foreign_reader
    from accelwatch.fleet.hub.serve import serve_hub

    def read() -> "HubSettings":
        from accelwatch.fleet.hub.flags import with_flags
        from accelwatch.fleet.hub.model import load_settings

        return with_flags(
            load_settings(config_file),
            targets=targets or (),
            targets_files=targets_file or (),
            listen_address=listen_address or (),
            listen_any=listen_any,
            web_config=web_config,
            state_dir=state_dir,
        )

    asyncio.run(serve_hub(read, foreign_reader))
    raise typer.Exit(OK)
