"""`python -m accelwatch_lab.cluster.kubernetes.api_server PORT FOLDER`: the server as a process.

FOLDER has `tokens.csv` as kube-apiserver reads it, and gets `certificates/apiserver.crt` where it has
none, and `requests.jsonl`, the log.
"""

import argparse
import asyncio
import signal
from pathlib import Path

from accelwatch_lab.cluster.kubernetes.api_server.certificate import context_of
from accelwatch_lab.cluster.kubernetes.api_server.cluster import NODE_GRACE_S, Cluster
from accelwatch_lab.cluster.kubernetes.api_server.controllers.running import ControllerName
from accelwatch_lab.cluster.kubernetes.api_server.server import served


async def _serve(
    port: int, folder: Path, controllers: list[ControllerName], node_grace_s: float
) -> None:
    """Raises OSError and AccelwatchError."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    cluster = Cluster(folder / "requests.jsonl", node_grace_s)
    cluster.access.read(folder / "tokens.csv")
    async with served(cluster, port, context_of(folder / "certificates"), controllers):
        await stop.wait()


def main() -> None:
    """Serve until a signal."""
    parser = argparse.ArgumentParser(prog="accelwatch_lab.cluster.kubernetes.api_server")
    parser.add_argument("port", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--controllers",
        nargs="*",
        type=ControllerName,
        choices=list(ControllerName),
        default=list(ControllerName),
        help="all of them without",
    )
    parser.add_argument(
        "--node-monitor-grace-period",
        type=float,
        default=NODE_GRACE_S,
        metavar="SECONDS",
        help="how long a Ready node may be silent",
    )
    arguments = parser.parse_args()
    grace_s = arguments.node_monitor_grace_period
    asyncio.run(_serve(arguments.port, arguments.folder, arguments.controllers, grace_s))


if __name__ == "__main__":
    main()
