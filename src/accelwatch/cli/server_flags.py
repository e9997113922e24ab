"""Flags that `agent` and `hub` share: where they listen, who is let in, what they keep and log."""

from typing import Annotated, Any

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


ListenAny = Annotated[
    bool,
    typer.Option("--web.listen-any", help="Let other machines read without credentials."),
    Setting("web.listen_any"),
]
AllowedHosts = Annotated[
    Texts,
    typer.Option(
        "--web.allowed-hosts",
        metavar="NAME",
        help="Name by which clients ask on loopback, as through a proxy; may be repeated.",
    ),
    Setting("web.allowed_hosts"),
]
WebConfig = Annotated[
    Text,
    typer.Option(
        "--web.config.file",
        metavar="FILE",
        help="TLS, passwords and tokens, in the format of Prometheus' exporters.",
    ),
    Setting("web.config_file"),
]
UnixSocket = Annotated[
    Text,
    typer.Option("--web.unix-socket", metavar="PATH", help="Serve on a Unix socket as well."),
    Setting("web.unix_socket"),
]
MaxRequests = Annotated[
    Text,
    typer.Option(
        "--web.max-requests", metavar="N", help="Requests answered at one time. Default: 40."
    ),
    Setting("web.max_requests"),
]
MaxConnections = Annotated[
    Text,
    typer.Option(
        "--web.max-connections", metavar="N", help="Connections at one time. Default: 512."
    ),
    Setting("web.max_connections"),
]
LogLevel = Annotated[
    Text,
    typer.Option("--log.level", metavar="LEVEL", help="debug, info, warning or error."),
    Setting("log.level"),
]
LogFormat = Annotated[
    Text,
    typer.Option("--log.format", metavar="FORMAT", help="text or json."),
    Setting("log.format"),
]
