"""Times 60 rules over a fleet's columns beside the scalar code; prints one JSON document.

24 of the rules have windows, 12 peers, 6 events; the scalar code is given the same without any of these,
device by device. Figures are processor time of one thread: `--devices N --ticks N`.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import reduce
from operator import or_

import numpy as np

from accelwatch.expr import MISSING, Key, Missing, Value, compile_condition, device_names
from accelwatch.expr.needs import Needs, WindowNeed, window_bytes
from accelwatch.expr.rule import compile_rule
from accelwatch.fleet.rules.columns.columns import Texts
from accelwatch.fleet.rules.columns.groups import Groups
from accelwatch.fleet.rules.columns.plain import PlainColumns
from accelwatch.fleet.rules.columns.rule_windows import RuleWindows
from accelwatch.fleet.rules.vectors.program import Program
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.windows import Arrivals, Windows
from accelwatch.schema.metrics import Series

# Seconds of samples before anything is timed: the longest window is full.
FED_S = 960
NOW = 1_800_000_000.0
GAUGES = ("power_watts", "utilization_ratio", "temperature_celsius", "memory_used_bytes")
COUNTERS = ("pcie_replays_total", "energy_joules_total")
WINDOWED = (
    '{avg(power_watts, "5m")} < 300 and {avg(utilization_ratio, "5m")} > 0.9',
    '{max(temperature_celsius, "5m")} > 85 and vendor == "nvidia"',
    '{min(power_watts, "5m")} > 0.95 * power_limit_watts.enforced and not throttle_active.power',
    '{rate(energy_joules_total, "5m")} > 650 or missing(power_watts)',
    '{avg(memory_used_bytes, "15m")} > GiB(70) and labels.pool == "train"',
    '{duty(throttle_active.thermal, "10m")} > 0.2 and state == "ok"',
)
PEERED = (
    '{avg(power_watts, "5m")} < 0.6 * {peer_median(power_watts, by="job")}',
    '{peer_z(temperature_celsius, by="node")} > 4 and temperature_celsius > 70',
    'job.all(utilization_ratio > 0.9) and {peer_median(utilization_ratio, by="node")} > 0.9',
    "rack.share(temperature_celsius > 80) > 0.5 and power_watts > 100",
)
EVENTFUL = (
    'event("xid", code in [48, 79], within="10s") or state == "lost"',
    'since("xid", code == 63) < 3600 and {avg(power_watts, "5m")} > 1',
)
PLAIN = (
    'vendor == "nvidia" and temperature_celsius > 85 and power_watts > 600',
    "power_watts / power_limit_watts.enforced > 0.95 and not throttle_active.power",
    "memory_used_bytes > GiB(70) or missing(memory_used_bytes)",
    'state in ("lost", "unresponsive") and matches(model, "H[12]00")',
    'utilization_ratio > 0.9 and power_watts < 200 and version_lt(driver_version, "550.54")',
    "60 < temperature_celsius <= 85 and utilization_ratio * power_watts > 500",
)
_LEVELS = {
    "power_watts": 600.0,
    "utilization_ratio": 0.9,
    "temperature_celsius": 60.0,
    "memory_used_bytes": 6e10,
    "power_limit_watts": 700.0,
}


def texts() -> list[str]:
    """60 rules; each differs from the others in a number."""
    found: list[str] = []
    for rows, count in ((WINDOWED, 24), (PEERED, 12), (EVENTFUL, 6), (PLAIN, 18)):
        for number in range(count):
            text = rows[number % len(rows)]
            found.append(f"({text}) and power_watts < {1000 + number}")
    return found


def full(text: str) -> str:
    return text.replace("{", "").replace("}", "")


def bare(text: str) -> str:
    """The same without past, peers and events, as a filter may say it."""
    while "{" in text:
        begin, end = text.index("{"), text.index("}")
        name = text[begin + 1 : end].partition("(")[2].partition(",")[0]
        text = text[:begin] + name + text[end + 1 :]
    for event in (
        'event("xid", code in [48, 79], within="10s")',
        'since("xid", code == 63) < 3600',
    ):
        text = text.replace(event, "power_watts > 5000")
    for fold in ("job.all(", "rack.share("):
        if fold in text:
            inner = text.partition(fold)[2].partition(")")[0]
            after = text.partition(fold)[2].partition(")")[2]
            text = f"({inner} {after.removeprefix(' > 0.5')}"
    return text.replace('labels.pool == "train"', 'kind == "gpu"')


class Fleet(PlainColumns):
    """Columns whose windows are those of a hub's table, fed a sample a second."""

    __slots__ = ("_arrived", "_rule_windows", "_windows", "at")

    def __init__(self, columns: PlainColumns, needs: Needs) -> None:
        super().__init__(**{one.name: getattr(columns, one.name) for one in fields(columns)})
        self.at = 1000.0
        self._windows = Windows()
        self._rule_windows = RuleWindows(self._windows, needs.windows)
        self._arrived = np.zeros(self.size)
        for _ in range(FED_S):
            self.sample()

    def sample(self) -> None:
        """A second has passed and every device has told its values."""
        self.at += 1.0
        self._arrived = np.full(self.size, self.at)
        generation = np.ones(self.size, dtype=np.uint32)
        arrivals = Arrivals(self.size, self._arrived, np.ones(self.size), generation)
        self._windows.sample(self.at, arrivals, lambda series: self.numbers[series])

    def window(
        self, kind: str, key: Series, seconds: int, quantile: float | None, *, of_job: bool = False
    ) -> Floats:
        """A window over the samples."""
        found = self._rule_windows.window(WindowNeed(kind, key, seconds, quantile, of_job))
        assert found is not None
        return found


