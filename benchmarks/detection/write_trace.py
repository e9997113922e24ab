"""Writes a trace: an archive (docs/history.md) of a fleet on which things break, the truth beside it.

    python benchmarks/detection/write_trace.py FOLDER [--seed 0] [--days 55] [--nodes 63]
        [--interval 30] [--fault-rate 1] [--group-rate 1]

The archive is in FOLDER/archive, the truth in FOLDER/truth.ndjson. Same arguments, same bytes.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rules"))

from traces.character import Settings
from traces.fleet import Trace


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--days", type=float, default=55.0)
    parser.add_argument("--nodes", type=int, default=63)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--interval", type=float, default=30.0)
    parser.add_argument("--fault-rate", type=float, default=1.0, help="times the published rate")
    parser.add_argument("--group-rate", type=float, default=1.0, help="times the rate of faults")
    given = parser.parse_args()
    settings = Settings(
        given.seed,
        given.nodes,
        given.devices,
        given.days,
        given.interval,
        given.fault_rate,
        given.group_rate,
    )
    given.folder.mkdir(parents=True, exist_ok=True)
    Trace(settings).write(given.folder)


if __name__ == "__main__":
    main()
