"""From a fault in the driver to an incident, and to a webhook, beside Prometheus and Alertmanager.

`fault_to_alert.py [FAULTS]`. The agent reads and judges once a second; Prometheus scrapes the same agent
and evaluates once a second, its Alertmanager waits for nobody (`group_wait: 0s`), and both tell the same
receiver. A device of the stand-in library is lost at a random moment; what counts is the time until the
agent's page has the incident, and until each notice has arrived. The page is asked every 20 ms.
"""

import http.client
import http.server
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent import free_port, wait_ready
from node import Node, accelwatch

FAULTS = int(sys.argv[1]) if len(sys.argv) > 1 else 24
GIVEN_UP_S = 30.0
POLL_S = 0.02
CALM_S = 3.0
"""Between the end of a fault and the next: whatever was told has ended by then."""
GOALS = {"incident": 1.2, "webhook": 1.4}
RULES = """\
version: 1
defaults: {keep: 0, cooldown: 0}
rules: [{id: gpu.lost, title: GPU is lost, when: 'state == "lost"', severity: critical}]
"""
PROMETHEUS_RULES = """\
groups: [{name: gpu, rules: [{alert: lost, expr: accel_device_up == 0}]}]
"""


class Receiver(http.server.ThreadingHTTPServer):
    """Notes when a webhook first told of a device, by path and name of the device."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Note)
        self.arrived: dict[tuple[str, str], float] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def take(self, path: str, body: dict[str, Any]) -> None:
        """Our notice, or Alertmanager's message."""
        now = time.monotonic()
        if path == "/ours":
            if body["type"] == "incident.opened":
                self.arrived.setdefault((path, body["data"]["labels"]["device"]), now)
            return
        for alert in body["alerts"]:
            if alert["status"] == "firing":
                self.arrived.setdefault((path, alert["labels"]["uuid"]), now)


class _Note(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert isinstance(self.server, Receiver)
        self.server.take(self.path, body)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


class Servers:
    """An agent, and Prometheus with its Alertmanager where they are installed."""

    def __init__(self, node: Node, folder: Path, receiver: Receiver) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self.folder = folder
        base = f"http://127.0.0.1:{receiver.server_port}"
        self.port = free_port()
        (folder / "rules.yaml").write_text(RULES)
        (folder / "agent.yaml").write_text(
            "collect: {backends: [nvidia]}\nstate_dir: state\nrules: {files: [rules.yaml]}\n"
            f"web: {{listen_address: '127.0.0.1:{self.port}'}}\nalerts:\n  storm_wait: 0\n"
            f"  sinks: [{{name: a, type: webhook, options: {{url: '{base}/ours'}}}}]\n"
        )
        self._start(accelwatch("agent", f"--config.file={folder / 'agent.yaml'}"), node.environ())
        wait_ready(self.port).close()
        prometheus = shutil.which("prometheus")
        alertmanager = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
        self.compares = prometheus is not None and alertmanager is not None
        if prometheus is not None and alertmanager is not None:
            self._compare(prometheus, alertmanager, f"{base}/theirs")

    def _compare(self, prometheus: str, alertmanager: str, url: str) -> None:
        port, at = free_port(), free_port()
        (self.folder / "alertmanager.yaml").write_text(
            "route: {receiver: a, group_by: ['...'], group_wait: 0s, group_interval: 1s}\n"
            f"receivers: [{{name: a, webhook_configs: [{{url: '{url}'}}]}}]\n"
        )
        (self.folder / "fault.yaml").write_text(PROMETHEUS_RULES)
        (self.folder / "prometheus.yaml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
            "rule_files: [fault.yaml]\n"
            f"scrape_configs: [{{job_name: a, static_configs: [{_target(self.port)}]}}]\n"
            f"alerting: {{alertmanagers: [{{static_configs: [{_target(at)}]}}]}}\n"
        )
        self._start(
            [
                *(alertmanager, f"--config.file={self.folder / 'alertmanager.yaml'}"),
                *(f"--storage.path={self.folder / 'am'}", "--cluster.listen-address="),
                *(f"--web.listen-address=127.0.0.1:{at}", "--log.level=error"),
            ]
        )
        self._start(
            [
                *(prometheus, f"--config.file={self.folder / 'prometheus.yaml'}"),
                *(f"--storage.tsdb.path={self.folder / 'tsdb'}", "--log.level=error"),
                f"--web.listen-address=127.0.0.1:{port}",
            ]
        )
        path = "/api/v1/query?query=count(accel_device_up)"
        waited(lambda: b'"value"' in asked(port, path), 60.0)

    def _start(self, words: list[str], environ: dict[str, str] | None = None) -> None:
        log = subprocess.DEVNULL
        self.processes.append(subprocess.Popen(words, env=environ, stdout=log, stderr=log))

    def incidents(self) -> set[str]:
        """Names of the devices of open incidents."""
        page = json.loads(asked(self.port, "/v1/incidents"))
        return {str(one["device_name"]) for one in page["incidents"]}

    def end(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(20)


def _target(port: int) -> str:
    return f"{{targets: ['127.0.0.1:{port}']}}"


def asked(port: int, path: str) -> bytes:
    """A page, empty when nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    except OSError:
        return b""
    finally:
        connection.close()


def waited(condition: Callable[[], bool], most_s: float = GIVEN_UP_S) -> float | None:
    """The moment at which it became true; None if it never did."""
    until = time.monotonic() + most_s
    while time.monotonic() < until:
        if condition():
            return time.monotonic()
        time.sleep(POLL_S)
    return None


def measured(node: Node, servers: Servers, receiver: Receiver, device: int) -> dict[str, float]:
    """Seconds until each of them knows of a lost device."""
    receiver.arrived.clear()
    time.sleep(random.uniform(0.0, 1.0))
    name, uuid = f"nvidia{device}", node.scenario.values[f"device.{device}.uuid"]
    began = time.monotonic()
    node.scenario.lose(device).write()
    seen = waited(lambda: name in servers.incidents())
    told = [("webhook", "/ours", name)]
    if servers.compares:
        told.append(("alertmanager", "/theirs", uuid))
    waited(lambda: all((path, key) in receiver.arrived for _, path, key in told))
    node.scenario.unset(device, "lost").write()
    waited(lambda: not servers.incidents())
    time.sleep(CALM_S)
    lost = float("inf")
    times = {"incident": lost if seen is None else seen - began}
    for what, path, key in told:
        times[what] = receiver.arrived.get((path, key), lost) - began
    return times


def figures(runs: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Median, p95, p99 and the slowest of each."""
    told: dict[str, dict[str, float]] = {}
    for what in runs[0]:
        times = sorted(run[what] for run in runs)
        told[what] = {
            "median_s": round(statistics.median(times), 3),
            "p95_s": round(times[round(0.95 * (len(times) - 1))], 3),
            "p99_s": round(times[round(0.99 * (len(times) - 1))], 3),
            "max_s": round(times[-1], 3),
        }
        if what in GOALS:
            told[what]["goal_p99_s"] = GOALS[what]
    return told


def main() -> None:
    """Print the figures."""
    node, receiver = Node(), Receiver()
    with tempfile.TemporaryDirectory() as folder:
        servers = Servers(node, Path(folder), receiver)
        try:
            time.sleep(CALM_S)
            runs = [measured(node, servers, receiver, at % 8) for at in range(FAULTS)]
        finally:
            servers.end()
            node.close()
    load = [round(one, 1) for one in os.getloadavg()]
    print(json.dumps({"faults": FAULTS, "load": load, "until": figures(runs)}, indent=2))


if __name__ == "__main__":
    main()