def columns_of(devices: int, needs: Needs) -> PlainColumns:
    """A healthy fleet: nodes of 8, jobs of 1 to 64 nodes, racks of 8 nodes."""
    random = np.random.default_rng(1)

    def drawn(name: str) -> Floats:
        level = _LEVELS.get(name, 0.0)
        values = random.normal(level, abs(level) * 0.05, devices)
        values[random.random(devices) < 0.01] = np.nan
        return values

    node = np.arange(devices) // 8
    job = np.minimum(node // random.integers(1, 65), 400)
    grouped = {"node": node, "job": job, "rack": node // 8}
    words = {
        "vendor": ("nvidia",),
        "state": ("ok", "lost"),
        "model": ("NVIDIA H100 80GB HBM3", "NVIDIA H200"),
        "driver_version": ("535.104.05", "550.54.15"),
        "labels.pool": ("dev", "train"),
    }
    return PlainColumns(
        size=devices,
        now=NOW,
        numbers={one: drawn(one[0]) for one in needs.series},
        texts={
            key: Texts(random.integers(0, len(some), devices), some) for key, some in words.items()
        },
        lasts={one.pattern: np.full(devices, -np.inf) for one in needs.events},
        grouped={by: Groups(codes, int(codes.max()) + 1) for by, codes in grouped.items()},
    )


def spent_ms(work: Callable[[], object], times: int) -> list[float]:
    found: list[float] = []
    for _ in range(times):
        started = time.thread_time()
        work()
        found.append((time.thread_time() - started) * 1e3)
    return found


def rules_figures(devices: int, ticks: int) -> dict[str, object]:
    rules = {str(at): compile_rule(full(text)) for at, text in enumerate(texts())}
    # Of each rule by itself: what a window counts depends on the rule that it stands in.
    needs = reduce(or_, (rule.needs for rule in rules.values()))
    columns = Fleet(columns_of(devices, needs), needs)
    program = Program(rules)
    upkeep: list[float] = []
    steps: list[float] = []

    def tick() -> None:
        started = time.thread_time()
        for _ in program.run(columns):
            steps.append((time.thread_time() - started) * 1e3)
            started = time.thread_time()

    tick()
    steps.clear()
    vector: list[float] = []
    for _ in range(ticks):
        upkeep += spent_ms(columns.sample, 1)
        vector += spent_ms(tick, 1)
    lines = [_readings(columns, row) for row in range(columns.size)]
    scalar = spent_ms(lambda: list(one_by_one(lines)), 3)
    return {
        "devices": devices,
        "rules": len(rules),
        "vector_ms": {
            "median": round(statistics.median(vector), 2),
            "worst": round(max(vector), 2),
        },
        "longest_step_ms": round(max(steps), 2),
        "samples_into_windows_ms": {
            "median": round(statistics.median(upkeep), 2),
            "worst": round(max(upkeep), 2),
        },
        "windows_mib": round(window_bytes(needs.windows, devices, devices // 8) / 2**20, 1),
        "scalar_without_past_and_peers_ms": round(min(scalar), 1),
        "times_faster": round(min(scalar) / statistics.median(vector), 1),
    }


def one_by_one(lines: Sequence[Mapping[Key, Value | Missing]]) -> Iterator[int]:
    names = device_names()
    filters = [compile_condition(bare(text), names) for text in texts()]
    lookups = [_lookup(line) for line in lines]
    for one in filters:
        yield sum(one.evaluate(lookup) is True for lookup in lookups)


def _lookup(line: Mapping[Key, Value | Missing]) -> Callable[[Key], Value | Missing]:
    return lambda key: line.get(key, MISSING)


def _readings(columns: PlainColumns, row: int) -> Mapping[Key, Value | Missing]:
    row_values: dict[Key, Value | Missing] = {
        key: float(column[row]) for key, column in columns.numbers.items()
    }
    row_values |= {key: some.values[some.codes[row]] for key, some in columns.texts.items()}
    return row_values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=8000)
    parser.add_argument("--ticks", type=int, default=50)
    given = parser.parse_args()
    figures = rules_figures(given.devices, given.ticks)
    print(json.dumps({"python": platform.python_version(), **figures}, indent=2))


if __name__ == "__main__":
    main()
