"""A hub with instruments: `hub_probe.py all|arrivals FILE HUB-OPTIONS...`; a line of JSON a second.

Lateness is taken where a message enters the state, the loop's lag by a timer of ten milliseconds; turns
of the loop and garbage collections in processor time, which other processes on the core do not spoil.
What they use is counted as the hub's; `arrivals` leaves out those of the loop, which use most.
"""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from accelwatch.cli.servers.hub import hub_command
from accelwatch.fleet.hub import serve
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.system.daemon.memory import use_single_arena

TIMER_S = 0.01


class Probe:
    """The greatest delays since the last line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._arrive = TargetSource.arrive
        self._collecting = 0.0
        self.clear()

    def clear(self) -> None:
        self.arrivals = self.over_a_second = 0
        self.late_s = self.overdue_s = float("-inf")
        self.lag_s = self.turn_s = self.collecting_s = 0.0

    def arrive(
        self, source: TargetSource, node_time: float | None, wall: float, monotonic: float
    ) -> None:
        """In place of Source.arrive. A load writes into a tick when it was due."""
        late_s = float("-inf") if node_time is None else wall - node_time
        before = source.arrived
        overdue_s = late_s if before is None else monotonic - before - source.interval_s
        self.arrivals += 1
        self.late_s = max(self.late_s, late_s)
        self.overdue_s = max(self.overdue_s, overdue_s)
        self.over_a_second += max(late_s, overdue_s) > 1.0
        self._arrive(source, node_time, wall, monotonic)

    def collecting(self, phase: str, _info: dict[str, int]) -> None:
        """For gc.callbacks."""
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self.collecting_s = max(self.collecting_s, time.thread_time() - self._collecting)

    def turn(self, run_once: Callable[[], None]) -> None:
        """One turn of the loop."""
        began = time.thread_time()
        run_once()
        self.turn_s = max(self.turn_s, time.thread_time() - began)

    async def time_the_loop(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TIMER_S
            await asyncio.sleep(TIMER_S)
            self.lag_s = max(self.lag_s, loop.time() - due)

    async def write(self) -> None:
        with self._path.open("a") as file:
            while True:
                await asyncio.sleep(1)
                line = {
                    "at": time.monotonic(),
                    "arrivals": self.arrivals,
                    "late_s": self.late_s,
                    "overdue_s": self.overdue_s,
                    "over_a_second": self.over_a_second,
                    "lag_s": self.lag_s,
                    "turn_s": self.turn_s,
                    "collecting_s": self.collecting_s,
                }
                file.write(json.dumps(line) + "\n")
                file.flush()
                self.clear()


def main() -> None:
    """Run the hub with the instruments."""
    use_single_arena()  # as the command does before any thread
    whole = sys.argv.pop(1) == "all"
    probe = Probe(Path(sys.argv.pop(1)))

    def arrive(self: TargetSource, node_time: float | None, wall: float, monotonic: float) -> None:
        probe.arrive(self, node_time, wall, monotonic)

    TargetSource.arrive = arrive  # type: ignore[method-assign]
    gc.callbacks.append(probe.collecting)
    plain: Callable[..., Awaitable[None]] = serve.serve_hub

    class Loop(asyncio.SelectorEventLoop):
        def _run_once(self) -> None:
            probe.turn(super()._run_once)  # type: ignore[misc]  # not in typeshed: of BaseEventLoop

    class Policy(asyncio.DefaultEventLoopPolicy):
        _loop_factory = Loop

    if whole:
        asyncio.set_event_loop_policy(Policy())

    async def watched(*given: object, **named: object) -> None:
        tasks = [asyncio.create_task(probe.write())]
        if whole:
            tasks.append(asyncio.create_task(probe.time_the_loop()))
        try:
            await plain(*given, **named)
        finally:
            for task in tasks:
                task.cancel()

    serve.serve_hub = watched
    hub_command()


if __name__ == "__main__":
    main()
