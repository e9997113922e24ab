"""What healthy hosts tell: all columns of three hours, by node and tick."""

import numpy as np

from traces.character import Array, Character, Settings
from traces.sessions import LOAD, SAVE, STALL, TRAIN

NFS = "rate:host_nfs_%s_total./mnt/train"
RDMA = "rate:host_rdma_bytes_total.mlx5_0.1"
RDMA_ERRORS = "rate:host_rdma_errors_total.mlx5_0.1"
_GIB = float(1 << 30)


class Hosts:
    """The hosts of a trace."""

    def __init__(self, rng: np.random.Generator, character: Character, settings: Settings) -> None:
        self._rng, self._character, self._settings = rng, character, settings
        self._own = rng.normal(1.0, 0.03, (settings.nodes, 1))

    def columns(self, seconds: Array, phase: Array, skew: Array, uptime: Array) -> dict[str, Array]:
        """All columns; `skew` and `uptime` are seconds by node and tick."""
        rng, of, shape = self._rng, self._character, seconds.shape
        ones = np.ones(shape)
        trains, saves, loads = phase == TRAIN, (phase == SAVE) | (phase == STALL), phase == LOAD
        stalls = phase == STALL
        moves = saves | loads
        # Requests a second, and how long each waits in the queue (1.4: 92 % of 1.6 s in a save).
        requests = (
            np.where(moves, 1500.0, 5.0) * rng.uniform(0.8, 1.2, shape) * np.where(stalls, 0.2, 1)
        )
        trip = np.where(moves, 0.12, 0.010) * rng.uniform(0.8, 1.25, shape)
        queue = (
            np.where(saves, 0.6, 0.001) * rng.uniform(0.8, 1.25, shape) * np.where(stalls, 12.0, 1)
        )
        series = self._settings.devices * 45.0 + 390.0  # 5.1: series of a node
        columns = {
            "host_uptime_seconds": uptime,
            "host_cpu_count": 224 * ones,
            "host_cpu_utilization_ratio": np.round(
                np.where(trains, 0.25, 0.03) * self._own + rng.uniform(0, 0.02, shape), 3
            ),
            "host_load_average.5": np.round(
                np.where(trains, 40.0, 1.0) * self._own + rng.uniform(0, 2, shape), 2
            ),
            "host_runnable_processes": np.round(
                np.where(trains, 24.0, 2.0) + rng.uniform(-2, 4, shape)
            ),
            "host_memory_size_bytes": 2048 * _GIB * ones,
            "host_memory_available_bytes": np.where(phase == 0, 1900.0, 1200.0) * _GIB,
            "host_pressure_ratio.memory.full": 0 * ones,
            "host_pressure_ratio.io.some": np.round(
                np.where(moves, rng.uniform(0.1, 0.6, shape), 0.01), 3
            ),
            "host_pressure_ratio.io.full": np.round(
                np.where(moves, rng.uniform(0.1, 0.5, shape), 0.0), 3
            ),
            "host_blocked_processes": np.where(saves, rng.integers(0, 9, shape), 0) * 1.0,
            "host_filesystem_available_bytes./": 400 * _GIB * ones,
            "host_filesystem_size_bytes./": 1800 * _GIB * ones,
            "host_clock_offset_seconds": rng.normal(0, 1e-4, shape),
            "host_clock_synchronized": ones,
            "host_network_up.eth0": ones.copy(),
            "host_rdma_port_up.mlx5_0.1": ones.copy(),
            "host_rdma_port_rate_bytes_per_second.mlx5_0.1": 5e10 * ones,
            "collector_duration_seconds.nvidia": np.round(0.2 + rng.gamma(4.0, 0.01, shape), 3),
            "rate:collector_cycles_total.nvidia.timeout": 0 * ones,
            "fleet_target_read_duration_seconds": np.round(0.3 + rng.gamma(4.0, 0.02, shape), 3),
            "fleet_target_clock_skew_seconds": np.round(skew, 1),
            "exporter_series": series * ones,
            "devices.ok": self._settings.devices * ones,
            "devices.lost": 0 * ones,
            # 1.3: 300 k interrupts in 30 s.
            "rate:host_interrupts_total": np.where(trains, 1e4, 800.0)
            * rng.uniform(0.9, 1.1, shape),
            "rate:host_network_carrier_changes_total.eth0": 0 * ones,
            NFS % "requests": requests,
            NFS % "retransmissions": 0 * ones,
            NFS % "round_trip_seconds": requests * trip,
            NFS % "execution_seconds": requests * (trip + queue),
            NFS % "backlog": requests * queue * 10.0,
        }
        for way in ("transmit", "receive"):
            swing = rng.normal(1.0, 0.03, shape)
            columns[f"{RDMA}.{way}"] = of.rdma * self._own * trains * swing + 1e5
        for name, rate in (("np_cnp_sent", 20.0), ("packet_seq_err", 0.0), ("link_downed", 0.0)):
            columns[f"{RDMA_ERRORS}.{name}"] = rate * trains * rng.uniform(0.5, 1.5, shape)
        return columns
