"""From a fault in the driver to an incident, and to a webhook, beside Prometheus and Alertmanager.

`fault_to_alert.py [FAULTS]`. The agent reads and judges once a second; Prometheus scrapes the same agent
and evaluates once a second, its Alertmanager waits for nobody (`group_wait: 0s`), and both tell the same
receiver. A device of the stand-in library is lost at a random moment; what counts is the time until the
agent's page has the incident, and until each notice has arrived. The page is asked every 20 ms.
"""

import http.server
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from agent import free_port, wait_ready
from alerting import asked, begin_alerting, figures, started, waited
from harness.node import Node, accelwatch

FAULTS = int(sys.argv[1]) if len(sys.argv) > 1 else 24
# Between the end of a fault and the next: whatever was told has ended by then.
CALM_S = 3.0
GOALS = {"incident": 1.2, "webhook": 1.4}
RULES = """\
version: 1
defaults: {keep: 0, cooldown: 0}
rules: [{id: gpu.lost, title: GPU is lost, when: 'state == "lost"', severity: critical}]
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
        base = f"http://127.0.0.1:{receiver.server_port}"
        self.port = free_port()
        (folder / "rules.yaml").write_text(RULES)
        (folder / "agent.yaml").write_text(
            "collect: {backends: [nvidia]}\nstate_dir: state\nrules: {files: [rules.yaml]}\n"
            f"web: {{listen_address: '127.0.0.1:{self.port}'}}\nalerts:\n  storm_wait: 0\n"
            f"  sinks: [{{name: a, type: webhook, options: {{url: '{base}/ours'}}}}]\n"
        )
        words = accelwatch("agent", f"--config.file={folder / 'agent.yaml'}")
        self.processes.append(started(words, node.environ()))
        wait_ready(self.port).close()
        self.compares = begin_alerting(
            folder,
            f"127.0.0.1:{self.port}",
            f"{base}/theirs",
            lambda words: self.processes.append(started(words)),
        )

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


def measured(node: Node, servers: Servers, receiver: Receiver, device: int) -> dict[str, float]:
    """Seconds until each of them knows of a lost device."""
    receiver.arrived.clear()
    time.sleep(random.uniform(0.0, 1.0))
    name, uuid = f"nvidia{device}", node.scenario.values[f"device.{device}.uuid"]
    began = time.monotonic()
    node.scenario.lose(device).write()
    seen = waited(lambda: name in servers.incidents())
    notified = [("webhook", "/ours", name)]
    if servers.compares:
        notified.append(("alertmanager", "/theirs", uuid))
    waited(lambda: all((path, key) in receiver.arrived for _, path, key in notified))
    node.scenario.unset(device, "lost").write()
    waited(lambda: not servers.incidents())
    time.sleep(CALM_S)
    lost = float("inf")
    times = {"incident": lost if seen is None else seen - began}
    for what, path, key in notified:
        times[what] = receiver.arrived.get((path, key), lost) - began
    return times


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
    print(json.dumps({"faults": FAULTS, "load": load, "until": figures(runs, GOALS)}, indent=2))


if __name__ == "__main__":
    main()
