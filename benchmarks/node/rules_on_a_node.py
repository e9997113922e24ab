"""What 60 rules cost an agent of eight devices, beside one without at once; how long `check` takes.

Memory is the proportional set size, of which what both agents share is counted half in each.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agent import Exporter, free_port
from harness.node import Node, accelwatch

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
CHECKS = 5
# 24 with windows, 12 with peers, 6 with events.
WHEN = (
    *['avg(power_watts, "5m") < 0.5'] * 8,
    *['max(temperature_celsius.gpu, "10m") > 120'] * 8,
    *['delta(energy_joules_total, "10m") < 0'] * 8,
    *['power_watts < 0.1 * peer_median(power_watts, by="model")'] * 12,
    *['event("xid", code in [48, 79], within="10s")'] * 6,
    *['state == "lost" or temperature_celsius.gpu > 120'] * 18,
)


def write_rules(folder: Path) -> Path:
    """A configuration whose rules are judged every second and never fire."""
    rules = [{"id": f"bench.r{n}", "title": "t", "when": when} for n, when in enumerate(WHEN)]
    (folder / "rules.yaml").write_text(json.dumps({"version": 1, "rules": rules}))
    file = folder / "agent.yaml"
    file.write_text("rules: {files: [rules.yaml]}\nstate_dir: state\n")
    return file


def agent(node: Node, *words: str) -> Exporter:
    """An agent that nobody asks, begun and ready."""
    port = free_port()
    command = accelwatch("agent", f"--web.listen-address=127.0.0.1:{port}", *words)
    return Exporter(command, node.environ(), port, "/-/ready")


def used_by(one: Exporter) -> dict[str, float]:
    """Percent of a core since it counts, and MiB now."""
    cpu, mib = one.used()
    return {"cpu": sum(cpu), "mib": sum(mib)}


def pair(node: Node, rules: Path) -> tuple[dict[str, float], dict[str, float]]:
    """An agent without rules and one with them in the same time: what else runs befalls both."""
    agents: list[Exporter] = []
    try:
        agents.append(agent(node))
        agents.append(agent(node, f"--config.file={rules}"))
        time.sleep(5)
        for one in agents:
            one.begin()
        time.sleep(SECONDS)
        without, with_rules = [used_by(one) for one in agents]
        return without, with_rules
    finally:
        for one in agents:
            one.close()


def check_s(node: Node, *words: str) -> float:
    """Median wall time of `accelwatch check`."""
    times: list[float] = []
    for _ in range(CHECKS):
        began = time.perf_counter()
        command = accelwatch("check", "--timeout", "10s", *words)
        subprocess.run(command, env=node.environ(), stdout=subprocess.DEVNULL, check=False)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    """Print the figures."""
    node = Node()
    with tempfile.TemporaryDirectory() as folder:
        file = write_rules(Path(folder))
        rules = str(Path(folder) / "rules.yaml")
        try:
            more = [pair(node, file) for _ in range(PAIRS)]
            spot = check_s(node, "--agent", "none", "--rules", rules)
        finally:
            node.close()
    cpu = [one["cpu"] - none["cpu"] for none, one in more]
    mib = [one["mib"] - none["mib"] for none, one in more]
    figures = {
        "pairs": more,
        "more_cpu_percent_of_a_core": round(statistics.median(cpu), 2),
        "more_mib": round(statistics.median(mib), 1),
        "check_on_the_spot_s": round(spot, 3),
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
