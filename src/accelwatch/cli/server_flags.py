"""Flags that `agent` and `hub` share: where they listen, who is let in, what they keep and log."""

from typing import Annotated, Any

import msgspec
import typer

from accelwatch.cli.options import Setting

Texts = list[str] | None
Text = str | None


def listen_address(default: str) -> Any:
    """The option of the addresses to listen on."""
    return typer.Option(
        "--web.listen-address",
        metavar="HOST:PORT",
        help=f"Address to listen on; may be repeated. Default: {default}.",
    )


def state_dir(kept: str) -> Any:
    """The option of the folder for what outlives the process."""
    return typer.Option("--state-dir", metavar="DIR", help=f"Where {kept}.")


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Who is let in, and where besides."""

    listen_any: Annotated[
        bool,
        typer.Option("--web.listen-any", help="Let other machines read without credentials."),
        Setting("web.listen_any"),
    ] = False
    allowed_hosts: Annotated[
        Texts,
        typer.Option(
            "--web.allowed-hosts",
            metavar="NAME",
            help="Name by which clients ask on loopback, as through a proxy; may be repeated.",
        ),
        Setting("web.allowed_hosts"),
    ] = None
    web_config: Annotated[
        Text,
        typer.Option(
            "--web.config.file",
            metavar="FILE",
            help="TLS, passwords and tokens, in the format of Prometheus' exporters.",
        ),
        Setting("web.config_file"),
    ] = None
    unix_socket: Annotated[
        Text,
        typer.Option("--web.unix-socket", metavar="PATH", help="Serve on a Unix socket as well."),
        Setting("web.unix_socket"),
    ] = None


class Logs(msgspec.Struct, frozen=True, kw_only=True):
    """How much is logged, and how."""

    log_level: Annotated[
        Text,
        typer.Option("--log.level", metavar="LEVEL", help="debug, info, warning or error."),
        Setting("log.level"),
    ] = None
    log_format: Annotated[
        Text,
        typer.Option("--log.format", metavar="FORMAT", help="text or json."),
        Setting("log.format"),
    ] = None
