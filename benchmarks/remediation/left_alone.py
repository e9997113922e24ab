"""What must hold of a cluster that is left alone: every figure of it beside its goal.

`left_alone.py [PART ...] [--faults N] [--moves N]`; the parts are `drain`, `move`, `thousand`, `stop`
and `night`, all of them without a name. Each is measured by its own script in a process of its own:
a fault in the driver until Slurm shows the node drained, a drain until the job runs on a spare, 1,000
nodes at once, a STOP with 40 waiting and a yes, and the night of tests/night. It ends with 1 when a
goal is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.processes.terminated import end_children_when_terminated

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "tests"
SEEDS = ("7", "8")


class Figure(NamedTuple):
    """One of them."""

    what: str
    is_: float
    most: float


def measured(script: str, *options: str) -> Any:
    """The document that a script of this folder prints."""
    words = [sys.executable, str(HERE / script), *options]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def drain(given: argparse.Namespace) -> Iterator[Figure]:
    """A fault in the driver until DRAIN."""
    until = measured("../node/fault_to_drain.py", str(given.faults))["until"]["hub"]
    yield Figure("fault -> DRAIN, p99, s", until["p99_s"], 1.5)


def move(given: argparse.Namespace) -> Iterator[Figure]:
    """A drain until RUNNING, with batch_sched_delay=1."""
    result = measured("slurm_move.py", "--moves", str(given.moves), "--fences", "1")["move"]
    yield Figure("drain -> RUNNING, p95, s", result["p95_s"], 2.0)
    yield Figure(f"jobs lost in {given.moves} moves", result["lost"], 0)


def thousand(_: argparse.Namespace) -> Iterator[Figure]:
    """1,000 nodes at once."""
    (run,) = measured("faults_at_once.py", "thousand")["thousand"]
    yield Figure("1,000 nodes at once until DRAIN, p99, s", run["detect -> drain"]["p99_s"], 3.0)


def stop(_: argparse.Namespace) -> Iterator[Figure]:
    """A STOP until the last effect, a yes until DRAIN."""
    result = measured("brakes.py")
    for part in ("file", "command"):
        (run,) = result[part]
        yield Figure(f"STOP by {part} -> last effect, s", run["STOP -> last effect_s"], 1.0)
    yield Figure("yes -> DRAIN, s", result["yes"][0]["yes -> DRAIN_s"], 1.0)


def night(_: argparse.Namespace) -> Iterator[Figure]:
    """Eight hours with forty faults."""
    for seed in SEEDS:
        words = [sys.executable, "-m", "night", "--seed", seed]
        quiet = {**os.environ, "PYTHONHASHSEED": "0"}
        done = subprocess.run(words, cwd=TESTS, env=quiet, check=False, capture_output=True)
        broken = done.stdout.decode().count("\nBROKEN: ")
        yield Figure(f"properties broken in the night of seed {seed}", broken, 0)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Figure]]] = {
    "drain": drain,
    "move": move,
    "thousand": thousand,
    "stop": stop,
    "night": night,
}


def main() -> int:
    """Print one JSON document."""
    end_children_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--moves", type=int, default=100)
    given = parser.parse_args()
    began, figures = time.monotonic(), []
    for part in given.parts or PARTS:
        for one in PARTS[part](given):
            met = one.is_ <= one.most
            figures.append({"what": one.what, "is": one.is_, "most": one.most, "met": met})
    document = {
        "figures": figures,
        "took_s": round(time.monotonic() - began),
        "load": [round(one, 1) for one in os.getloadavg()],
        "cpus": os.cpu_count(),
    }
    print(json.dumps(document, indent=1))
    return 0 if all(one["met"] for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
