"""False alarms of all packs on healthy fleets, by kind of fleet.

    python benchmarks/rules/false_alarms.py [--days 14] [--seed 0] [--kind research] [--folder KEEP]

Of each kind (one large training, many small jobs, inference with its days and nights, all of them mixed)
an archive of 63 nodes of 8 devices is made, a sample each 30 s, with the nuisances of every site and no
fault, and played through the back-test. Ends with 1 where a kind has more than 0.4 alarms or 3 watches
a day, or advice to act on a node.
"""

import argparse
import collections
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from accelwatch.alerting.rules.document import Advice
from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.line import Line
from accelwatch.fleet.backtest.run import final_lines
from healthy_fleets.archive import HealthyFleet
from healthy_fleets.jobs import KINDS

# A day, at most.
ALARMS, WATCHES = 0.4, 3.0
_ACTS = frozenset({Advice.RESET, Advice.REBOOT, Advice.REPLACE, Advice.EXCLUDE})
_DAY_S = 86_400


def lines_of(folder: Path) -> list[Line]:
    """What the packs say of an archive."""
    rules = load([pack_file(name) for name in pack_names()], tests=False)
    found = Archive(folder)
    return list(final_lines(found, Backtest(found, rules.rules)))


def played(kind: str, days: float, seed: int, folder: Path) -> list[Line]:
    """The same of a kind of fleet, whose archive is made unless it is there."""
    if not (folder / "history.json").exists():
        HealthyFleet(kind, int(days * _DAY_S), seed).write(folder)
    return lines_of(folder)


def report(kind: str, days: float, lines: list[Line]) -> dict[str, object]:
    """What is printed of a kind."""
    alarms = [one for one in lines if one.level == "alert"]
    watches = [one for one in lines if one.level == "watch"]
    rules = collections.Counter(f"{one.level} {one.rule}" for one in lines)
    return {
        "fleet": kind,
        "days": days,
        "alarms_a_day": round(len(alarms) / days, 2),
        "watches_a_day": round(len(watches) / days, 2),
        "recorded_a_day": round(sum(one.level == "info" for one in lines) / days, 2),
        "advice_to_act": sum(one.advice in _ACTS for one in lines),
        "rules": dict(rules.most_common()),
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=float, default=14.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument(
        "--folder", type=Path, help="keep the archives here, and use those that are"
    )
    given = parser.parse_args()
    too_many = 0
    for kind in given.kind or KINDS:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as name:
            folder = (given.folder or Path(name)) / f"{kind}-{given.days:g}-{given.seed}"
            found = report(kind, given.days, played(kind, given.days, given.seed, folder))
        print(json.dumps({**found, "seconds": round(time.perf_counter() - began, 1)}), flush=True)
        too_many += float(str(found["alarms_a_day"])) > ALARMS
        too_many += float(str(found["watches_a_day"])) > WATCHES
        too_many += bool(found["advice_to_act"])
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
