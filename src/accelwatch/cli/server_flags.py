"""Flags that `agent` and `hub` share: where they listen, who is let in, what they keep and log."""

from typing import Annotated, Any

import typer

Texts = list[str] | None
Text = str | None
Given = str | list[str] | bool | None
"""A flag as the settings take it; None and empty lists are not given."""


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
    bool, typer.Option("--web.listen-any", help="Let other machines read without credentials.")
]
AllowedHosts = Annotated[
    Texts,
    typer.Option(
        "--web.allowed-hosts",
        metavar="NAME",
        help="Name by which clients ask on loopback, as through a proxy; may be repeated.",
    ),
]
WebConfig = Annotated[
    Text,
    typer.Option(
        "--web.config.file",
        metavar="FILE",
        help="TLS, passwords and tokens, in the format of Prometheus' exporters.",
    ),
]
UnixSocket = Annotated[
    Text,
    typer.Option("--web.unix-socket", metavar="PATH", help="Serve on a Unix socket as well."),
]
MaxRequests = Annotated[
    Text,
    typer.Option(
        "--web.max-requests", metavar="N", help="Requests answered at one time. Default: 40."
    ),
]
MaxConnections = Annotated[
    Text,
    typer.Option(
        "--web.max-connections", metavar="N", help="Connections at one time. Default: 512."
    ),
]
LogLevel = Annotated[
    Text,
    typer.Option("--log.level", metavar="LEVEL", help="debug, info, warning or error."),
]
LogFormat = Annotated[Text, typer.Option("--log.format", metavar="FORMAT", help="text or json.")]


def parts(values: Texts) -> Texts:
    """The items of a flag that is repeated or has commas; None when it is not given."""
    return [part for value in values for part in value.split(",")] if values else None
