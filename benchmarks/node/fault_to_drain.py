"""From a fault in the driver to a drained node, beside Prometheus, Alertmanager and a webhook.

`fault_to_drain.py [FAULTS]`. A real Slurm, an agent behind TLS that reads once a second, and a hub with
one rule that acts. Prometheus scrapes the same agent and evaluates once a second, its Alertmanager waits
for nobody, and its webhook calls scontrol. A device of the stand-in library is lost at a random moment;
the hub drains one node of the cluster, the webhook another, and what counts is when Slurm shows each of
them drained. It is asked every 20 ms for both at once.
"""

import contextlib
import http.server
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from alerting import begin_alerting, figures, started, waited
from support.slurm.lab_cluster import WorkingSlurm, working_slurm
from support.slurm.site import SlurmSite, slurm_site

FAULTS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
OURS, THEIRS = "n1", "n4"
# Between the end of a fault and the next: Alertmanager has told of it by then.
CALM_S = 2.0
GOALS = {"hub": 1.5}


class Drainer(http.server.ThreadingHTTPServer):
    """The webhook of an Alertmanager: drains a node when an alert fires."""

    def __init__(self, slurm: WorkingSlurm) -> None:
        super().__init__(("127.0.0.1", 0), _Webhook)
        self._slurm = slurm
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def take(self, body: dict[str, Any]) -> None:
        """A message of an Alertmanager."""
        if any(alert["status"] == "firing" for alert in body["alerts"]):
            self._slurm.scontrol("update", f"nodename={THEIRS}", "state=drain", "reason=lost")


class _Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert isinstance(self.server, Drainer)
        self.server.take(body)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


def drained(slurm: WorkingSlurm) -> set[str]:
    """Nodes that Slurm shows as drained."""
    lines = slurm.scontrol("-o", "show", "node", f"{OURS},{THEIRS}").splitlines()
    return {line.split()[0].partition("=")[2] for line in lines if "DRAIN" in line}


def seen_by(is_so: Callable[[], set[str]], wanted: set[str]) -> dict[str, float]:
    """The moment at which each of them was seen; infinite if it never was."""
    times = dict.fromkeys(wanted, float("inf"))

    def all_seen() -> bool:
        for one in is_so() & wanted:
            times[one] = min(times[one], time.monotonic())
        return max(times.values()) < float("inf")

    waited(all_seen)
    return times


def measured(site: SlurmSite, compares: bool) -> dict[str, float]:
    """Seconds until each of them has drained its node."""
    slurm = site.slurm
    time.sleep(random.uniform(0.0, 1.0))
    began = time.monotonic()
    site.lose(OURS)
    seen = seen_by(lambda: drained(slurm), {OURS, THEIRS} if compares else {OURS})
    site.repair(OURS)
    waited(lambda: not site.get("/v1/remedies")["remedies"])
    time.sleep(CALM_S)
    if THEIRS in drained(slurm):
        slurm.scontrol("update", f"nodename={THEIRS}", "state=resume")
    names = {OURS: "hub", THEIRS: "alertmanager"}
    return {names[node]: at - began for node, at in seen.items()}


def main() -> None:
    """Print the figures."""
    with contextlib.ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="slurm", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(temporary))
        slurm = stack.enter_context(working_slurm(folder))
        (folder / "site").mkdir()
        nodes = (OURS, "n5")
        site = stack.enter_context(
            slurm_site(folder / "site", slurm, nodes, interval="1s", rules_interval="1s")
        )

        def begin(words: list[str]) -> None:
            process = started(words)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        scrape = (
            f", scheme: https, tls_config: {{ca_file: {site.ca_file}}}"
            f", basic_auth: {{username: hub, password_file: {site.password_file}}}"
        )
        url = f"http://127.0.0.1:{Drainer(slurm).server_port}/"
        compares = begin_alerting(folder, site.agents[OURS].address, url, begin, scrape)
        runs = [measured(site, compares) for _ in range(FAULTS)]
    load = [round(one, 1) for one in os.getloadavg()]
    print(json.dumps({"faults": FAULTS, "load": load, "until": figures(runs, GOALS)}, indent=2))


if __name__ == "__main__":
    main()
