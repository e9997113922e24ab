"""Flags that `agent` and `hub` share: where they listen, who is let in, what they keep and log."""

from typing import Annotated

import msgspec

from accelwatch.cli.parameters import Option, Setting, option

Texts = list[str] | None
Text = str | None


def listen_address(default: str) -> Option:
    """The option of the addresses to listen on."""
    return option(
        "--web.listen-address",
        metavar="HOST:PORT",
        help=f"Address to listen on; may be repeated. Default: {default}.",
    )


def state_dir(kept: str) -> Option:
    """The option of the folder for what outlives the process."""
    return option("--state-dir", metavar="DIR", help=f"Where {kept}.")


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Who is let in, and where besides."""

    listen_any: Annotated[
        bool,
        option("--web.listen-any", help="Let other machines read without credentials."),
        Setting("web.listen_any"),
    ] = False
    allowed_hosts: Annotated[
        Texts,
        option(
            "--web.allowed-hosts",
            metavar="NAME",
            help="Further host name of requests on loopback, as from a proxy; may be repeated.",
        ),
        Setting("web.allowed_hosts"),
    ] = None
    web_config: Annotated[
        Text,
        option(
            "--web.config.file",
            metavar="FILE",
            help="TLS, passwords and tokens, in the format of Prometheus' exporters.",
        ),
        Setting("web.config_file"),
    ] = None
    unix_socket: Annotated[
        Text,
        option("--web.unix-socket", metavar="PATH", help="Serve on a Unix socket as well."),
        Setting("web.unix_socket"),
    ] = None


class Logs(msgspec.Struct, frozen=True, kw_only=True):
    """How much is logged, and how."""

    log_level: Annotated[
        Text,
        option("--log.level", metavar="LEVEL", help="debug, info, warning or error."),
        Setting("log.level"),
    ] = None
    log_format: Annotated[
        Text,
        option("--log.format", metavar="FORMAT", help="text or json."),
        Setting("log.format"),
    ] = None
