"""Where the simulated nodes are, and the file that says so: `file_sd` JSON, as the hub reads it.

With a port for each node Prometheus reads the same file; paths on one port are URLs, for the hub only.
"""

import socket
import tempfile
from pathlib import Path

import msgspec

from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.config.forms import split_address
from accelwatch.web.sockets.listeners import open_tcp
from accelwatch_lab.simulator.fleet import Fleet
from accelwatch_lab.simulator.nodes import Node

_PORT_MAX = 65535
Sockets = dict[str, list[socket.socket]]


def open_sockets(listen: str, fleet: Fleet, *, many: bool) -> Sockets:
    """Listening sockets by node name (one port a node, upwards), or one for all under the empty name.

    Port 0 picks free ports. Raises AccelwatchError.
    """
    try:
        host, port = split_address(listen)
    except ValueError as error:
        raise UsageError(f"--listen: {error}; write 127.0.0.1:9877") from error
    if not many:
        return {"": open_tcp(listen)}
    if port and port + len(fleet.nodes) - 1 > _PORT_MAX:
        raise UsageError(
            f"{len(fleet.nodes)} ports from {port} on pass {_PORT_MAX}; use --ports one"
        )
    shown = f"[{host}]" if ":" in host else host
    opened: Sockets = {}
    try:
        for node in fleet.nodes:
            opened[node.name] = open_tcp(f"{shown}:{port + node.index if port else 0}")
    except AccelwatchError:
        close(opened)
        raise
    return opened


def close(sockets: Sockets) -> None:
    """Close every socket."""
    for listening in sockets.values():
        for open_socket in listening:
            open_socket.close()


def address(open_socket: socket.socket) -> str:
    """`host:port` of a listening socket."""
    host, port = open_socket.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def targets(fleet: Fleet, sockets: Sockets) -> list[dict[str, object]]:
    """One group a node: address, and as labels its name, rack, pool, dialect and partition."""
    groups: list[dict[str, object]] = []
    for node in fleet.nodes:
        listening = sockets.get(node.name) or sockets[""]
        labels = labels_of(fleet, node)
        where = address(listening[0])
        if node.name not in sockets:
            where = f"http://{where}/node/{node.name}"
        groups.append({"targets": [where], "labels": labels})
    return groups


def labels_of(fleet: Fleet, node: Node) -> dict[str, str]:
    """What targets say of a node."""
    labels = {
        "node": node.name,
        "rack": f"r{node.index // fleet.scenario.rack_size + 1:02d}",
        "pool": node.vendor,
        "dialect": node.dialect.value,
    }
    if (job := fleet.job(node)) is not None and job.queue:
        labels["partition"] = job.queue
    return labels


def write_targets(path: Path, groups: list[dict[str, object]]) -> None:
    """Write the file in one step. Raises AccelwatchError."""
    data = msgspec.json.format(msgspec.json.encode(groups), indent=1) + b"\n"
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".targets-", delete=False) as file:
            file.write(data)
        Path(file.name).chmod(0o644)
        Path(file.name).replace(path)
    except OSError as error:
        raise AccelwatchError(f"{path}: cannot be written: {error.strerror or error}") from error
