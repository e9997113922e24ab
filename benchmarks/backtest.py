"""How fast `accelwatch rules backtest` plays archives of 63 nodes of 8 devices, a sample each 30 s.

    python benchmarks/backtest.py [DAYS] [FOLDER]

An archive of so many days (1) is made in the folder, or taken from it, and played. Time of the processor
is told beside that of the wall, a day each, with what 55 days would take.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.run import told
from accelwatch.history.reader import Archive
from accelwatch.rules.loading import load, pack_file, pack_names
from synthetic_fleet import Plan, archive

_DAY_S = 86_400


def main(days: float, folder: Path) -> None:
    if not (folder / "history.json").exists():
        began = time.perf_counter()
        archive(folder, Plan(seconds=int(days * _DAY_S), seed=1))
        print(f"made in {time.perf_counter() - began:.0f} s")
    rules = load([pack_file(name) for name in pack_names()]).rules
    found = Archive(folder)
    days = (found.description.end - found.description.start) / _DAY_S
    wall, cpu = time.perf_counter(), time.process_time()
    count = sum(1 for _ in told(found, Backtest(found, rules)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ticks = days * _DAY_S / found.description.interval_s
    print(f"{days:g} days, {len(rules)} rules, {count} lines: {wall:.1f} s, processor {cpu:.1f} s")
    print(f"a day {wall / days:.1f} s, a tick {1000 * cpu / ticks:.1f} ms of the processor")
    print(f"55 days at this rate {55 * wall / days / 60:.1f} min; peak {peak:.0f} MiB")


if __name__ == "__main__":
    given = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as name:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0, given or Path(name))
