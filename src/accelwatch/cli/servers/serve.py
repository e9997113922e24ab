"""`accelwatch serve`: the same dashboard in a browser, on this machine by default.

Every visitor gets a read-only dashboard process: anybody who can reach the port would
otherwise send signals as the user who serves.
"""

import ipaddress
import shlex
import socket
import sys
from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.collect_flags import MachineOptions
from accelwatch.cli.options import command, shared_option
from accelwatch.cli.output import complain
from accelwatch.cli.parameters import option
from accelwatch.node.sampler.protocol.settings import CollectSettings

if TYPE_CHECKING:
    from accelwatch.cli.servers.serve_visits import Dashboards

DEFAULT_PORT = 9879
# A dashboard process each.
DEFAULT_VISITORS = 8


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where it is served, to how many, and what they see."""

    host: Annotated[str, option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, option(metavar="PORT", min=1, max=65535, help="Port to listen on.")] = (
        DEFAULT_PORT
    )
    public_url: Annotated[
        str | None, option(metavar="URL", help="Where browsers reach it, behind a proxy.")
    ] = None
    listen_any: Annotated[
        bool, option("--listen-any", help="Allow an address that other machines can reach.")
    ] = False
    visitors: Annotated[
        int,
        option("--max-visitors", min=1, max=1000, metavar="N", help="Dashboards at one time."),
    ] = DEFAULT_VISITORS
    replay: Annotated[
        str | None, shared_option("replay", "Show a recording instead of this machine.")
    ] = None
    condition: Annotated[str | None, shared_option("filter")] = None
    machine: MachineOptions = MachineOptions()


@command
def serve_command(options: ServeOptions) -> None:
    """Serve the dashboard to browsers, read-only and without a password."""
    host, port = options.host, options.port
    if not options.listen_any and not _is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines and there is no password; "
            "put a proxy that asks for one before 127.0.0.1, or say --listen-any"
        )
    options.machine.over(CollectSettings())  # report a mistake here, not to each visitor
    server = _server(options)
    _check_address_free(host, port)
    complain(f"the dashboard is at {server.public_url} (^C ends it)")
    try:
        server.serve()
    except OSError as error:
        raise AccelwatchError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    raise click.exceptions.Exit(OK)


def _check_address_free(host: str, port: int) -> None:
    """Raise AccelwatchError where the address is in use, before the dashboard is announced."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as error:
        raise AccelwatchError(f"cannot listen on {host}:{port}: {error.strerror}") from error


def dashboard_argv(options: ServeOptions) -> list[str]:
    """The command line of one visitor's dashboard."""
    argv = [sys.executable, "-m", "accelwatch", "dashboard", "--readonly", "--served"]
    if options.replay is not None:
        argv += ["--replay", options.replay]
    if options.condition is not None:
        argv += ["--filter", options.condition]
    return argv + options.machine.argv()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _server(options: ServeOptions) -> "Dashboards":
    try:
        from accelwatch.cli.servers.serve_visits import Dashboards
    except ImportError as error:
        raise UsageError("serving needs the extra: pip install 'accelwatch[serve]'") from error

    host, port = options.host, options.port
    shown = f"[{host}]" if ":" in host else host
    url = (options.public_url or f"http://{shown}:{port}").rstrip("/")
    return Dashboards(
        shlex.join(dashboard_argv(options)),
        host,
        port,
        url=url,
        authorities=_authorities(url),
        visitors=options.visitors,
    )


def _authorities(url: str) -> set[str]:
    """Host and port by which browsers may connect."""
    authority = url.partition("://")[2].partition("/")[0]
    name, _, port = authority.rpartition(":")
    if not _is_loopback(name.strip("[]")):
        return {authority}
    return {authority, f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"}
