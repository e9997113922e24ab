"""A bad day as a small archive: nine hours of three nodes, and what each moment of it must look like."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from accelwatch.archive.history.rows import EventRow, JobRow
from accelwatch.fleet.picture.timeline import ALERT, WATCH, Marker
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from support.archives.history_archives import DAY, HEAT, LOAD, POWER, Sample, write

MINUTE = 60_000
HOUR = 3_600_000
START = DAY
END = DAY + 9 * HOUR
STEP_S = 30
UP: Series = ("device_up",)
USED: Series = ("memory_used_bytes",)
SIZE: Series = ("memory_size_bytes",)
BUSY: Series = ("utilization_ratio",)

# The second device of node000 answers no more.
LOST_FROM, LOST_TO = DAY + 4 * HOUR, DAY + 4 * HOUR + 30 * MINUTE
# Nothing of node001.
SILENT_FROM, SILENT_TO = DAY + 2 * HOUR, DAY + 5 * HOUR
# No rows of the second device of node002.
MISSING_FROM, MISSING_TO = DAY + 6 * HOUR, DAY + 7 * HOUR
# Nothing of anybody.
GAP_FROM, GAP_TO = DAY + 7 * HOUR + 30 * MINUTE, DAY + 8 * HOUR

MARKS = [
    Marker(
        opened=LOST_FROM / 1000 + 60,
        closed=LOST_TO / 1000,
        level=ALERT,
        node="node000",
        device="nvidia:GPU-0-1",
        rule="device_lost",
    ),
    Marker(opened=SILENT_FROM / 1000 + 300, level=WATCH, node="node001", rule="node_silent"),
]


def device(node: int, index: int) -> str:
    return f"nvidia:GPU-{node}-{index}"


def _samples() -> list[Sample]:
    samples: list[Sample] = []
    for time in range(START, END, STEP_S * 1000):
        if GAP_FROM <= time < GAP_TO:
            continue
        for node in range(3):
            if node == 1 and SILENT_FROM <= time < SILENT_TO:
                continue
            samples.append((time, f"node{node:03d}", "", {LOAD: 1.5}))
            for index in range(2):
                if (node, index) == (2, 1) and MISSING_FROM <= time < MISSING_TO:
                    continue
                values = _values(time, node, index)
                samples.append((time, f"node{node:03d}", device(node, index), values))
    return samples


def _values(time: int, node: int, index: int) -> Mapping[Series, Number]:
    if (node, index) == (0, 1) and LOST_FROM <= time < LOST_TO:
        return {UP: 0}
    hour = (time - START) // HOUR
    return {
        UP: 1,
        BUSY: 0.5,
        POWER: 100 * (hour + 1),
        HEAT: 40 + node,
        USED: 10 << 30,
        SIZE: 80 << 30,
    }


def event(time: int, node: str, code: str, device: str | None = None) -> EventRow:
    kind = code.partition("_")[0]
    return EventRow(time=time, node=node, device=device, kind=kind, code=code, text=f"{code}!")


EVENTS = [
    event(SILENT_FROM - MINUTE, "node001", "oom_kill"),
    event(LOST_FROM, "node000", "xid_79", device(0, 1)),
    event(LOST_FROM + 1000, "node000", "xid_79", device(0, 1)),
]
JOBS = [
    JobRow(job="4711", user="ada", node="node000", device=None, start=DAY + 3 * HOUR, end=LOST_TO),
    JobRow(job="4712", user="grace", node="node000", device=device(0, 0), start=LOST_TO),
]


def bad_day(folder: Path) -> Path:
    """The archive."""
    write(folder, _samples(), events=EVENTS, jobs=JOBS)
    windows = {
        "node": pa.array(["node001", None], pa.string()),
        "start": _times(SILENT_FROM, GAP_FROM),
        "end": _times(SILENT_TO, GAP_TO),
        "reason": ["new power supply", "firmware"],
    }
    pq.write_table(pa.table(windows), folder / "maintenance.parquet")
    return folder


def _times(*times: int) -> pa.Array:
    return pa.array(times, pa.int64()).cast(pa.timestamp("ms", tz="UTC"))
