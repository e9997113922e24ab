"""How fresh healthy nodes stay beside bad ones: of 200, 20 are dead, 10 drip, 10 send garbage.

`hub_bad_targets.py [--seconds S] [--rounds N]` follows the 160 healthy ones alone and with the 40,
in turn, and prints the worst lateness of each second of both: its median, 99th percentile, greatest.
"""

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from hub_load import chunk
from hub_processes import (
    HERE,
    HUB_CORE,
    LOAD_CORE,
    hub_words,
    running,
    share,
    use,
    wait_for_files,
    wait_for_nodes,
)

WELL, DEAD, SLOW, GARBAGE = 160, 20, 10, 10
SETTLE_S = 10
_NOBODY = "127.0.0.1:1"
_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/msgpack\r\nTransfer-Encoding: chunked\r\n\r\n"
)
_DRIP_S = 0.1


class Found(NamedTuple):
    """Seconds by which the latest arrival of each second was late, and the share of a core."""

    late_s: list[float]
    percent: float


async def serve_bad(port_file: Path) -> None:
    """Slow and broken targets by path, until killed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            writer.write(_HEAD)
            if b"/garbage" in request:
                writer.write(chunk(b"\0\0\1\0" + b"\xff\x00garbage!" * 100_000))
                await writer.drain()
            else:
                for byte in itertools.cycle(b"\0\1\0\0"):
                    writer.write(chunk(bytes([byte])))
                    await writer.drain()
                    await asyncio.sleep(_DRIP_S)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    port_file.write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


def port_of(path: Path) -> str:
    """The port that a process writes down when it serves."""
    wait_for_files(path)
    return path.read_text()


def targets(folder: Path, well: str, bad: str) -> Path:
    """The file of targets; without a port of bad ones only the healthy."""
    listed = [f"http://127.0.0.1:{well}/n{number:03d}" for number in range(WELL)]
    if bad:
        listed += [f"http://{_NOBODY}/dead{number}" for number in range(DEAD)]
        listed += [f"http://127.0.0.1:{bad}/slow{number}" for number in range(SLOW)]
        listed += [f"http://127.0.0.1:{bad}/garbage{number}" for number in range(GARBAGE)]
    path = folder / "targets.json"
    path.write_text(json.dumps([{"targets": listed}]))
    return path


def follow(well: str, bad: str, seconds: float) -> Found:
    """A hub over these targets for a time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running(hub_words(folder, targets(folder, well, bad), "{}"), HUB_CORE) as hub:
            wait_for_nodes(WELL, hub)
            time.sleep(SETTLE_S)
            before = use(hub.pid)
            time.sleep(seconds)
            after = use(hub.pid)
            lines = [json.loads(line) for line in (folder / "probe").read_text().splitlines()]
    held = [line for line in lines if before.at <= line["at"] <= after.at]
    worst = [max(line["late_s"], line["overdue_s"]) for line in held]
    return Found(worst, share(before, after))


def row(name: str, found: list[Found]) -> str:
    """One line of the result."""
    late = sorted(second for one in found for second in one.late_s)
    p99 = late[min(int(len(late) * 0.99), len(late) - 1)]
    percent = statistics.mean(one.percent for one in found)
    return (
        f"| {name} | {1e3 * statistics.median(late):.0f} ms | {1e3 * p99:.0f} ms |"
        f" {1e3 * late[-1]:.0f} ms | {percent:.1f} % |"
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        ports = Path(name) / "well", Path(name) / "bad"
        load = [sys.executable, str(HERE / "hub_load.py"), str(ports[0]), "1"]
        spoilt = [sys.executable, __file__, "bad", str(ports[1])]
        with running(load, LOAD_CORE), running(spoilt, LOAD_CORE):
            well, bad = port_of(ports[0]), port_of(ports[1])
            alone, beside = [], []
            for _ in range(given.rounds):
                alone.append(follow(well, "", given.seconds))
                beside.append(follow(well, bad, given.seconds))
    print("| latest arrival of each second | median | p99 | worst | CPU of a core |")
    print("|---|---|---|---|---|")
    print(row(f"{WELL} healthy targets alone", alone))
    print(row(f"beside {DEAD} dead, {SLOW} slow, {GARBAGE} sending garbage", beside))


if __name__ == "__main__":
    if sys.argv[1:2] == ["bad"]:
        asyncio.run(serve_bad(Path(sys.argv[2])))
    else:
        main()
