"""Many incidents at once on a hub: `many_incidents.py [--nodes N]`; how long the loop is held, in CPU.

All devices of a fleet are lost, come back, and are lost again, each in one tick. A turn of the loop is
measured in processor time of its thread, which other processes do not spoil; what the nodes' own
messages take is left out, garbage collections are told apart.
"""

import argparse
import asyncio
import gc
import json
import logging
import tempfile
import time
from pathlib import Path

import msgspec

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.api.incidents.incident_feed import IncidentFeed
from accelwatch.fleet.follow.frames import RawTick
from accelwatch.fleet.hub.collecting import spare_the_old
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.web.http.stream import MSGPACK
from hub_columns import Bench

RULES = {
    "version": 1,
    "rules": [
        {"id": "bench.lost", "title": "lost", "when": 'state == "lost"'},
        {"id": "bench.hot", "title": "hot", "when": "temperature_celsius > 120"},
    ],
}


class Loop(asyncio.SelectorEventLoop):
    """Knows its longest turn."""

    # Without garbage collections.
    turn_s = 0.0
    collecting_s = 0.0
    _collected_s = 0.0
    _began = 0.0

    def _run_once(self) -> None:
        self._collected_s, began = 0.0, time.thread_time()
        super()._run_once()  # type: ignore[misc]  # not in typeshed: of BaseEventLoop
        self.turn_s = max(self.turn_s, time.thread_time() - began - self._collected_s)

    def collecting(self, phase: str, _info: dict[str, int]) -> None:
        """For gc.callbacks."""
        if phase == "start":
            self._began = time.thread_time()
            return
        spent_s = time.thread_time() - self._began
        self._collected_s += spent_s
        self.collecting_s = max(self.collecting_s, spent_s)


class Site:
    """A fleet that is judged when it is told to."""

    def __init__(self, nodes: int, folder: Path, loop: Loop) -> None:
        (folder / "rules.yaml").write_text(json.dumps(RULES))
        self.bench = Bench(nodes, True)
        self.loop = loop
        settings = RuleSettings(files=(str(folder / "rules.yaml"),))
        # Nothing is judged but when it is asked for.
        evaluator = FleetEvaluator(self.bench.fleet)
        evaluator.wait = asyncio.Event().wait  # type: ignore[method-assign, assignment]
        self.runner = RuleRunner(evaluator, settings, folder)
        self.news = IncidentFeed(lambda: self.runner)
        self._sequence = 0

    async def tick(self, tick: RawTick, later_s: float) -> dict[str, float]:
        """All nodes tell this, and are judged; a client of the stream is told."""
        self.bench.clock.advance(later_s)
        for key in self.bench.keys:
            self.bench.fleet.accept(key, tick, 1000)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.loop.turn_s = self.loop.collecting_s = 0.0
        began = time.process_time()
        await self.runner.tick()
        await asyncio.sleep(0)  # a task of its own tells
        await self.news.refresh()
        _, self._sequence = await self.news.frames(MSGPACK, self._sequence)
        await asyncio.sleep(0)
        return {
            "open": len(self.runner.open),
            "cpu_ms": round(1e3 * (time.process_time() - began), 1),
            "longest_turn_ms": round(1e3 * self.loop.turn_s, 2),
            "longest_collection_ms": round(1e3 * self.loop.collecting_s, 2),
        }


async def figures(nodes: int, folder: Path, loop: Loop) -> dict[str, dict[str, float]]:
    """What each tick took."""
    site = Site(nodes, folder, loop)
    well = site.bench.message
    lost = msgspec.structs.replace(
        well,
        devices=tuple(msgspec.structs.replace(one, state="lost") for one in well.devices),
    )
    await site.runner.start()
    for _ in range(3):
        await site.tick(well, 1.0)
    spare_the_old()  # as a hub does
    gc.collect()
    gc.freeze()
    gc.callbacks.append(loop.collecting)
    steps = {
        "all are lost": (lost, 1.0),
        "still": (lost, 1.0),
        "all are well": (well, 1.0),
        "they stay well": (well, 700.0),
        "it is over": (well, 700.0),
        "all are lost again": (lost, 1.0),
        "still lost": (lost, 1.0),
    }
    found = {name: await site.tick(*one) for name, one in steps.items()}
    await site.runner.stop()
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1250)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    loop = Loop()
    with tempfile.TemporaryDirectory() as name:
        found = loop.run_until_complete(figures(given.nodes, Path(name), loop))
    worst = max(one["longest_turn_ms"] for one in found.values())
    print(json.dumps({"devices": 8 * given.nodes, **found, "longest_turn_ms": worst}, indent=2))


if __name__ == "__main__":
    main()
