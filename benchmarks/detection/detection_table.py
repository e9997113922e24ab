"""Recall, false alarms, delays of detectors over traces with known faults (design: issue 31, part 3).

    python benchmarks/detection/detection_table.py [--seeds 0 1 2] [--days 4] [--nodes 63]
        [--fault-rate 10] [--group-rate 1] [--only NAME] [--lines NAME=FOLDER] [--keep FOLDER]
        [--json FILE]
    python benchmarks/detection/detection_table.py --validation --json FILE

Makes each trace in a temporary folder (or in --keep, where those that are there are used), runs
every baseline, the detector alone and all shipped packs, that of the detector among them
(`accelwatch rules backtest`) over it, and prints the table.
`--lines` adds a detector by what it has printed: FOLDER/SEED.ndjson, lines as docs/history.md has them.
Development seeds are 0 to 19; those of the validation, 100 to 119, run only as a whole: 55 days, at the
published rate.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rules"))

from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.line import Line
from baselines.limits import ThreeSigma, VendorLimits, XidOnly
from baselines.peers import COUNTERS, GAUGES, peer_detectors
from baselines.playing import play
from scoring.measures import table
from scoring.report import surface_text, text
from scoring.results import Outcome, judge
from scoring.surface import fail_slow_curve, precursor_surface
from traces.character import Settings
from traces.fleet import Trace
from traces.truth import TRUTH, read_truth

# What a column is called, and the pack that is asked for; all of them without one.
BACKTESTS = {"detector": "detector", "packs + detector": None}
VALIDATION = range(100, 120)
_PROGRAM = [sys.executable, "-m", "accelwatch"]


def baseline_lines(archive: Archive) -> dict[str, list[Line]]:
    """What every baseline says of an archive, read once."""
    interval_s = archive.description.interval_s
    limits, own = VendorLimits(interval_s), ThreeSigma(GAUGES, interval_s)
    peers = peer_detectors(interval_s)
    wanted = {*limits.signals, *own.signals, *GAUGES, *COUNTERS}
    return play(archive, [XidOnly(), limits, own, *peers], wanted)


def pack_lines(folder: Path, pack: str | None) -> list[Line]:
    """What a shipped pack, or all, say of it, by the command that a person would use."""
    command = [*_PROGRAM, "rules", "backtest", "--history", str(folder), "--format", "ndjson"]
    command += [] if pack is None else ["--pack", pack]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    return decoded(done.stdout)


def decoded(data: bytes) -> list[Line]:
    """Lines of a back-test."""
    return [msgspec.json.decode(line, type=Line) for line in data.splitlines()]


def judged(settings: Settings, folder: Path, only: Sequence[str]) -> dict[str, Outcome]:
    """One trace, made unless it is there, and every detector over it."""
    if not (folder / TRUTH).exists():
        folder.mkdir(parents=True, exist_ok=True)
        Trace(settings).write(folder)
    archive = Archive(folder / "archive")
    faults, windows = read_truth(folder / TRUTH), archive.maintenance()
    found = baseline_lines(archive) if not only or set(only) - set(BACKTESTS) else {}
    for name, pack in BACKTESTS.items():
        if not only or name in only:
            found[name] = pack_lines(folder / "archive", pack)
    fleet_days = settings.days * settings.nodes / 63.0
    return {
        name: judge(lines, faults, windows, fleet_days)
        for name, lines in found.items()
        if not only or name in only
    }


def given_lines(spec: str, settings: Settings, folder: Path) -> tuple[str, Outcome]:
    """A detector by what it has printed of this trace."""
    name, _, lines = spec.partition("=")
    archive = Archive(folder / "archive")
    printed = decoded((Path(lines) / f"{settings.seed}.ndjson").read_bytes())
    fleet_days = settings.days * settings.nodes / 63.0
    return name, judge(printed, read_truth(folder / TRUTH), archive.maintenance(), fleet_days)


def main() -> None:
    given = _arguments()
    outcomes: dict[str, list[Outcome]] = {}
    for seed in given.seeds:
        began = time.perf_counter()
        settings = Settings(
            seed, given.nodes, 8, given.days, given.interval, given.fault_rate, given.group_rate
        )
        with tempfile.TemporaryDirectory() as name:
            folder = (given.keep or Path(name)) / "-".join(f"{one:g}" for one in settings)
            of_trace = judged(settings, folder, given.only)
            of_trace |= dict(given_lines(spec, settings, folder) for spec in given.lines)
        for detector, outcome in of_trace.items():
            outcomes.setdefault(detector, []).append(outcome)
        print(f"seed {seed}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    tables = {name: table(of) for name, of in outcomes.items()}
    results = {
        name: [one for outcome in of for one in outcome.results] for name, of in outcomes.items()
    }
    surfaces = {name: precursor_surface(of) for name, of in results.items()}
    curves = {name: fail_slow_curve(of) for name, of in results.items()}
    print(text(tables))
    for name in given.surface:
        print(
            "\n"
            + surface_text(name, surfaces[name])
            + "\n\n"
            + surface_text("power lost", curves[name])
        )
    if given.json:
        documents = {
            name: {
                "measures": tables[name],
                "precursors": surfaces[name],
                "fail_slow": curves[name],
            }
            for name in tables
        }
        settled = msgspec.to_builtins({"arguments": _plain(given), "detectors": documents})
        given.json.write_text(json.dumps(settled, indent=1) + "\n")


def _plain(given: argparse.Namespace) -> dict[str, object]:
    names = ("seeds", "days", "nodes", "interval", "fault_rate", "group_rate")
    return {name: getattr(given, name) for name in names}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--days", type=float, default=4.0)
    parser.add_argument("--nodes", type=int, default=63)
    parser.add_argument("--interval", type=float, default=30.0)
    parser.add_argument("--fault-rate", type=float, default=10.0, help="times the published rate")
    parser.add_argument("--group-rate", type=float, default=1.0, help="times the rate of faults")
    parser.add_argument("--only", action="append", default=[], help="of the detectors")
    parser.add_argument("--lines", action="append", default=[], help="NAME=FOLDER")
    parser.add_argument(
        "--surface", action="append", default=[], help="also print that of a detector"
    )
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--validation", action="store_true")
    given = parser.parse_args()
    if given.validation:
        given.seeds, given.days = list(VALIDATION), 55.0
        given.fault_rate = given.group_rate = 1.0
    elif set(given.seeds) & set(VALIDATION):
        parser.error("seeds 100 to 119 run only as a whole: --validation")
    return given


if __name__ == "__main__":
    main()
