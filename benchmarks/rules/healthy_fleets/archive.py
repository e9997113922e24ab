"""Writes the archive of a healthy fleet, three hours at a time, in the layout of docs/history.md."""

from pathlib import Path
from typing import Any

import numpy as np

from accelwatch.archive.history.rows import JobRow, MaintenanceRow
from healthy_fleets.folder import SPAN_S, START, Roster, write_days, write_events, write_rest
from healthy_fleets.jobs import NODES, Job, jobs, machines
from healthy_fleets.machines import DEVICES, by_device
from healthy_fleets.nuisances import Away, Nuisances
from healthy_fleets.work import SERVE, load_of

Array = np.ndarray
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
        self._roster = Roster(
            [f"n{node:03d}" for node in range(NODES)],
            [[_id(node, device) for device in range(DEVICES)] for node in range(NODES)],
            [machine.model.name for machine in self._machines],
        )
        self._totals: dict[str, Array] = {}
        self._booted = np.full(NODES, -1e6)

    def write(self, folder: Path) -> None:
        """The whole archive."""
        write_days(
            folder,
            (
                self._span(begin, min(SPAN_S, self._seconds - begin) // STEP_S)
                for begin in range(0, self._seconds, SPAN_S)
            ),
        )
        nuisances = self._nuisances
        write_events(
            folder,
            (
                self._roster.event(event, nuisances.skew(event.node, event.second))
                for event in nuisances.events
            ),
        )
        write_rest(
            folder,
            [row for job in self._jobs for row in self._job_rows(job)],
            [self._window(away) for away in nuisances.maintenance],
            seconds=self._seconds,
            step_s=float(STEP_S),
        )

    def _span(self, begin: int, ticks: int) -> tuple[Any, Any]:
        seconds = begin + np.arange(1, ticks + 1, dtype=np.float64) * STEP_S
        device = self._devices(seconds)
        node = self._hosts(seconds, device)
        reported = ~self._nuisances.missed(ticks)
        for away in self._nuisances.gone:
            reported[_during(away, seconds), away.node] = False
        for away in self._nuisances.unreadable:
            rows = np.flatnonzero(_during(away, seconds))
            which = slice(None) if away.device is None else away.device
            for name, values in device.items():
                if not name.startswith("rate:"):
                    values[rows, away.node, which] = 0.0 if name == "device_up" else np.nan
        self._count(device)
        self._count(node)
        jitter = self._rng.uniform(-1.0, 1.0, (2, *reported.shape))
        ms = ((START + seconds[:, None] - self._offset + jitter) * 1000).astype(np.int64)
        devices = {name: values.transpose(1, 2, 0) for name, values in device.items()}
        nodes = {name: values.T for name, values in node.items()}
        return (
            self._roster.table(ms[0].T, reported.T, devices),
            self._roster.table(ms[1].T, reported.T, nodes),
        )

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

    def _window(self, away: Away) -> MaintenanceRow:
        start, end = (int((START + at) * 1000) for at in (away.start - 120, away.end + 300))
        return MaintenanceRow(f"n{away.node:03d}", start, end, "update")


def _id(node: int, device: int) -> str:
    return f"nvidia:GPU-{node:03d}-{device}"


def _during(away: Away, seconds: Array) -> Array:
    return (seconds > away.start) & (seconds <= away.end)
