"""The dashboard in a terminal of 140 by 50: first paint, processor time, memory, keys, a hung device.

Eight stand-in devices with 128 processes (`--processes` a device), beside nvitop where `make peers`
was run, and beside busy loops of others (`--loops`); and a list of 8,000 devices.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from harness.node import Node, accelwatch, peer
from harness.terminal import Terminal

SECONDS = 20.0
KEYS = 200
OURS = accelwatch()
MANY = [sys.executable, __file__, "--many"]
CURSOR = "▌".encode()


def spread(values: list[float]) -> dict[str, float]:
    """Median, least and greatest."""
    return {
        "median": round(statistics.median(values), 4),
        "min": round(min(values), 4),
        "max": round(max(values), 4),
    }


def percentile(values: list[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def first_paint(node: Node, runs: int) -> dict[str, object]:
    """Cold: seconds to the first frame, and to the first row with figures."""
    painted: list[float] = []
    filled: list[float] = []
    theirs: list[float] = []
    nvitop = peer("nvitop")
    for number in range(runs + 1):
        terminal = Terminal(OURS, node.environ())
        terminal.wait_for(b"accelwatch", 20)
        frame_s = time.perf_counter() - terminal.began
        terminal.wait_for(rb"nvidia7 .*\d+%", 20)
        row_s = time.perf_counter() - terminal.began
        terminal.kill()
        if number:
            painted.append(frame_s)
            filled.append(row_s)
        if nvitop:
            terminal = Terminal(nvitop, node.environ())
            terminal.wait_for(rb"\d+W / \d+W", 20)
            if number:
                theirs.append(time.perf_counter() - terminal.began)
            terminal.kill()
    given: dict[str, object] = {"frame_s": spread(painted), "first_figures_s": spread(filled)}
    if theirs:
        given["nvitop_first_figures_s"] = spread(theirs)
    return given


def standing(words: list[str], ready: bytes, node: Node) -> dict[str, object]:
    """Share of a core and memory while it runs, all its processes together."""
    terminal = Terminal(words, node.environ())
    terminal.wait_for(ready, 20)
    terminal.drain(6)
    before, written = terminal.cpu_s(), len(terminal.output)
    terminal.drain(SECONDS)
    used = terminal.cpu_s() - before
    given: dict[str, object] = {
        "cpu_percent_of_a_core": round(100 * used / SECONDS, 2),
        "bytes_a_second": round((len(terminal.output) - written) / SECONDS),
        "memory_mib": terminal.memory_mib(),
    }
    terminal.kill()
    return given


def keys(words: list[str], node: Node, name: bytes = b"nvidia") -> dict[str, object]:
    """Milliseconds from a key to the selection drawn at the row it should be at."""
    terminal = Terminal(words, node.environ())
    terminal.wait_for(CURSOR + name + b"0", 60)
    terminal.drain(3)
    times: list[float] = []
    here, step = 0, 1
    for number in range(KEYS):
        step = 1 if here == 0 else -1 if here == 7 else step
        here += step
        start = terminal.press(b"j" if step > 0 else b"k")
        waited = terminal.wait_for(CURSOR + name + str(here).encode() + rb"\b", 5, start)
        if waited is None:
            terminal.kill()
            return {"lost_key": number}
        times.append(waited * 1000)
        terminal.drain(0.013 * (number % 7))
    quit_s = _quit(terminal)
    return {
        "p50_ms": round(percentile(times, 0.5), 1),
        "p99_ms": round(percentile(times, 0.99), 1),
        "max_ms": round(max(times), 1),
        "keys": KEYS,
        "quit_s": quit_s,
    }


def _quit(terminal: Terminal) -> float | None:
    terminal.press(b"q")
    quit_s = terminal.ended_after(20)
    if quit_s is None:
        terminal.kill()
        return None
    return round(quit_s, 2)


def one_hung(node: Node) -> dict[str, object]:
    """One of eight devices hangs for ever."""
    node.scenario.fault("*", "hang", device=3)
    node.scenario.write()
    try:
        terminal = Terminal(OURS, node.environ())
        shown = terminal.wait_for(rb"nvidia3 .*hung.*", 20)
        others = terminal.wait_for(rb"nvidia7 .*\d+%", 20)
        terminal.kill()
        given = {"hung_row_shown": shown is not None, "other_rows_shown": others is not None}
        return {**given, "keys": keys(OURS, node)}
    finally:
        node.scenario.heal("*", device=3)
        node.scenario.write()


def run_many() -> None:
    """The program that the list of 8,000 devices is measured with; new readings every two seconds."""
    import asyncio

    import msgspec

    from accelwatch.tui.app import Dashboard
    from support.dashboards.local import FedSource, board_of, busy_view, node

    shot = node(0)
    bare = busy_view(0)
    reading = msgspec.structs.replace(bare.reading, processes=())
    views = tuple(
        msgspec.structs.replace(
            bare,
            device=msgspec.structs.replace(
                bare.device, id=f"nvidia:{index}", index=index, name=f"nvidia{index}"
            ),
            reading=reading,
        )
        for index in range(8000)
    )

    class Updating(FedSource):
        async def run(self, changed):  # type: ignore[no-untyped-def]
            while True:
                now = time.time()
                fresh = tuple(msgspec.structs.replace(v, sample_time=now) for v in views)
                self.shot = msgspec.structs.replace(shot, time=now, devices=fresh)
                changed()
                await asyncio.sleep(2)

    Dashboard(board_of(density="compact"), Updating(None)).run()


def beside_nvitop(node: Node) -> dict[str, object]:
    """Ours at its usual interval, then nvitop at the same."""
    given: dict[str, object] = {"standing_2s": standing(OURS, rb"nvidia7 .*\d+%", node)}
    if nvitop := peer("nvitop"):
        words = [*nvitop, "--interval", "2"]
        given["nvitop_standing_2s"] = standing(words, rb"\d+W / \d+W", node)
    return given


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Processes of somebody else that never wait."""
    words = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(words) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def options() -> argparse.Namespace:
    """What is measured, and on which machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=7, help="starts that are measured")
    parser.add_argument("--processes", type=int, default=16, help="of each device")
    parser.add_argument("--loops", type=int, default=0, help="busy loops beside")
    parser.add_argument(
        "--only", action="append", choices=["first_paint", "standing", "keys", "one_hung", "many"]
    )
    return parser.parse_args()


def main() -> None:
    """One JSON document."""
    wanted = options()
    node = Node(processes=wanted.processes)
    parts: dict[str, Callable[[], dict[str, object]]] = {
        "first_paint": lambda: {"first_paint": first_paint(node, wanted.runs)},
        "standing": lambda: beside_nvitop(node),
        "keys": lambda: {"keys": keys(OURS, node)},
        "one_hung": lambda: {"one_hung": one_hung(node)},
        "many": lambda: {"list_of_8000": keys(MANY, node)},
    }
    document: dict[str, object] = {}
    try:
        with busy_loops(wanted.loops):
            for name in wanted.only or parts:
                document |= parts[name]()
        print(json.dumps(document, indent=2))
    finally:
        node.close()


if __name__ == "__main__":
    if "--many" in sys.argv:
        run_many()
    else:
        main()
