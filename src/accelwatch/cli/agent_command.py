"""`accelwatch agent`: flags become settings, settings become a running agent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from accelwatch.exit_codes import OK

_Text = str | None

FLAGS = (
    "web.listen_address",
    "web.listen_any",
    "web.config_file",
    "web.unix_socket",
    "web.max_requests",
    "web.max_connections",
    "exposition.profile",
    "exposition.groups",
    "collect.backends",
    "collect.interval",
    "collect.timeout",
    "state_dir",
    "log.level",
    "log.format",
)
"""The settings that the command has flags for, in the order of its parameters."""


def run_agent(config_file: Path | None, flags: Mapping[str, str | list[str] | bool | None]) -> int:
    """Serve until told to stop; returns the exit code. Raises AccelwatchError.

    `flags` maps dotted settings (`web.listen_address`) to texts; None and empty lists are not given.
    """
    import asyncio

    from accelwatch.config.layers import Effective, effective, find_file
    from accelwatch.runtime import serve_agent

    def read() -> Effective:
        import os

        file = find_file(str(config_file) if config_file else None, os.environ)
        return effective(file, os.environ, flags)

    asyncio.run(serve_agent(read))
    return OK


def agent(
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config.file", metavar="FILE", help="Configuration (docs/configuration.md)."
        ),
    ] = None,
    listen_address: Annotated[
        list[str] | None,
        typer.Option(
            "--web.listen-address",
            metavar="HOST:PORT",
            help="Address to listen on; may be repeated. Default: 127.0.0.1:9877.",
        ),
    ] = None,
    listen_any: Annotated[
        bool,
        typer.Option(
            "--web.listen-any",
            help="Let other machines read without credentials.",
        ),
    ] = False,
    web_config: Annotated[
        _Text,
        typer.Option(
            "--web.config.file",
            metavar="FILE",
            help="TLS, passwords and tokens, in the format of Prometheus' exporters.",
        ),
    ] = None,
    unix_socket: Annotated[
        _Text,
        typer.Option("--web.unix-socket", metavar="PATH", help="Serve on a Unix socket as well."),
    ] = None,
    max_requests: Annotated[
        _Text,
        typer.Option(
            "--web.max-requests", metavar="N", help="Requests answered at one time. Default: 40."
        ),
    ] = None,
    max_connections: Annotated[
        _Text,
        typer.Option(
            "--web.max-connections", metavar="N", help="Connections at one time. Default: 512."
        ),
    ] = None,
    profile: Annotated[
        _Text,
        typer.Option("--profile", metavar="NAME", help="default or minimal, for plain scrapes."),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--collect", metavar="GROUP", help="Opt-in group to read and expose; may be repeated."
        ),
    ] = None,
    backends: Annotated[
        list[str] | None,
        typer.Option("--backend", "-b", metavar="NAME", help="Only these backends; repeatable."),
    ] = None,
    interval: Annotated[
        _Text,
        typer.Option("--interval", metavar="DURATION", help="How often to read. Default: 1s."),
    ] = None,
    timeout: Annotated[
        _Text,
        typer.Option("--timeout", metavar="DURATION", help="Deadline of one read. Default: 1s."),
    ] = None,
    state_dir: Annotated[
        _Text,
        typer.Option("--state-dir", metavar="DIR", help="Where event counters persist."),
    ] = None,
    log_level: Annotated[
        _Text,
        typer.Option("--log.level", metavar="LEVEL", help="debug, info, warning or error."),
    ] = None,
    log_format: Annotated[
        _Text, typer.Option("--log.format", metavar="FORMAT", help="text or json.")
    ] = None,
) -> None:
    """Serve metrics to Prometheus, and snapshots and streams to the fleet, until stopped."""
    given: tuple[str | list[str] | bool | None, ...] = (
        _split(listen_address),
        listen_any or None,
        web_config,
        unix_socket,
        max_requests,
        max_connections,
        profile,
        _split(groups),
        _split(backends),
        interval,
        timeout,
        state_dir,
        log_level,
        log_format,
    )
    raise typer.Exit(run_agent(config_file, dict(zip(FLAGS, given, strict=True))))


def _split(values: list[str] | None) -> list[str] | None:
    return [part for value in values for part in value.split(",")] if values else None
