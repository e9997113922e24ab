"""The Fleet screen in a terminal of 140 by 50 with 8,000 devices and a tick a second.

The ticks are bytes that are decoded as a client of the hub does it; every figure of every device is
another one each time. Gives first paint, share of a core, and milliseconds from a key to the row or
light drawn.
"""

import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dashboard import percentile, spread
from harness.terminal import ESCAPES, Terminal

NODES, DEVICES = 1000, 8
SECONDS = 20.0
RUNS = 5
KEYS = 200
FRAMES = 8
TAIL = 8192
RUN = [sys.executable, __file__, "--run"]
SELECTED = "▌● up +".encode()
FORMS: dict[str, dict[str, object]] = {
    "list": {},
    "by_user": {"fleet_group": "user"},
    "map": {"fleet_form": "grid"},
    "list_with_events": {"fleet_events": True},
}


def environ(home: str) -> dict[str, str]:
    """No settings of this user, and where the tests' modules are."""
    tests = str(Path(__file__).parents[2] / "tests")
    path = os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "HOME": home, "PYTHONPATH": path, "LANG": "C.UTF-8"}


def started(home: str, form: str) -> Terminal:
    """The program in one form, once it shows the fleet."""
    terminal = Terminal([*RUN, json.dumps(FORMS[form])], environ(home))
    terminal.wait_for(rb"1000 nodes", 30)
    terminal.drain(2)
    return terminal


def first_paint(home: str) -> dict[str, float]:
    """Seconds from the start to the first row of a node."""
    times = []
    for _ in range(RUNS):
        terminal = Terminal([*RUN, "{}"], environ(home))
        terminal.wait_for(SELECTED + rb"n0001", 30)
        times.append(time.perf_counter() - terminal.began)
        terminal.kill()
    return spread(times)


def standing(home: str, form: str) -> dict[str, object]:
    """Share of a core, memory, and bytes to the terminal."""
    terminal = started(home, form)
    before, written = terminal.cpu_s(), len(terminal.output)
    terminal.drain(SECONDS)
    used, sent = terminal.cpu_s() - before, len(terminal.output) - written
    memory = terminal.memory_mib()
    terminal.kill()
    return {
        "cpu_percent_of_a_core": round(100 * used / SECONDS, 1),
        "memory_mib": memory,
        "bytes_a_second": round(sent / SECONDS),
    }


def drawn(terminal: Terminal, pressed: bytes, wanted: bytes) -> float | None:
    """Seconds from a key to what it should draw; only the last of the output is looked through."""
    pattern, tail = re.compile(wanted), b""
    terminal.press(pressed)
    began = time.perf_counter()
    while (left := 5 - (time.perf_counter() - began)) > 0:
        terminal.output = b""
        tail = (tail + terminal.read(left))[-TAIL:]
        if pattern.search(ESCAPES.sub(b"", tail)):
            return time.perf_counter() - began
    return None


def keys(home: str, form: str) -> dict[str, object]:
    """Milliseconds from a key to what it selects: a row of the list, a light of the map."""
    terminal = started(home, form)
    times: list[float] = []
    here, step = 0, 1
    for number in range(KEYS):
        step = 1 if here == 0 else -1 if here == 7 else step
        here += step
        if form == "map":
            pressed, wanted = (b"\x1b[C" if step > 0 else b"\x1b[D"), b"nvidia%d  " % here
        else:
            pressed, wanted = (b"j" if step > 0 else b"k"), SELECTED + b"n%04d" % (here + 1)
        waited = drawn(terminal, pressed, wanted)
        if waited is None:
            terminal.kill()
            return {"lost_key": number}
        times.append(waited * 1000)
        terminal.drain(0.017 * (number % 11))
    terminal.press(b"q")
    ended_s = terminal.ended_after(20)
    return {
        "p50_ms": round(percentile(times, 0.5), 1),
        "p99_ms": round(percentile(times, 0.99), 1),
        "max_ms": round(max(times), 1),
        "keys": KEYS,
        "quit_s": None if ended_s is None else round(ended_s, 2),
    }


def run(preferences: dict[str, Any]) -> None:
    """The program that is measured."""
    import asyncio

    import msgspec

    from accelwatch.fleet.wire import DeviceNow, FleetDocument, NodeNow
    from accelwatch.tui.app import Dashboard
    from support.dashboards.fleets import FedFleet, event, fleet_view, values
    from support.dashboards.local import board_of

    class Tick(msgspec.Struct):
        sums: FleetDocument
        nodes: tuple[NodeNow, ...]
        devices: tuple[DeviceNow, ...]

    bare = fleet_view(NODES, DEVICES, events=[event(number) for number in range(500)])
    names = [f"n{number:04d}" for number in range(1, NODES + 1)]
    shown = dict(zip((node.node for node in bare.nodes), names, strict=True))
    view = msgspec.structs.replace(
        bare,
        nodes=[NodeNow(name, "up", 0.4, 0) for name in names],
        node_labels={shown[name]: labels for name, labels in bare.node_labels.items()},
        slots=[
            msgspec.structs.replace(place, node=shown[place.node]) if place else None
            for place in bare.slots
        ],
        events=[msgspec.structs.replace(one, node="n0001") for one in bare.events],
    )

    def frame(number: int) -> bytes:
        devices = [
            msgspec.structs.replace(now, values=values(now.slot + number)) for now in view.devices
        ]
        return msgspec.msgpack.encode(Tick(view.sums, tuple(view.nodes), tuple(devices)))

    frames = [frame(number) for number in range(FRAMES)]
    decoder = msgspec.msgpack.Decoder(Tick)

    class Ticking(FedFleet):
        async def run(self, changed):  # type: ignore[no-untyped-def]
            number = 0
            while True:
                tick = decoder.decode(frames[number % FRAMES])
                number += 1
                self.view = msgspec.structs.replace(
                    view,
                    sequence=number,
                    time=time.time(),
                    arrived_s=time.monotonic(),
                    sums=tick.sums,
                    nodes=tick.nodes,
                    devices=tick.devices,
                )
                changed()
                await asyncio.sleep(1)

    Dashboard(board_of(**preferences), None, fleet=Ticking(None)).run()


def main() -> None:
    """One JSON document."""
    with tempfile.TemporaryDirectory() as home:
        document = {
            "devices": NODES * DEVICES,
            "first_paint_s": first_paint(home),
            "standing": {form: standing(home, form) for form in FORMS},
            "keys": {form: keys(home, form) for form in ("list", "map", "list_with_events")},
        }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    if "--run" in sys.argv:
        run(json.loads(sys.argv[-1]))
    else:
        main()
