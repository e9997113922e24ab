"""`python -m accelwatch_lab.cluster.backendai.api_server PORT FOLDER`: the stand-in as a process.

FOLDER gets `requests.jsonl`, the log, and the files of the accounts' keys. Options say how many
agents there are, i-gpu1 and so on.
"""

import argparse
import asyncio
import signal
from pathlib import Path

from accelwatch_lab.cluster.backendai.access import write_keys
from accelwatch_lab.cluster.backendai.api_server.manager import Manager
from accelwatch_lab.cluster.backendai.api_server.release import NEWEST
from accelwatch_lab.cluster.backendai.api_server.server import served


async def _serve(port: int, folder: Path, release: str, agents: int) -> None:
    """Raises OSError."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    manager = Manager(release, folder / "requests.jsonl")
    manager.add_agents(*(f"i-gpu{number + 1}" for number in range(agents)))
    write_keys(folder, f"http://127.0.0.1:{port}")
    manager.accounts.read(folder)
    async with served(manager, port):
        await stop.wait()


def main() -> None:
    """Serve until a signal."""
    parser = argparse.ArgumentParser(prog="accelwatch_lab.cluster.backendai.api_server")
    parser.add_argument("port", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--release", default=NEWEST)
    parser.add_argument("--agents", type=int, default=4)
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.port, arguments.folder, arguments.release, arguments.agents))


if __name__ == "__main__":
    main()
