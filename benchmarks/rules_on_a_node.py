"""What 60 rules cost an agent of eight devices, in pairs with and without; how long `check` takes."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agent import cpu_seconds, family, free_port, pss_bytes, wait_ready
from node import Node, accelwatch

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
CHECKS = 5
WHEN = (
    *['avg(power_watts, "5m") < 0.5'] * 8,
    *['max(temperature_celsius.gpu, "10m") > 120'] * 8,
    *['delta(energy_joules_total, "10m") < 0'] * 8,
    *['power_watts < 0.1 * peer_median(power_watts, by="model")'] * 12,
    *['event("xid", code in [48, 79], within="10s")'] * 6,
    *['state == "lost" or temperature_celsius.gpu > 120'] * 18,
)
"""24 with windows, 12 with peers, 6 with events."""


def write_rules(folder: Path) -> Path:
    """A configuration whose rules are judged every second and never fire."""
    rules = [{"id": f"bench.r{n}", "title": "t", "when": when} for n, when in enumerate(WHEN)]
    (folder / "rules.yaml").write_text(json.dumps({"version": 1, "rules": rules}))
    file = folder / "agent.yaml"
    file.write_text("rules: {files: [rules.yaml]}\nstate_dir: state\n")
    return file


def measured(node: Node, *words: str) -> dict[str, float]:
    """Processor share and memory of an agent that nobody asks."""
    port = free_port()
    command = accelwatch("agent", f"--web.listen-address=127.0.0.1:{port}", *words)
    agent = subprocess.Popen(command, env=node.environ(), stderr=subprocess.DEVNULL)
    try:
        wait_ready(port).close()
        time.sleep(5)
        pids = family(agent.pid)
        before, began = sum(map(cpu_seconds, pids)), time.monotonic()
        time.sleep(SECONDS)
        share = (sum(map(cpu_seconds, pids)) - before) / (time.monotonic() - began)
        return {"cpu": 100 * share, "mib": sum(map(pss_bytes, pids)) / (1 << 20)}
    finally:
        agent.terminate()
        agent.wait()


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
            more = [(measured(node), measured(node, f"--config.file={file}")) for _ in range(PAIRS)]
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
