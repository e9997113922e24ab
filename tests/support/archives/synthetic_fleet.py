"""A fleet that never was, as an archive: jobs with loads and saves, gaps, jitter, odd clocks, faults.

Everything is made a span of three hours at a time in arrays of ticks, nodes and devices, so that days of
many nodes take seconds. What is wrong, and where, only the list of faults says: no column tells it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accelwatch.archive.history import layout
from accelwatch.archive.history.files import write
from accelwatch.archive.history.layout import Description, write_description
from accelwatch.archive.history.rows import EventRow, JobRow
from accelwatch.archive.history.tables import TIME, event_table, job_table

Floats = npt.NDArray[np.float64]
SPAN_S = 3 * 3600
MODEL = "NVIDIA B200"
# What agents record of a device that is gone.
LOST = "device_unreadable_info.lost.lost"
IDLE, LOAD, TRAIN, SAVE = range(4)
_UTIL = np.array([0.0, 0.2, 0.99, 0.05])
_WATTS = np.array([140.0, 230.0, 820.0, 300.0])
_GIB = float(1 << 30)


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong; `device` None is the whole node, `at` and `lasts` are seconds."""

    kind: str
    node: int
    at: float
    lasts: float = 1800.0
    device: int | None = None
    nodes: tuple[int, ...] = ()
    # Of `logged`: seconds after the fault, device, code and text of each event.
    lines: tuple[tuple[float, int | None, str, str], ...] = ()


@dataclass(frozen=True)
class Plan:
    """How large a fleet, and how long."""

    nodes: int = 63
    devices: int = 8
    spare: int = 3
    step_s: int = 30
    start: int = 1_767_225_600
    seconds: int = SPAN_S
    seed: int = 0
    faults: tuple[Fault, ...] = ()
    # Share of scrapes that fail.
    missing: float = 0.01
    skewed: bool = True
    # Whether jobs load, save and end; else one trains all the time.
    sessions: bool = True
    # Columns that exporters no longer tell from the middle of the time on.
    dropped: tuple[str, ...] = ()
    # Node, begin and end, in seconds of the archive; the node is away in it.
    maintenance: tuple[tuple[int | None, float, float], ...] = ()


@dataclass
class Span:
    """One span: all arrays are by tick, node, device; those of nodes by tick and node."""

    # Of the archive, at the end of each interval.
    seconds: Floats
    device: dict[str, Floats]
    node: dict[str, Floats]
    rows: npt.NDArray[np.bool_]
    node_rows: npt.NDArray[np.bool_]
    # By node: when in an interval it is read, seconds before its end.
    offset: Floats
    # Second, node, device, code, text.
    events: list[tuple[float, int, int | None, str, str]] = field(default_factory=list)


