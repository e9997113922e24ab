"""False alarms of all packs in an hour of a healthy fleet of 63 nodes, faster than it passes.

Jobs begin, load, train, save, end and are started again; agents and exporters are restarted; a rack is
worked on in an announced window. Ends with 1 where an incident above `info` was opened outside of it.
"""

import asyncio
import json
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from accelwatch_lab.simulator.nodes import FleetSize
from support.rules.healthy_fleet import EXPORTERS, Hour, healthy_hour
from support.rules.simulated_hub import Write

RUNS: tuple[tuple[str, FleetSize, float, Sequence[Write]], ...] = (
    ("agents, three vendors, every 5 s", FleetSize(vendor="mixed"), 5.0, ()),
    ("dcgm-exporter and node_exporter, every 30 s", FleetSize(vendor="nvidia"), 30.0, EXPORTERS),
)


def report(name: str, hour: Hour, seconds: float) -> dict[str, object]:
    """What is printed of a run."""
    return {
        "fleet": name,
        "above_info": [f"{one.rule} {' '.join(one.nodes)}" for one in hour.serious],
        "in_the_window": len(hour.announced),
        "notes": len(hour.notes),
        "problems": hour.problems,
        "cpu_s": round(seconds, 1),
    }


def main() -> int:
    """Play every run; 1 where somebody would have been woken."""
    logging.disable()
    woken = 0
    for name, size, interval_s, exporters in RUNS:
        began = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            hour = asyncio.run(healthy_hour(size, Path(folder), interval_s, exporters))
        woken += len(hour.serious)
        print(json.dumps(report(name, hour, time.process_time() - began)))
    return 1 if woken else 0


if __name__ == "__main__":
    sys.exit(main())
