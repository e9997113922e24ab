"""The action's cache in a process of its own, with how long its loop is held.

`cache_probe.py URL FOLDER` writes FOLDER/synced once both lists are there, and FOLDER/holds whenever
FOLDER/ask is there: the longest hold since the last time, in milliseconds of the wall and of the
processor, and how many objects there are.
"""

import asyncio
import contextlib
import json
import selectors
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.observed import NodeObservation
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.server import Server
from accelwatch_kubernetes.cache.cluster_cache import ClusterCache
from accelwatch_kubernetes.settings.options import KubernetesOptions


class TimedSelector(selectors.DefaultSelector):
    """How long the loop does something else than wait for its selector."""

    def __init__(self) -> None:
        super().__init__()
        self.longest_s = self.longest_cpu_s = 0.0
        self._since = time.perf_counter(), time.thread_time()

    def select(self, timeout: float | None = None) -> list[Any]:
        """As it is."""
        wall, cpu = time.perf_counter(), time.thread_time()
        self.longest_s = max(self.longest_s, wall - self._since[0])
        self.longest_cpu_s = max(self.longest_cpu_s, cpu - self._since[1])
        ready = super().select(timeout)
        self._since = time.perf_counter(), time.thread_time()
        return ready


async def main(selector: TimedSelector, url: str, folder: Path) -> None:
    """Follow until it is killed."""
    client = KubernetesClient(Server(base=url))
    cache = ClusterCache(client, KubernetesOptions())
    began = time.perf_counter()
    # The stand-in makes its pages while they are asked for the first time, which takes a minute.
    nodes: Sequence[NodeObservation] = ()
    while not nodes:
        with contextlib.suppress(ActionUnavailableError):
            nodes = await cache.nodes()
    (folder / "synced").write_text(f"{time.perf_counter() - began}")
    while True:
        await asyncio.sleep(0.2)
        if not (folder / "ask").exists():
            continue
        counts = [len(nodes), sum(len(pods) for pods in (await cache.pods_by_node()).values())]
        answer = {
            "hold_ms": round(1e3 * selector.longest_s, 1),
            "hold_cpu_ms": round(1e3 * selector.longest_cpu_s, 1),
            "objects": counts,
        }
        selector.longest_s = selector.longest_cpu_s = 0.0
        (folder / "ask").unlink()
        (folder / "holds.new").write_text(json.dumps(answer))
        (folder / "holds.new").rename(folder / "holds")


if __name__ == "__main__":
    timed = TimedSelector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(timed)) as runner:
        runner.run(main(timed, sys.argv[1], Path(sys.argv[2])))