class SyntheticFleet:
    """Makes one archive."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        rng = self._rng = np.random.default_rng(plan.seed)
        shape = plan.nodes, plan.devices
        order = rng.permutation(plan.nodes)
        self.names = [f"node{one:03d}" for one in order]
        self.ids = [
            [f"nvidia:GPU-{plan.seed:04x}-{n:03d}-{d}" for d in range(plan.devices)]
            for n in range(plan.nodes)
        ]
        self.workers = max(plan.nodes - plan.spare, 1)
        stages = rng.uniform(0.88, 1.12, 4)
        self.stage_of = np.arange(plan.nodes) * 4 // max(self.workers, 1) % 4
        self._factor = stages[self.stage_of][:, None] * rng.normal(1, 0.01, shape)
        self._heat = rng.normal(0, 4, shape)
        self._skew = rng.normal(0, 12, plan.nodes) * plan.skewed
        self._phase_of_scrape = rng.uniform(2, plan.step_s - 2, plan.nodes)
        self._totals: dict[str, Floats] = {}
        self.jobs = list(self._sessions())
        self.phases = self._timeline()

    def _sessions(self) -> Iterator[tuple[float, float]]:
        """Beginning and end of each job of the workers, seconds."""
        at = -7200.0 if not self.plan.sessions else self._rng.uniform(0, 600)
        while at < self.plan.seconds:
            length = self._rng.uniform(4, 10) * 3600 if self.plan.sessions else 1e9
            fault = [
                one.at
                for one in self.plan.faults
                if one.kind in _ENDS_JOB and at < one.at < at + length
            ]
            end = min([at + length, *(one + 1200 for one in fault)])
            yield at, end
            at = end + self._rng.uniform(360, 1500)

    def _timeline(self) -> npt.NDArray[np.intp]:
        """The phase of the job by tick."""
        step, count = self.plan.step_s, self.plan.seconds // self.plan.step_s
        times = np.arange(1, count + 1) * step
        phases = np.full(count, IDLE, dtype=np.intp)
        for offset, end in self.jobs:
            inside = (times >= offset) & (times < end)
            phases[inside] = TRAIN
            if self.plan.sessions:
                phases[inside & (times < offset + 1500)] = LOAD
                save = offset + 1500 + 5400
                while save < end:
                    phases[
                        inside & (times >= save) & (times < save + self._rng.uniform(180, 540))
                    ] = SAVE
                    save += 9000
        return phases

    def spans(self) -> Iterator[Span]:
        """Span after span."""
        step, whole = self.plan.step_s, self.plan.seconds
        for offset in range(0, whole, SPAN_S):
            count = (min(offset + SPAN_S, whole) - offset) // step
            yield self._span(offset, count)

    def _span(self, offset: int, count: int) -> Span:
        from support.archives.synthetic_faults import apply

        plan, rng = self.plan, self._rng
        shape = count, plan.nodes, plan.devices
        seconds: Floats = offset + np.arange(1, count + 1, dtype=np.float64) * plan.step_s
        phase = np.repeat(self.phases[offset // plan.step_s :][:count, None], plan.nodes, axis=1)
        phase[:, self.workers :] = IDLE
        training = (phase == TRAIN)[:, :, None]
        busy = np.repeat(training, plan.devices, axis=2)
        util = np.clip(_UTIL[phase][:, :, None] + rng.normal(0, 0.01, shape) * busy, 0, 1)
        day = 1 + 0.01 * np.sin(seconds / 86400 * 2 * np.pi)[:, None, None]
        watts = _WATTS[phase][:, :, None] * np.where(busy, self._factor * day, 1.0)
        watts = np.round(watts + rng.normal(0, 3, shape))
        device = {
            "device_up": np.ones(shape),
            LOST: np.full(shape, np.nan),
            "processes.compute": np.where(phase[:, :, None] == IDLE, 0.0, np.ones(shape)),
            "utilization_ratio": np.round(util, 2),
            "memory_controller_utilization_ratio": np.round(util * 0.6, 2),
            "matrix_active_ratio": np.round(util * 0.4, 3),
            "memory_size_bytes": np.full(shape, 192 * _GIB),
            "memory_used_bytes": np.where(phase[:, :, None] == IDLE, 1.0, 170.0)
            * np.ones(shape)
            * _GIB,
            "temperature_celsius.gpu": np.round(28 + watts * 0.04 + self._heat),
            "temperature_celsius.memory": np.round(32 + watts * 0.045 + self._heat),
            "power_watts": watts,
            "power_limit_watts.enforced": np.full(shape, 1000.0),
            "clock_hertz.sm": np.where(
                busy, 1.9e9, np.where(phase[:, :, None] == IDLE, 3.45e8, 1.2e9)
            ),
            "clock_hertz.memory": np.full(shape, 3.9e9),
            "clock_limit_hertz.sm.max": np.full(shape, 1.965e9),
            "throttle_active.power": (busy & (rng.random(shape) < 0.3)).astype(float),
            "throttle_active.thermal_software": np.zeros(shape),
            "throttle_active.thermal_hardware": np.zeros(shape),
            "throttle_active.power_brake": np.zeros(shape),
            "pcie_link_generation.current": np.full(shape, 5.0),
            "pcie_link_generation.max": np.full(shape, 5.0),
            "pcie_link_width_lanes.current": np.full(shape, 16.0),
            "pcie_link_width_lanes.max": np.full(shape, 16.0),
            "interconnect_links.nvlink.up": np.full(shape, 18.0),
            "memory_remapped_rows.corrected": np.zeros(shape),
            "memory_remapped_rows.uncorrected": np.zeros(shape),
            "memory_repair_pending": np.zeros(shape),
            "memory_repair_failed": np.zeros(shape),
            "reset_required": np.zeros(shape),
        }
        device["rate:pcie_bytes_total.transmit"] = np.where(busy, 4e9, 1e7) * rng.uniform(
            0.5, 1.5, shape
        )
        device["rate:pcie_bytes_total.receive"] = np.where(busy, 4e9, 1e7) * rng.uniform(
            0.5, 1.5, shape
        )
        for way in ("transmit", "receive"):
            device[f"rate:interconnect_bytes_total.nvlink.{way}"] = np.where(
                busy, 9e10, 0
            ) * rng.uniform(0.9, 1.1, shape)
        device["rate:energy_joules_total.hardware"] = watts.copy()
        device["rate:pcie_errors_total.replay"] = (rng.random(shape) < 1e-5) / 30.0
        for name in ("ecc_errors_total.corrected", "ecc_errors_total.uncorrected"):
            device[f"rate:{name}"] = np.zeros(shape)
        for name in ("crc_flit", "replay", "recovery"):
            device[f"rate:interconnect_errors_total.nvlink.{name}"] = np.zeros(shape)
        span = Span(
            seconds=seconds,
            device=device,
            node=self._hosts(phase, seconds),
            rows=np.ones(shape, dtype=np.bool_),
            node_rows=self._scraped((count, plan.nodes)),
            offset=self._phase_of_scrape,
        )
        for node, first, last in plan.maintenance:
            away = (seconds >= first) & (seconds < last)
            span.node_rows[
                np.ix_(away, np.arange(plan.nodes) if node is None else np.array([node]))
            ] = False
        apply(self, span)
        for name in plan.dropped:
            (span.device if name in span.device else span.node)[name][
                seconds >= plan.seconds / 2
            ] = np.nan
        span.rows &= span.node_rows[:, :, None]
        self._count(span.device)
        self._count(span.node)
        return span

    def _scraped(self, shape: tuple[int, int]) -> npt.NDArray[np.bool_]:
        """Which scrapes succeed; failures come in small bursts."""
        fails = self._rng.random(shape) < self.plan.missing / 1.5
        fails[1:] |= fails[:-1] & (self._rng.random((shape[0] - 1, shape[1])) < 0.5)
        return ~fails

    def _hosts(self, phase: npt.NDArray[np.intp], seconds: Floats) -> dict[str, Floats]:
        rng, shape = self._rng, phase.shape
        ones, training, saving = np.ones(shape), phase == TRAIN, phase == SAVE
        return {
            "host_uptime_seconds": 1e6 + seconds[:, None] * ones,
            "host_cpu_utilization_ratio": np.where(training, 0.25, 0.03)
            + rng.uniform(0, 0.02, shape),
            "host_load_average.5": np.where(training, 40.0, 1.0) + rng.uniform(0, 2, shape),
            "host_cpu_count": 224 * ones,
            "host_memory_size_bytes": 2048 * _GIB * ones,
            "host_memory_available_bytes": np.where(training, 1200.0, 1900.0) * _GIB,
            "host_pressure_ratio.memory.full": 0 * ones,
            "host_pressure_ratio.io.full": np.where(saving, rng.uniform(0.1, 0.5, shape), 0.0),
            "host_blocked_processes": np.where(saving, rng.integers(0, 9, shape), 0).astype(float),
            "host_filesystem_available_bytes./": 400 * _GIB * ones,
            "host_clock_offset_seconds": rng.normal(0, 1e-4, shape),
            "host_clock_synchronized": ones,
            "host_rdma_port_up.mlx5_0.1": ones.copy(),
            "rate:host_rdma_bytes_total.mlx5_0.1.transmit": np.where(training, 2e10, 0) * ones,
            "rate:host_rdma_errors_total.mlx5_0.1.link_downed": 0 * ones,
            "rate:host_nfs_requests_total./mnt/train": np.where(saving, 2000.0, 5.0) * ones,
            "rate:host_nfs_execution_seconds_total./mnt/train": np.where(saving, 60.0, 0.05) * ones,
            "rate:host_nfs_backlog_total./mnt/train": np.where(saving, 5000.0, 0.0) * ones,
            "collector_duration_seconds.nvidia": 0.2 * ones + rng.uniform(0, 0.05, shape),
            "fleet_target_clock_skew_seconds": self._skew[None, :] * ones,
            "devices.ok": self.plan.devices * ones,
            "devices.lost": 0 * ones,
        }

    def _count(self, columns: dict[str, Floats]) -> None:
        """Rates become totals that go on from the span before, in blocks as a recorder keeps them."""
        for name in [one for one in columns if one.startswith("rate:")]:
            rate, key = columns.pop(name), name.removeprefix("rate:")
            total = np.cumsum(rate * self.plan.step_s, axis=0) + self._totals.get(key, 1e6)
            self._totals[key] = total[-1]
            block = 8 * _GIB if "bytes" in key else 1e-9 if "error" in key else 1.0
            columns[key] = np.floor(total / block + 1e-9) * block

    def write(self, folder: Path) -> None:
        """The whole archive."""
        plan = self.plan
        events: dict[int, list[EventRow]] = {}
        tables: dict[int, tuple[list[Any], list[Any]]] = {}
        for table in layout.TABLES:
            (folder / table).mkdir(parents=True, exist_ok=True)
        for number, span in enumerate(self.spans()):
            day = (plan.start + number * SPAN_S) * 1000 // layout.DAY_MS
            if day not in tables and tables:
                self._write_day(folder, *tables.popitem())
            devices, nodes = tables.setdefault(day, ([], []))
            devices.append(self._table(span, devices=True))
            nodes.append(self._table(span, devices=False))
            for one in span.events:
                row = self._event(*one)
                events.setdefault(row.time // layout.DAY_MS, []).append(row)
        for day, both in tables.items():
            self._write_day(folder, day, both)
        for day, rows in events.items():
            rows.sort(key=lambda one: one.time)
            table = event_table(rows)
            write(
                layout.day_file(folder, layout.EVENTS, day * layout.DAY_MS), [table], table.schema
            )
        jobs = job_table(list(self._job_rows()))
        write(folder / layout.JOBS, [jobs], jobs.schema)
        self._write_maintenance(folder)
        write_description(
            folder,
            Description(
                interval_s=float(plan.step_s),
                start=float(plan.start),
                end=float(plan.start + plan.seconds),
                source="synthetic",
            ),
        )

    def _write_day(self, folder: Path, day: int, tables: tuple[list[Any], list[Any]]) -> None:
        for name, parts in zip((layout.DEVICES, layout.NODES), tables, strict=True):
            schema = pa.unify_schemas([part.schema for part in parts])
            write(layout.day_file(folder, name, day * layout.DAY_MS), parts, schema)

    def _table(self, span: Span, *, devices: bool) -> Any:
        """Rows ordered by node, device, time."""
        plan, columns = self.plan, span.device if devices else span.node
        jitter = self._rng.uniform(-1.0, 1.0, (len(span.seconds), plan.nodes))
        ms = ((plan.start + span.seconds[:, None] - span.offset + jitter) * 1000).astype(np.int64)
        order = np.argsort(self.names)
        if devices:
            there = span.rows[:, order].transpose(1, 2, 0)
            times = np.repeat(ms[:, order].T[:, None, :], plan.devices, axis=1)
            node = np.repeat(np.arange(plan.nodes)[:, None, None], plan.devices, axis=1)
        else:
            there, times = span.node_rows[:, order].T, ms[:, order].T
            node = np.arange(plan.nodes)[:, None]
        names = pa.array([self.names[one] for one in order])
        made = {
            "time": pa.array(times[there]).cast(TIME),
            "node": pa.DictionaryArray.from_arrays(_codes(node, there), names),
        }
        if devices:
            ids = pa.array([self.ids[n][d] for n in order for d in range(plan.devices)])
            number = node * plan.devices + np.arange(plan.devices)[None, :, None]
            made["device"] = pa.DictionaryArray.from_arrays(_codes(number, there), ids)
            models = pa.array([MODEL])
            made["model"] = pa.DictionaryArray.from_arrays(_codes(node * 0, there), models)
        for name, values in columns.items():
            axes = (1, 2, 0) if devices else (1, 0)
            flat = values[:, order].transpose(axes)[there]
            made[name] = pa.array(flat, mask=np.isnan(flat)).cast(
                pa.float32() if "total" not in name else pa.float64()
            )
        return pa.table(made)

    def _event(
        self, second: float, node: int, device: int | None, code: str, text: str
    ) -> EventRow:
        return EventRow(
            time=int((self.plan.start + second + self._skew[node]) * 1000),
            node=self.names[node],
            device=None if device is None else self.ids[node][device],
            kind=code.partition("_")[0],
            code=code,
            text=text,
        )

    def _job_rows(self) -> Iterator[JobRow]:
        start = self.plan.start
        for number, (offset, end) in enumerate(self.jobs):
            for node in range(self.workers):
                yield JobRow(
                    job=str(4000 + number),
                    user="amy",
                    node=self.names[node],
                    device=None,
                    start=int((start + offset) * 1000),
                    end=int((start + end) * 1000) if end < self.plan.seconds else None,
                    nodes_wanted=self.workers,
                )

    def _write_maintenance(self, folder: Path) -> None:
        windows = self.plan.maintenance
        spans = [(offset, end) for _, offset, end in windows]
        columns = [
            [int((self.plan.start + one) * 1000) for one in times]
            for times in zip(*spans, strict=True)
        ] or [[], []]
        table = pa.table(
            {
                "node": pa.array(
                    [None if one[0] is None else self.names[one[0]] for one in windows], pa.string()
                ),
                "start": pa.array(columns[0], pa.int64()).cast(TIME),
                "end": pa.array(columns[1], pa.int64()).cast(TIME),
                "reason": pa.array(["update" for _ in windows], pa.string()),
            }
        )
        write(folder / layout.MAINTENANCE, [table], table.schema)


def _codes(numbers: npt.NDArray[np.intp], there: npt.NDArray[np.bool_]) -> Any:
    return pa.array(np.broadcast_to(numbers, there.shape)[there].astype(np.int32))


_ENDS_JOB = frozenset({"lost", "lost_rows", "nvlink", "hang", "unreachable", "gsp"})


def archive(folder: Path, plan: Plan) -> SyntheticFleet:
    """Write one, and say what is in it."""
    fleet = SyntheticFleet(plan)
    fleet.write(folder)
    return fleet


def several(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """In order of time."""
    return tuple(sorted(faults, key=lambda one: one.at))
