"""What the agent costs (CPU, PSS) and how fast it answers a scrape, beside all-smi's exporter.

Both read the same stand-in node at the same time, at the same interval, and are scraped every five
seconds; all-smi is measured where its path is given. First as it comes, then without what an exporter
does not have, and last with devices only. `--others` are so many idle processes more, as a node has.
"""

import argparse
import contextlib
import http.client
import json
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.node import Node, accelwatch
from harness.timing import cpu_seconds

SCRAPES = 2000
SCRAPE_EVERY_S = 5
EXPORTER = {"blackbox": {"enabled": False}, "usage": {"count": False}}
# Of the agent; all-smi reads processes in all but the last.
CONFIGURATIONS: Mapping[str, Mapping[str, object]] = {
    "as_it_comes": {},
    "devices_and_processes": EXPORTER,
    "devices": {**EXPORTER, "collect": {"processes": False}, "workloads": {"sources": []}},
}


def free_port() -> int:
    """A port nobody uses now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def family(pid: int) -> list[int]:
    """The process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(int(child) for child in children)]


def pss_bytes(pid: int) -> int:
    """Proportional set size."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no Pss line")


def scrape(connection: http.client.HTTPConnection) -> tuple[float, bytes]:
    """Seconds and body of one scrape."""
    began = time.perf_counter()
    connection.request("GET", "/metrics")
    body = connection.getresponse().read()
    return time.perf_counter() - began, body


def wait_ready(port: int, path: str = "/-/ready") -> http.client.HTTPConnection:
    """A connection to a server once it answers the path with 200."""
    for _ in range(200):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            if response.status == 200:
                return connection
        except OSError:
            pass
        time.sleep(0.1)
    raise RuntimeError("the server did not become ready")


class Exporter:
    """A server of /metrics with its children, and what they have used since `begin`."""

    def __init__(
        self, words: Sequence[str], environ: Mapping[str, str], port: int, ready: str
    ) -> None:
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(words, env=environ, stdout=quiet, stderr=quiet)
        self.connection = wait_ready(port, ready)
        self._before: dict[int, float] = {}
        self._began = 0.0

    def begin(self) -> None:
        """From now on it counts."""
        self._before = {pid: cpu_seconds(pid) for pid in family(self._process.pid)}
        self._began = time.monotonic()

    def used(self) -> tuple[list[float], list[float]]:
        """Percent of a core since `begin`, and MiB now, of each process."""
        wall = time.monotonic() - self._began
        cpu = [100 * (cpu_seconds(pid) - before) / wall for pid, before in self._before.items()]
        return cpu, [pss_bytes(pid) / (1 << 20) for pid in self._before]

    def figures(self) -> dict[str, object]:
        """Share of a core since `begin`, memory, number of series."""
        cpu, mib = self.used()
        _, body = scrape(self.connection)
        return {
            "cpu_percent_of_a_core": round(sum(cpu), 3),
            "cpu_percent_by_process": [round(one, 3) for one in cpu],
            "pss_mib": round(sum(mib), 1),
            "pss_mib_by_process": [round(one, 1) for one in mib],
            "series": sum(1 for line in body.splitlines() if line and not line.startswith(b"#")),
        }

    def latency(self) -> dict[str, float]:
        """Milliseconds of many scrapes, one after another."""
        times = sorted(scrape(self.connection)[0] for _ in range(SCRAPES))
        return {
            "scrape_median_ms": round(statistics.median(times) * 1e3, 3),
            "scrape_p99_ms": round(times[int(len(times) * 0.99)] * 1e3, 3),
        }

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


def with_nvidia_smi(environ: dict[str, str], folder: Path) -> dict[str, str]:
    """An environment with an `nvidia-smi` that lists a device, without which all-smi looks for none."""
    command = folder / "nvidia-smi"
    command.write_text("#!/bin/sh\necho 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)'\n")
    command.chmod(0o755)
    return {**environ, "PATH": f"{folder}:{environ['PATH']}"}


def accelwatch_agent(node: Node, interval: str, folder: Path, name: str) -> Exporter:
    """Ours, begun and ready."""
    port = free_port()
    file = folder / "agent.yaml"
    file.write_text(json.dumps({**CONFIGURATIONS[name], "state_dir": f"state-{name}"}))
    listen = f"--web.listen-address=127.0.0.1:{port}"
    words = accelwatch("agent", f"--config.file={file}", listen, f"--interval={interval}s")
    return Exporter(words, node.environ(), port, "/-/ready")


def all_smi_api(program: Path, node: Node, interval: str, folder: Path, name: str) -> Exporter:
    """all-smi's, begun and ready."""
    port = free_port()
    processes = f"--processes={str(name != 'devices').lower()}"
    words = [str(program), "api", f"-p{port}", f"-i{interval}", processes]
    return Exporter(words, with_nvidia_smi(node.environ(), folder), port, "/metrics")


def measured(node: Node, folder: Path, asked: argparse.Namespace, name: str) -> dict[str, object]:
    """What each has cost in a time in which both ran; then the latency of ours."""
    with contextlib.ExitStack() as running:
        ours = accelwatch_agent(node, asked.interval, folder, name)
        running.callback(ours.close)
        servers = {"accelwatch": ours}
        if asked.all_smi:
            peer = all_smi_api(asked.all_smi, node, asked.interval, folder, name)
            running.callback(peer.close)
            servers["all_smi"] = peer
        time.sleep(5)
        for server in servers.values():
            server.begin()
        for _ in range(asked.seconds // SCRAPE_EVERY_S):
            time.sleep(SCRAPE_EVERY_S)
            for server in servers.values():
                scrape(server.connection)
        given: dict[str, object] = {whose: server.figures() for whose, server in servers.items()}
        return {**given, "accelwatch_scrape": ours.latency()}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--interval", default="1", help="seconds, whole ones")
    parser.add_argument("--processes", type=int, default=16, help="of each device")
    parser.add_argument("--others", type=int, default=0)
    parser.add_argument("--all-smi", type=Path, help="the program")
    asked = parser.parse_args()
    others = [subprocess.Popen(["sleep", "3600"]) for _ in range(asked.others)]
    node = Node(processes=asked.processes)
    try:
        with tempfile.TemporaryDirectory(prefix="accelwatch-bench-") as folder:
            given = {name: measured(node, Path(folder), asked, name) for name in CONFIGURATIONS}
            print(json.dumps(given, indent=2))
    finally:
        node.close()
        for sleeper in others:
            sleeper.kill()
            sleeper.wait()


if __name__ == "__main__":
    main()
