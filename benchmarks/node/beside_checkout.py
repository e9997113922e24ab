"""Agent and dashboard beside those of another checkout, in turn: CPU and memory of each.

`beside_checkout.py CHECKOUT [--rounds 3] [--seconds 60]`. CHECKOUT has a virtual environment of its own
in `.venv`. A round is ours, theirs for the agent, then for the dashboard, each over the same node of
eight devices, the agent without rules and scraped every five seconds. CPU is the processor time of all
their processes.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from sys import executable

from agent import SCRAPE_EVERY_S, Exporter, free_port, scrape
from harness.node import Node
from harness.terminal import Terminal

Figures = dict[str, float]
Measure = Callable[[Path, Node, float], Figures]


def program(checkout: Path) -> str:
    """The installed command of a checkout."""
    return str(checkout / ".venv" / "bin" / "accelwatch")


def agent(checkout: Path, node: Node, seconds: float) -> Figures:
    """An agent as it comes, with a state folder of its own."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="accelwatch-bench-") as folder:
        words = [program(checkout), "agent", f"--web.listen-address=127.0.0.1:{port}"]
        server = Exporter([*words, f"--state-dir={folder}/state"], node.environ(), port, "/-/ready")
        try:
            time.sleep(10)
            server.begin()
            for _ in range(int(seconds / SCRAPE_EVERY_S)):
                time.sleep(SCRAPE_EVERY_S)
                scrape(server.connection)
            cpu, mib = server.used()
            return {"cpu_percent": sum(cpu), "pss_mib": sum(mib)}
        finally:
            server.close()


def dashboard(checkout: Path, node: Node, seconds: float) -> Figures:
    """The dashboard in a terminal, at its usual interval of 2 s."""
    terminal = Terminal([program(checkout)], node.environ())
    try:
        if terminal.wait_for(rb"nvidia7 .*\d+%", 60) is None:
            raise RuntimeError(f"the dashboard of {checkout} shows no devices")
        terminal.drain(10)
        before, began = terminal.cpu_s(), time.monotonic()
        terminal.drain(seconds)
        cpu_s, wall = terminal.cpu_s() - before, time.monotonic() - began
        return {"cpu_percent": 100 * cpu_s / wall, "pss_mib": terminal.memory_mib()["pss"]}
    finally:
        terminal.kill()


MEASURES: Mapping[str, Measure] = {"agent": agent, "dashboard": dashboard}


def compared(ours: list[Figures], theirs: list[Figures], name: str) -> dict[str, object]:
    """Every figure of both, and the ratio of the medians."""
    values = [[round(figures[name], 3) for figures in each] for each in (ours, theirs)]
    ratio = statistics.median(values[0]) / statistics.median(values[1])
    return {"ours": values[0], "theirs": values[1], "ratio_of_medians": round(ratio, 3)}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", action="append", choices=MEASURES)
    options = parser.parse_args()
    # This environment's own Python: `executable` is in `.venv/bin` of this checkout.
    checkouts = (Path(executable).parents[2], options.checkout.resolve())
    figures: dict[str, tuple[list[Figures], list[Figures]]] = {
        name: ([], []) for name in options.only or MEASURES
    }
    node = Node()
    try:
        for _ in range(options.rounds):
            for name, both in figures.items():
                for checkout, found in zip(checkouts, both, strict=True):
                    found.append(MEASURES[name](checkout, node, options.seconds))
    finally:
        node.close()
    document = {
        name: {figure: compared(*both, figure) for figure in ("cpu_percent", "pss_mib")}
        for name, both in figures.items()
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
