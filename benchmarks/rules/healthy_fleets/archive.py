"""Writes the archive of a healthy fleet, three hours at a time, in the layout of docs/history.md."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from accelwatch.archive.history import layout
from accelwatch.archive.history.files import write
from accelwatch.archive.history.layout import Description, write_description
from accelwatch.archive.history.rows import EventRow, JobRow
from accelwatch.archive.history.tables import TIME, event_table, job_table
from healthy_fleets.jobs import NODES, Job, jobs, machines
from healthy_fleets.machines import DEVICES, by_device
from healthy_fleets.nuisances import Away, Nuisances
from healthy_fleets.work import SERVE, load_of

Array = np.ndarray
SPAN_S = 3 * 3600
START = 1_767_225_600
STEP_S = 30
_GIB = float(1 << 30)


class HealthyFleet:
    """One fleet of a kind, drawn with a seed."""

    def __init__(self, kind: str, seconds: int, seed: int) -> None:
        self._rng = rng = np.random.default_rng([seed, sum(map(ord, kind))])
        self._seconds = seconds
        self._machines = machines(kind)
        self._jobs = jobs(kind, seconds, rng)
        self._nuisances = Nuisances(seconds, self._jobs, rng)
        shape = NODES, DEVICES
        self._limit = by_device(self._machines, "limit_watts")
        self._idle = by_device(self._machines, "idle_watts")
        self._loaded = by_device(self._machines, "loaded_watts")
        # Devices of one model differ by a hundredth in what they draw.
        self._own = rng.normal(1.0, 0.01, shape)
        self._heat = rng.normal(0, 4, shape)
        self._offset = rng.uniform(2, STEP_S - 2, NODES)
        self._totals: dict[str, Array] = {}
        self._booted = np.full(NODES, -1e6)

    def write(self, folder: Path) -> None:
        """The whole archive."""
        for table in layout.TABLES:
            (folder / table).mkdir(parents=True, exist_ok=True)
        day: list[tuple[Any, Any]] = []
        for begin in range(0, self._seconds, SPAN_S):
            day.append(self._span(begin, min(SPAN_S, self._seconds - begin) // STEP_S))
            if (begin + SPAN_S) % 86_400 == 0 or begin + SPAN_S >= self._seconds:
                self._write_day(folder, begin, day)
                day = []
        self._write_events(folder)
        rows = job_table([row for job in self._jobs for row in self._job_rows(job)])
        write(folder / layout.JOBS, [rows], rows.schema)
        self._write_maintenance(folder)
        end = float(START + self._seconds)
        write_description(
            folder, Description(interval_s=float(STEP_S), start=float(START), end=end)
        )

    def _span(self, begin: int, ticks: int) -> tuple[Any, Any]:
        seconds = begin + np.arange(1, ticks + 1, dtype=np.float64) * STEP_S
        device = self._devices(seconds)
        node = self._hosts(seconds, device)
        told = ~self._nuisances.missed(ticks)
        for away in self._nuisances.gone:
            told[_during(away, seconds), away.node] = False
        for away in self._nuisances.unreadable:
            rows = np.flatnonzero(_during(away, seconds))
            which = slice(None) if away.device is None else away.device
            for name, values in device.items():
                if not name.startswith("rate:"):
                    values[rows, away.node, which] = 0.0 if name == "device_up" else np.nan
        self._count(device)
        self._count(node)
        return self._table(seconds, device, told, of=DEVICES), self._table(seconds, node, told)

    def _devices(self, seconds: Array) -> dict[str, Array]:
        shape = len(seconds), NODES, DEVICES
        busy, share, nvlink, pcie, memory, used = (np.zeros(shape) for _ in range(6))
        for job in self._jobs:
            if job.end > seconds[0] - STEP_S and job.start < seconds[-1]:
                self._works(job, seconds, (busy, share, nvlink, pcie, memory, used))
        rng, ones = self._rng, np.ones(shape)
        floor = np.where(used > 0, self._loaded, self._idle)
        hot = 1.0 + 0.01 * np.sin(seconds / 86_400 * 2 * np.pi)[:, None, None]
        noise = rng.normal(1.0, 0.01, shape)
        watts = floor + (self._limit - floor) * share * self._own * hot * noise
        watts = np.round(np.minimum(watts, self._limit * 1.02) + rng.normal(0, 0.4, shape), 1)
        boost = by_device(self._machines, "boost_hertz")
        generation = by_device(self._machines, "pcie_generation")
        size = by_device(self._machines, "memory_gib") * _GIB
        lanes = np.array([one.lanes for one in self._machines])[:, None]
        links = np.array([one.links for one in self._machines])
        asleep = busy < 0.01
        capped = share > 0.9
        device = {
            "device_up": ones.copy(),
            "processes.compute": np.where(used > 0, 1.0, 0.0),
            "utilization_ratio": np.round(np.clip(busy, 0, 1), 2),
            "memory_controller_utilization_ratio": np.round(memory, 2),
            "memory_size_bytes": size * ones,
            "memory_used_bytes": np.where(used > 0, 0.8 * size, 0.01 * size),
            "temperature_celsius.gpu": np.round(28 + 45 * watts / self._limit + self._heat),
            "temperature_celsius.memory": np.round(32 + 48 * watts / self._limit + self._heat),
            "power_watts": watts,
            "power_limit_watts.enforced": self._limit * ones,
            "clock_hertz.sm": np.where(asleep, 3.45e8, boost * np.where(capped, 0.9, 1.0)),
            "clock_limit_hertz.sm.max": boost * ones,
            "throttle_active.power": capped.astype(np.float64),
            "throttle_active.thermal_software": (rng.random(shape) < 2e-4) * 1.0,
            "throttle_active.thermal_hardware": 0 * ones,
            "throttle_active.power_brake": 0 * ones,
            "throttle_active.other": 0 * ones,
            "pcie_link_generation.current": np.where(asleep, 1.0, generation),
            "pcie_link_generation.max": generation * ones,
            "pcie_link_width_lanes.current": lanes * ones,
            "pcie_link_width_lanes.max": 16 * ones,
            "interconnect_links.nvlink.up": links * ones,
            "memory_remapped_rows.corrected": 0 * ones,
            "memory_remapped_rows.uncorrected": 0 * ones,
            "memory_repair_pending": 0 * ones,
            "memory_repair_failed": 0 * ones,
            "reset_required": 0 * ones,
            "rate:energy_joules_total.hardware": watts.copy(),
        }
        for way in ("transmit", "receive"):
            wander = rng.uniform(0.8, 1.2, shape)
            device[f"rate:pcie_bytes_total.{way}"] = (pcie + 2e5) * wander
            linked = np.where(np.isnan(links), np.nan, 1.0)
            device[f"rate:interconnect_bytes_total.nvlink.{way}"] = nvlink * wander * linked
        self._errors(device, shape, np.isnan(links) | (links == 0))
        return device

    def _works(self, job: Job, seconds: Array, into: tuple[Array, ...]) -> None:
        there = np.flatnonzero((seconds > job.start) & (seconds <= job.end))
        if not len(there):
            return
        rng = np.random.default_rng([int(job.id), int(seconds[0])])
        load = load_of(job.work, seconds[there] - job.start, seconds[there], rng)
        jitter = np.round(rng.normal(0, 0.004, (len(there), 1, 1)), 3)
        busy, share, nvlink, pcie, memory, used = into
        at = np.ix_(there, np.array(job.nodes), np.array(job.devices))
        busy[at] = np.clip(load.busy[:, None, None] + jitter * (job.work.kind != SERVE), 0, 1)
        for target, values in (
            (share, load.share),
            (nvlink, load.nvlink),
            (pcie, load.pcie),
            (memory, load.memory),
        ):
            target[at] = values[:, None, None]
        used[at] = 1.0

    def _errors(self, device: dict[str, Array], shape: tuple[int, ...], bare: Array) -> None:
        """Counters of errors, of which healthy devices have a few."""
        rates, counted = self._nuisances.rates, self._nuisances.counted
        of = {
            "interconnect_errors_total.nvlink.recovery": rates.link_recoveries,
            "interconnect_errors_total.nvlink.crc_flit": rates.link_errors / 2,
            "interconnect_errors_total.nvlink.replay": rates.link_errors / 2,
            "interconnect_errors_total.nvlink.recovery_failed": 0.0,
            "ecc_errors_total.corrected": rates.corrected_ecc,
            "ecc_errors_total.uncorrected": 0.0,
            "pcie_errors_total.replay": rates.pcie_replays,
        }
        for name, a_day in of.items():
            found = counted(a_day, shape, float(STEP_S)) / STEP_S
            device[f"rate:{name}"] = np.where(bare, np.nan, found) if "nvlink" in name else found

    def _hosts(self, seconds: Array, device: dict[str, Array]) -> dict[str, Array]:
        rng, shape = self._rng, (len(seconds), NODES)
        ones = np.ones(shape)
        busy = np.nan_to_num(device["utilization_ratio"]).mean(axis=2)
        for away in self._nuisances.started:
            if seconds[0] - STEP_S <= away.end < seconds[-1]:
                self._booted[away.node] = away.end - 60.0
        uptime = seconds[:, None] - self._booted[None, :]
        skew = np.zeros(shape)
        for node, since, by in self._nuisances.skews:
            skew[seconds > since, node] = by
        waits = rng.random(shape) < 0.02
        return {
            "host_uptime_seconds": np.where(uptime < 0, 1e6 + uptime, uptime),
            "host_load_average.5": 2.0 + 60.0 * busy + rng.uniform(0, 2, shape),
            "host_cpu_count": 128 * ones,
            "host_memory_size_bytes": 1024 * _GIB * ones,
            "host_memory_available_bytes": (900 - 600 * busy) * _GIB,
            "host_pressure_ratio.memory.full": 0 * ones,
            "host_pressure_ratio.io.some": np.where(waits, rng.uniform(0, 0.6, shape), 0.01),
            "host_pressure_ratio.io.full": np.where(waits, rng.uniform(0, 0.5, shape), 0.0),
            "host_blocked_processes": np.where(waits, rng.integers(0, 9, shape), 0) * 1.0,
            "host_filesystem_available_bytes./": 400 * _GIB * ones,
            "host_filesystem_size_bytes./": 1800 * _GIB * ones,
            "host_clock_offset_seconds": rng.normal(0, 1e-4, shape),
            "host_clock_synchronized": ones,
            "host_rdma_port_up.mlx5_0.1": ones.copy(),
            "rate:host_rdma_bytes_total.mlx5_0.1.transmit": 1e9 * busy,
            "rate:host_rdma_errors_total.mlx5_0.1.link_downed": 0 * ones,
            "rate:host_rdma_errors_total.mlx5_0.1.symbol_error": (rng.random(shape) < 1e-4) / 30.0,
            "fleet_target_clock_skew_seconds": skew,
        }

    def _count(self, columns: dict[str, Array]) -> None:
        """Rates become totals that go on from the span before."""
        for name in [one for one in columns if one.startswith("rate:")]:
            rate, key = columns.pop(name), name.removeprefix("rate:")
            total = np.cumsum(rate * STEP_S, axis=0) + self._totals.get(key, 1e6)
            self._totals[key] = total[-1]
            columns[key] = np.floor(total + 1e-6)

    def _table(
        self, seconds: Array, columns: dict[str, Array], told: Array, of: int | None = None
    ) -> Any:
        jitter = self._rng.uniform(-1.0, 1.0, told.shape)
        ms = ((START + seconds[:, None] - self._offset + jitter) * 1000).astype(np.int64)
        node = np.broadcast_to(np.arange(NODES)[:, None], (NODES, len(seconds)))
        there, times = told.T, ms.T
        if of is not None:
            there, times, node = (
                np.repeat(one[:, None, :], of, axis=1) for one in (there, times, node)
            )
        made = {
            "time": pa.array(times[there]).cast(TIME),
            "node": _coded(node[there], [f"n{one:03d}" for one in range(NODES)]),
        }
        if of is not None:
            number = node * of + np.arange(of)[None, :, None]
            ids = [_id(n, d) for n in range(NODES) for d in range(of)]
            made["device"] = _coded(number[there], ids)
            names = [one.model.name for one in self._machines]
            unlike = sorted(set(names))
            model = np.array([unlike.index(one) for one in names])
            made["model"] = _coded(model[node[there]], unlike)
        for name, values in columns.items():
            axes = (1, 0) if of is None else (1, 2, 0)
            flat = values.transpose(axes)[there]
            kind = pa.float64() if "total" in name else pa.float32()
            made[name] = pa.array(flat, mask=np.isnan(flat)).cast(kind)
        return pa.table(made)

    def _write_day(self, folder: Path, begin: int, day: list[tuple[Any, Any]]) -> None:
        for table, parts in zip(
            (layout.DEVICES, layout.NODES), zip(*day, strict=True), strict=True
        ):
            path = layout.day_file(folder, table, (START + begin) * 1000)
            write(path, list(parts), parts[0].schema)

    def _write_events(self, folder: Path) -> None:
        days: dict[int, list[EventRow]] = {}
        for event in self._nuisances.events:
            skew = [
                by
                for node, since, by in self._nuisances.skews
                if node == event.node and since <= event.second
            ]
            time = int((START + event.second + skew[-1]) * 1000)
            device = None if event.device is None else _id(event.node, event.device)
            row = EventRow(
                time=time,
                node=f"n{event.node:03d}",
                device=device,
                kind=event.code.partition("_")[0],
                code=event.code,
                text=event.text,
            )
            days.setdefault(time // layout.DAY_MS, []).append(row)
        for day, rows in days.items():
            table = event_table(sorted(rows, key=lambda row: row.time))
            write(
                layout.day_file(folder, layout.EVENTS, day * layout.DAY_MS), [table], table.schema
            )

    def _job_rows(self, job: Job) -> list[JobRow]:
        whole = len(job.devices) == DEVICES
        places = [
            (node, device) for node in job.nodes for device in ([None] if whole else job.devices)
        ]
        ended = job.end < self._seconds
        return [
            JobRow(
                job=job.id,
                user=job.user,
                node=f"n{node:03d}",
                device=None if device is None else _id(node, device),
                start=int((START + job.start) * 1000),
                end=int((START + job.end) * 1000) if ended else None,
                nodes_wanted=len(job.nodes),
            )
            for node, device in places
        ]

    def _write_maintenance(self, folder: Path) -> None:
        windows = self._nuisances.maintenance
        moments = [
            [int((START + at) * 1000) for at in times]
            for times in ([one.start - 120 for one in windows], [one.end + 300 for one in windows])
        ]
        table = pa.table(
            {
                "node": pa.array([f"n{one.node:03d}" for one in windows], pa.string()),
                "start": pa.array(moments[0], pa.int64()).cast(TIME),
                "end": pa.array(moments[1], pa.int64()).cast(TIME),
                "reason": pa.array(["update"] * len(windows), pa.string()),
            }
        )
        write(folder / layout.MAINTENANCE, [table], table.schema)


def _id(node: int, device: int) -> str:
    return f"nvidia:GPU-{node:03d}-{device}"


def _during(away: Away, seconds: Array) -> Array:
    return (seconds > away.start) & (seconds <= away.end)


def _coded(numbers: Array, words: list[str]) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), pa.array(words))
