"""Rates and memory of the history archive: 63 nodes of 8 devices, a sample each 30 s, 40 quantities."""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from accelwatch.archive.history.files import release_unused
from accelwatch.archive.history.layout import DEVICES, NODES
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.rows import Gathering
from accelwatch.archive.history.writer import Writer
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Kind, Scope
from accelwatch.system.daemon.memory import give_back, use_single_arena
from hub_processes import use

_START = 1_772_323_200_000
_SERIES = [
    (row.key, *("x" for _ in row.labels))
    for row in by_key().values()
    if row.scope is Scope.DEVICE and row.kind in (Kind.GAUGE, Kind.COUNTER)
][:40]


def main(hours: int) -> None:
    use_single_arena()  # as a hub does
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = Writer(folder, interval_s=30, source="benchmark")
        gathering, rows, began = Gathering(), 0, time.perf_counter()
        resident: list[str] = []
        for tick in range(hours * 120):
            at = _START + tick * 30_000
            for node in range(63):
                for device in range(8):
                    values = {
                        one: (tick * 7 + place * 13) % 997 for place, one in enumerate(_SERIES)
                    }
                    gathering.device(at, f"n{node:03d}", f"d{node}-{device}", "B200", values)
                    rows += 1
            if tick % 10 == 9:
                writer.add(gathering.pop_batch())
                writer.cut(at + 1)
                release_unused()
                give_back()
            if tick % 30 == 29:
                resident.append(f"{use(os.getpid()).rss_mib:.0f}")
        writer.close(_START + 2 * 86_400_000)
        wrote = time.perf_counter() - began
        size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
        archive, began = Archive(folder), time.perf_counter()
        ticks = sum(1 for _ in archive.ticks(archive.samples(DEVICES), archive.samples(NODES)))
        read = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{rows} rows of {len(_SERIES)} quantities, {size / rows:.0f} bytes a row")
    print(f"memory while it writes, MiB each quarter of an hour: {' '.join(resident)}")
    print(f"written {rows / wrote:,.0f} rows/s, gathering included")
    print(f"read {rows / read:,.0f} rows/s, {ticks / read:,.0f} ticks/s; peak {peak:.0f} MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 24)
