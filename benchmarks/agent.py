"""What the agent costs at a 1 s interval (CPU, PSS), and how fast it answers a scrape."""

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

from node import Node, accelwatch

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
SCRAPES = 2000
SCRAPE_EVERY_S = 5


def free_port() -> int:
    """A port nobody uses now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def family(pid: int) -> list[int]:
    """The process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(int(child) for child in children)]


def cpu_seconds(pid: int) -> float:
    """Processor time used so far: fields 14 and 15 of /proc/PID/stat, proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def wait_ready(port: int) -> http.client.HTTPConnection:
    """A connection to the agent once it is ready."""
    for _ in range(200):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/-/ready")
            response = connection.getresponse()
            response.read()
            if response.status == 200:
                return connection
        except OSError:
            pass
        time.sleep(0.1)
    raise RuntimeError("the agent did not become ready")


def measure(port: int, pid: int) -> dict[str, object]:
    """CPU share over a time with a scrape now and then, PSS after it, latency of many scrapes."""
    connection = wait_ready(port)
    time.sleep(5)
    pids = family(pid)
    before = {one: cpu_seconds(one) for one in pids}
    began = time.monotonic()
    while time.monotonic() - began < SECONDS:
        scrape(connection)
        time.sleep(SCRAPE_EVERY_S)
    wall = time.monotonic() - began
    shares = [(cpu_seconds(one) - before[one]) / wall for one in pids]
    pss = [pss_bytes(one) for one in pids]
    times: list[float] = []
    for _ in range(SCRAPES):
        seconds, body = scrape(connection)
        times.append(seconds)
    times.sort()
    series = sum(1 for line in body.splitlines() if not line.startswith(b"#"))
    return {
        "cpu_percent_of_a_core": round(100 * sum(shares), 2),
        "cpu_percent_by_process": [round(100 * share, 2) for share in shares],
        "pss_mib": round(sum(pss) / (1 << 20), 1),
        "pss_mib_by_process": [round(one / (1 << 20), 1) for one in pss],
        "series": series,
        "scrape_median_ms": round(statistics.median(times) * 1e3, 3),
        "scrape_p99_ms": round(times[int(len(times) * 0.99)] * 1e3, 3),
    }


def main() -> None:
    """Print the figures."""
    node = Node()
    port = free_port()
    words = accelwatch("agent", f"--web.listen-address=127.0.0.1:{port}")
    agent = subprocess.Popen(words, env=node.environ(), stderr=subprocess.DEVNULL)
    try:
        print(json.dumps(measure(port, agent.pid), indent=2))
    finally:
        agent.terminate()
        agent.wait()
        node.close()


if __name__ == "__main__":
    main()
