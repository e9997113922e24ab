"""`accelwatch agent`: flags become settings, settings become a running agent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from accelwatch.cli import server_flags
from accelwatch.cli.plan import root_folder
from accelwatch.exit_codes import OK
from accelwatch.schema.metrics import opt_in_groups

FLAGS = (
    "web.listen_address",
    "web.listen_any",
    "web.allowed_hosts",
    "web.config_file",
    "web.unix_socket",
    "web.max_requests",
    "web.max_connections",
    "exposition.profile",
    "exposition.groups",
    "collect.backends",
    "collect.root",
    "collect.interval",
    "collect.timeout",
    "state_dir",
    "log.level",
    "log.format",
)
"""The settings that the command has flags for, in the order of its parameters."""


def run_agent(config_file: Path | None, flags: Mapping[str, server_flags.Given]) -> int:
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


def _groups(values: list[str] | None) -> list[str] | None:
    """The groups of the flag; `all` are all that there are."""
    asked = server_flags.parts(values)
    return list(opt_in_groups()) if asked and "all" in asked else asked


def agent(
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config.file", metavar="FILE", help="Configuration (docs/configuration.md)."
        ),
    ] = None,
    listen_address: Annotated[
        server_flags.Texts, server_flags.listen_address("127.0.0.1:9877")
    ] = None,
    listen_any: server_flags.ListenAny = False,
    allowed_hosts: server_flags.AllowedHosts = None,
    web_config: server_flags.WebConfig = None,
    unix_socket: server_flags.UnixSocket = None,
    max_requests: server_flags.MaxRequests = None,
    max_connections: server_flags.MaxConnections = None,
    profile: Annotated[
        server_flags.Text,
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
    root: Annotated[
        server_flags.Text,
        typer.Option(
            "--root", metavar="DIR", help="Where /sys, /proc and /dev are, such as /host."
        ),
    ] = None,
    interval: Annotated[
        server_flags.Text,
        typer.Option("--interval", metavar="DURATION", help="How often to read. Default: 1s."),
    ] = None,
    timeout: Annotated[
        server_flags.Text,
        typer.Option("--timeout", metavar="DURATION", help="Deadline of one read. Default: 1s."),
    ] = None,
    state_dir: Annotated[
        server_flags.Text, server_flags.state_dir("event counters persist")
    ] = None,
    log_level: server_flags.LogLevel = None,
    log_format: server_flags.LogFormat = None,
) -> None:
    """Serve metrics to Prometheus, and snapshots and streams to the fleet, until stopped."""
    from accelwatch.daemon.privacy import keep_to_ourselves

    keep_to_ourselves()
    given: tuple[server_flags.Given, ...] = (
        server_flags.parts(listen_address),
        listen_any or None,
        server_flags.parts(allowed_hosts),
        web_config,
        unix_socket,
        max_requests,
        max_connections,
        profile,
        _groups(groups),
        server_flags.parts(backends),
        None if root is None else root_folder(root),
        interval,
        timeout,
        state_dir,
        log_level,
        log_format,
    )
    raise typer.Exit(run_agent(config_file, dict(zip(FLAGS, given, strict=True))))
