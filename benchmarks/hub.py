"""What a hub costs that follows many nodes by stream: CPU, memory, lateness, latency of its API.

A load process on one core serves the compact stream of every node under a path of one port; the hub runs
on another core. `hub.py [NODES] [SECONDS]` prints one JSON document.
"""

import asyncio
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import machines
from accelwatch.agent.stream import MSGPACK, framed
from accelwatch.schema.compact import CompactEncoder, Layout, Tick
from accelwatch.schema.reading import complete

DEVICES = 8
SERIES = 86
SETTLE_S = 15
QUERIES = 200


def measured_snapshot() -> list[object]:
    """Messages of a node with 8 devices of 86 series."""
    views = []
    for index in range(DEVICES):
        view = machines.view(index)
        values = dict(view.reading.values)
        for number in range(SERIES - len(values)):
            values["interconnect_lane_errors_total", "nvlink", str(number), "crc"] = number
        reading = msgspec.structs.replace(view.reading, values=values)
        views.append(msgspec.structs.replace(view, reading=complete(reading, frozenset())))
    return list(CompactEncoder().messages(machines.snapshot(*views)))


def node_layouts(messages: list[object], name: str) -> bytes:
    """Hello and layouts with identities of the node's own."""
    found = b""
    for message in messages:
        if isinstance(message, Layout):
            uuid = f"GPU-{name}-{message.slot}"
            device = msgspec.structs.replace(message.device, id=f"nvidia:{uuid}", uuid=uuid)
            found += framed(msgspec.structs.replace(message, device=device), MSGPACK)
        elif not isinstance(message, Tick):
            found += framed(message, MSGPACK)  # type: ignore[arg-type]  # a message
    return found


async def load(port_file: Path) -> None:
    """Serve streams until killed; every node ticks once a second, at its own moment of it."""
    messages = measured_snapshot()
    tick = messages[-1]
    assert isinstance(tick, Tick)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {MSGPACK}\r\nTransfer-Encoding: chunked\r\n\r\n"

    def chunk(body: bytes) -> bytes:
        return f"{len(body):x}\r\n".encode() + body + b"\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        name = request.split(" ", 2)[1].split("/")[1]
        writer.write(head.encode() + chunk(node_layouts(messages, name)))
        sequence = 0
        due = time.monotonic()
        while not writer.is_closing():
            sequence += 1
            now = time.time()
            devices = tuple(msgspec.structs.replace(one, sample_time=now) for one in tick.devices)
            told = Tick(sequence=sequence, time=now, devices=devices)
            writer.write(chunk(framed(told, MSGPACK)))
            due += 1.0
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=4096)
    port_file.write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


def cpu_seconds(pid: int) -> float:
    """Processor time used so far: fields 14 and 15 of /proc/PID/stat, proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid: int) -> float:
    """Resident memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def ask(port: int, path: str) -> tuple[float, bytes]:
    """Milliseconds and body of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    began = time.perf_counter()
    connection.request("GET", path)
    body = connection.getresponse().read()
    taken = (time.perf_counter() - began) * 1e3
    connection.close()
    return taken, body


def latencies(port: int, path: str, count: int) -> dict[str, float]:
    """Median and p99 of requests, milliseconds."""
    taken = sorted(ask(port, path)[0] for _ in range(count))
    return {
        "median_ms": round(statistics.median(taken), 2),
        "p99_ms": round(taken[min(int(count * 0.99), count - 1)], 2),
    }


def measure(port: int, pid: int, nodes: int, seconds: int) -> dict[str, object]:
    """CPU share and lateness over a time, then memory and latencies."""
    deadline = time.monotonic() + 60
    while json.loads(ask(port, "/v1/fleet")[1])["nodes"]["up"] < nodes:
        if time.monotonic() > deadline:
            raise RuntimeError(
                "the hub does not see every node: " + ask(port, "/v1/fleet")[1].decode()
            )
        time.sleep(0.5)
    time.sleep(SETTLE_S)
    before, began, worst = cpu_seconds(pid), time.monotonic(), 0.0
    first = rss_mib(pid)
    while time.monotonic() - began < seconds:
        time.sleep(5)
        page = json.loads(ask(port, f"/v1/nodes?limit={nodes}")[1])
        worst = max(worst, *(node["age_s"] for node in page["nodes"]))
    share = (cpu_seconds(pid) - before) / (time.monotonic() - began)
    return {
        "nodes": nodes,
        "devices": nodes * DEVICES,
        "series": nodes * DEVICES * SERIES,
        "seconds": seconds,
        "cpu_percent_of_a_core": round(100 * share, 1),
        "oldest_age_s": worst,
        "rss_mib_first": round(first, 1),
        "rss_mib_last": round(rss_mib(pid), 1),
        "whole_fleet": latencies(port, "/v1/devices?limit=20000", 10),
        "filtered_page": latencies(port, "/v1/devices?limit=100&filter=power_watts%3E648", QUERIES),
        "filter_that_finds_nothing": latencies(
            port, "/v1/devices?limit=100&filter=power_watts%3E5000", QUERIES
        ),
        "fleet": latencies(port, "/v1/fleet", QUERIES),
    }


def hub_words(targets: Path, folder: str) -> list[str]:
    """The hub as a process of its own."""
    code = "import typer; from accelwatch.cli.hub import hub_command; typer.run(hub_command)"
    return [
        *("taskset", "-c", "1", sys.executable, "-c", code),
        *("--targets-file", str(targets), "--web.listen-address", "127.0.0.1:19878"),
        *("--state-dir", folder),
    ]


def main() -> None:
    """Print the figures."""
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder) / "port"
        words = ["taskset", "-c", "0", sys.executable, __file__, "load", str(port_file)]
        source = subprocess.Popen(words)
        while not port_file.exists() or not port_file.read_text():
            time.sleep(0.1)
        base = f"http://127.0.0.1:{port_file.read_text()}"
        targets = Path(folder) / "targets.json"
        listed = [
            {"targets": [f"{base}/n{number:04d}"], "labels": {"node": f"n{number:04d}"}}
            for number in range(nodes)
        ]
        targets.write_text(json.dumps(listed))
        hub = subprocess.Popen(hub_words(targets, folder), stderr=subprocess.DEVNULL)
        try:
            time.sleep(3)
            print(json.dumps(measure(19878, hub.pid, nodes, seconds), indent=2))
        finally:
            hub.terminate()
            source.kill()
            hub.wait()
            source.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["load"]:
        asyncio.run(load(Path(sys.argv[2])))
    else:
        main()
