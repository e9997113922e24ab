"""`accelwatch agent`: flags become settings, settings become a running agent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from accelwatch.base.default_addresses import AGENT_ADDRESS
from accelwatch.cli.options import FlagValue, command, settings_of, shared_option, split
from accelwatch.cli.parameters import Setting, option
from accelwatch.cli.plan import root_folder
from accelwatch.cli.servers import server_flags
from accelwatch.schema.catalogue.lookup import opt_in_groups


def run_agent(config_file: Path | None, flags: Mapping[str, FlagValue]) -> None:
    """Serve until stopped. Raises AccelwatchError.

    `flags` maps dotted settings (`web.listen_address`) to texts; None and empty lists are not given.
    """
    import asyncio

    from accelwatch.agent.runtime import serve_agent
    from accelwatch.agent.settings_check import read_settings
    from accelwatch.config.layers import Effective, find_file
    from accelwatch.config.model import Settings

    def read() -> Effective[Settings]:
        import os

        file = find_file(str(config_file) if config_file else None, os.environ)
        return read_settings(file, os.environ, flags)

    asyncio.run(serve_agent(read))


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the agent."""

    config_file: Annotated[
        Path | None,
        option("--config.file", metavar="FILE", help="Configuration (docs/configuration.md)."),
    ] = None
    listen_address: Annotated[
        server_flags.Texts,
        server_flags.listen_address(AGENT_ADDRESS),
        Setting("web.listen_address"),
    ] = None
    access: server_flags.Access = server_flags.Access()
    max_requests: Annotated[
        server_flags.Text,
        option("--web.max-requests", metavar="N", help="Concurrent requests. Default: 40."),
        Setting("web.max_requests"),
    ] = None
    max_connections: Annotated[
        server_flags.Text,
        option("--web.max-connections", metavar="N", help="Connections at one time. Default: 512."),
        Setting("web.max_connections"),
    ] = None
    profile: Annotated[
        server_flags.Text,
        option("--profile", metavar="NAME", help="default or minimal, for plain scrapes."),
        Setting("exposition.profile"),
    ] = None
    groups: Annotated[
        list[str] | None,
        shared_option("collect", "Opt-in groups to read and expose; also a,b,c or 'all'."),
        Setting("exposition.groups"),
    ] = None
    backends: Annotated[list[str] | None, shared_option("backend"), Setting("collect.backends")] = (
        None
    )
    root: Annotated[server_flags.Text, shared_option("root"), Setting("collect.root")] = None
    interval: Annotated[
        server_flags.Text,
        option("--interval", metavar="DURATION", help="How often to read. Default: 1s."),
        Setting("collect.interval"),
    ] = None
    timeout: Annotated[
        server_flags.Text,
        option("--timeout", metavar="DURATION", help="Deadline of one read. Default: 1s."),
        Setting("collect.timeout"),
    ] = None
    state_dir: Annotated[
        server_flags.Text,
        server_flags.state_dir("event counters persist"),
        Setting("state_dir"),
    ] = None
    logs: server_flags.Logs = server_flags.Logs()


@command
def agent(options: AgentOptions) -> None:
    """Serve metrics to Prometheus, and snapshots and streams to the fleet, until stopped."""
    from accelwatch.system.daemon.privacy import protect_process

    protect_process()
    flags = settings_of(options)
    if "all" in (split(options.groups) or ()):
        flags["exposition.groups"] = list(opt_in_groups())
    if options.root is not None:
        flags["collect.root"] = root_folder(options.root)
    run_agent(options.config_file, flags)
