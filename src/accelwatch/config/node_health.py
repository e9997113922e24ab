"""The section `node_health` of an agent's configuration: the health check of job launchers."""

from collections.abc import Iterator

import msgspec

from accelwatch.base.errors import ConfigError
from accelwatch.config.field_types import Path
from accelwatch.plugins.options import check_url


class NodeHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Where the health check is served, and which hub is queried too; off without a socket."""

    # Of `ft_launcher --ft-node-health-check-endpoint`.
    socket: Path | None = None
    # `http://hub:9878`: whether it holds this node out of its scheduler.
    hub: str | None = None
    # A bearer token for the hub, in a file.
    hub_token_file: Path | None = None
    hub_ca_file: Path | None = None


def mistakes(settings: NodeHealth) -> Iterator[tuple[str, str]]:
    """What does not fit together, by the key inside the section."""
    if settings.socket is None:
        if settings != NodeHealth():
            yield "socket", "nothing is served without one, such as /run/accelwatch/health.sock"
        return
    if settings.hub is None:
        if settings.hub_token_file or settings.hub_ca_file:
            yield "hub", "no hub is queried without its URL, such as http://hub:9878"
    else:
        try:
            check_url(settings.hub, key="hub")
        except ConfigError as error:
            yield "hub", str(error).partition(": ")[2]
    if not installed():
        yield "socket", "needs grpcio: pip install 'accelwatch[nvrx]'"


def installed() -> bool:
    """Whether the extra is there; nothing of it is loaded."""
    from importlib.util import find_spec

    return find_spec("grpc") is not None
