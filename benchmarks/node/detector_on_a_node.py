"""What the pack `detector` costs an agent of eight devices, beside one without at once.

Both have the packs `nvidia`, `kernel` and `host`. Memory is the proportional set size, of which what
both agents share is counted half in each.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from agent import Exporter
from harness.node import Node
from rules_on_a_node import agent, used_by

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
PACKS = "nvidia, kernel, host"


def write_settings(folder: Path, packs: str) -> str:
    """The flag of a configuration with these packs."""
    folder.mkdir()
    file = folder / "agent.yaml"
    file.write_text(f"rules: {{packs: [{packs}]}}\nstate_dir: state\n")
    return f"--config.file={file}"


def pair(node: Node, folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """An agent without the detector and one with it in the same time."""
    agents: list[Exporter] = []
    try:
        for name, packs in (("without", PACKS), ("with", f"{PACKS}, detector")):
            agents.append(agent(node, write_settings(folder / name, packs)))
        time.sleep(20)
        for each in agents:
            each.begin()
        time.sleep(SECONDS)
        without, with_detector = [used_by(each) for each in agents]
        return without, with_detector
    finally:
        for each in agents:
            each.close()


def main() -> None:
    """Print the figures."""
    node = Node()
    pairs = []
    try:
        for _ in range(PAIRS):
            with tempfile.TemporaryDirectory() as folder:
                pairs.append(pair(node, Path(folder)))
    finally:
        node.close()
    figures = {
        "pairs": pairs,
        "more_cpu_percent_of_a_core": round(
            statistics.median(detecting["cpu"] - plain["cpu"] for plain, detecting in pairs), 2
        ),
        "more_mib": round(
            statistics.median(detecting["mib"] - plain["mib"] for plain, detecting in pairs), 1
        ),
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
