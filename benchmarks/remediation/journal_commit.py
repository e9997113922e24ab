"""What it costs to have an operation on the disk before its effect: a commit, beside a bare fdatasync.

`journal_commit.py [ROUNDS [FOLDER]]`: in each round one of both, in turn, in the same folder. Then many
that wait at once, which are written together. Exits with 1 when the p99 of a commit is more than twice
that of write + fdatasync.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.journal.writer import JournalWriter

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
TOGETHER = 100
# How many times the bare p99 a commit's may be.
MOST = 2.0
# About as long as an operation with its intent and its step.
BODY = msgspec.Raw(json.dumps({"step": {"kind": "drain", "text": "x" * 900}}).encode())


def batch(number: int) -> Batch:
    """One operation of one of 500 nodes, as a pursuit has it written."""
    key = f"i{number % 500}"
    return Batch(time=time.time(), records=[StateRecord("operation", key, BODY, None, key)])


def bare(descriptor: int) -> float:
    """Seconds of one write of as many bytes, and its sync."""
    began = time.perf_counter()
    os.write(descriptor, bytes(BODY))
    os.fdatasync(descriptor)
    return time.perf_counter() - began


async def commit(writer: JournalWriter, number: int) -> float:
    """Seconds from asking until it is on the disk."""
    began = time.perf_counter()
    await writer.commit(batch(number))
    return time.perf_counter() - began


def figures(times: list[float]) -> dict[str, float]:
    """Median and 99th percentile in milliseconds."""
    return {
        "p50_ms": round(1e3 * statistics.median(times), 3),
        "p99_ms": round(1e3 * statistics.quantiles(times, n=100)[98], 3),
    }


async def measure(folder: Path) -> dict[str, dict[str, float]]:
    """Both in turn, then many at once."""
    writer = JournalWriter(open_file(folder / FILE))
    descriptor = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    bares: list[float] = []
    commits: list[float] = []
    for number in range(-50, ROUNDS):
        pair = bare(descriptor), await commit(writer, number)
        if number >= 0:
            bares.append(pair[0])
            commits.append(pair[1])
    waves: list[float] = []
    for wave in range(20):
        began = time.perf_counter()
        await asyncio.gather(*(commit(writer, wave * TOGETHER + n) for n in range(TOGETHER)))
        waves.append(time.perf_counter() - began)
    os.close(descriptor)
    await writer.close()
    return {
        "write + fdatasync": figures(bares),
        "commit": figures(commits),
        f"{TOGETHER} commits at once": figures(waves),
    }


def main() -> int:
    """Print one document; whether a commit costs at most twice."""
    where = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        figures = asyncio.run(measure(Path(folder)))
    ratio = figures["commit"]["p99_ms"] / figures["write + fdatasync"]["p99_ms"]
    print(json.dumps({"rounds": ROUNDS, **figures, "p99_ratio": round(ratio, 2)}, indent=1))
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
