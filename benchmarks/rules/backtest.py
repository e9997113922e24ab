"""How fast `accelwatch rules backtest` plays archives of 63 nodes of 8 devices, a sample each 30 s.

    python benchmarks/rules/backtest.py [DAYS] [FOLDER] [PROCESSES]

An archive of so many days (1) is made in the folder, or taken from it, and played by so many processes
(2). Time of the processor is told beside that of the wall, a day each, with what 55 days would take.
"""

import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.cli.rules.backtest_share import Share
from accelwatch.fleet.backtest.incidents import Backtest, Helpers
from accelwatch.fleet.backtest.run import final_lines
from support.archives.synthetic_fleet import Plan, archive

_DAY_S = 86_400


_SELF, _CHILDREN = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN


def spent(who: int) -> float:
    """Seconds of the processor, user and system."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main(days: float, folder: Path, processes: int) -> None:
    if not (folder / "history.json").exists():
        began = time.perf_counter()
        archive(folder, Plan(seconds=int(days * _DAY_S), seed=1))
        print(f"made in {time.perf_counter() - began:.0f} s")
    rules = load([pack_file(name) for name in pack_names()], tests=False)
    found = Archive(folder)
    days = (found.description.end - found.description.start) / _DAY_S

    def command(ids: Sequence[str]) -> Sequence[str]:
        return Share(folder=str(folder), ids=tuple(ids), digest=rules.digest).command()

    wall, own, others = time.perf_counter(), spent(_SELF), spent(_CHILDREN)
    helpers = Helpers(processes - 1, command) if processes > 1 else None
    count = sum(1 for _ in final_lines(found, Backtest(found, rules.rules, helpers=helpers)))
    wall = time.perf_counter() - wall
    own, others = spent(_SELF) - own, spent(_CHILDREN) - others
    peaks = [resource.getrusage(who).ru_maxrss / 1024 for who in (_SELF, _CHILDREN)]
    ticks = days * _DAY_S / found.description.interval_s
    print(
        f"{days:g} days, {len(rules.rules)} rules, {count} lines, {processes} processes: {wall:.1f} s"
    )
    print(
        f"processor: this process {own:.1f} s, others {others:.1f} s; load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"a day {wall / days:.1f} s, a tick {1000 * (own + others) / ticks:.1f} ms of the processor"
    )
    busiest = max(own, others / max(processes - 1, 1))
    print(
        f"55 days at this rate {55 * wall / days / 60:.1f} min; with a processor for each process, by "
        f"the busiest, {55 * busiest / days / 60:.1f} min; peaks {peaks[0]:.0f} and {peaks[1]:.0f} MiB"
    )


if __name__ == "__main__":
    given = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as name:
        main(
            float(sys.argv[1]) if len(sys.argv) > 1 else 1.0,
            given or Path(name),
            int(sys.argv[3]) if len(sys.argv) > 3 else 2,
        )
