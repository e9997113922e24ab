"""What healthy devices tell: all columns of three hours, by node, device and tick."""

import numpy as np

from traces.character import Array, Character, Settings
from traces.sessions import DEAD, HANG, IDLE, LOAD, SAVE, SMALL, STALL, TRAIN
from traces.span import poisson

_GIB = float(1 << 30)
LOST = "device_unreadable_info.lost.lost"
NVLINK = "rate:interconnect_bytes_total.nvlink"
_PHASES = 8
# Busy by phase: 99.4-100 % in training at any power (5.2); 1.4: load has hardly any; the rest follow.
_BUSY = np.zeros(_PHASES, dtype=np.float32)
_BUSY[[LOAD, TRAIN, SAVE, STALL, HANG, SMALL]] = 0.15, 0.995, 0.05, 0.02, 1.0, 0.8


class Devices:
    """The devices of a trace; goes from span to span."""

    def __init__(self, rng: np.random.Generator, character: Character, settings: Settings) -> None:
        self._rng, self._character = rng, character
        self._step = settings.interval_s
        shape = self._shape = settings.nodes, settings.devices
        self._own = rng.normal(1.0, character.device_sd, shape).astype(np.float32)[..., None]
        self._heat = rng.normal(0.0, character.heat_sd, shape).astype(np.float32)[..., None]
        other = rng.random(settings.nodes) < character.other_model
        self.models = ["NVIDIA H200" if one else "NVIDIA B200" for one in other]
        self._model = np.where(other, character.other_power, 1.0).astype(np.float32)[:, None, None]
        # 4.4: time constants from nothing to 54 min.
        tau = np.exp(rng.uniform(np.log(15.0), np.log(3240.0), shape))
        self._keep = np.exp(-settings.interval_s / tau).astype(np.float32)
        self._noise = np.zeros(shape, dtype=np.float32)
        self._spread = rng.uniform(0.7, 1.3, shape).astype(np.float32)[..., None]

        # How often a second a healthy device counts each error; `rates` are those of 504 devices.
        links, rates, day = character.link_errors_an_hour / 3600.0, character.rates, 504 * 86_400.0
        self.usual = {
            "interconnect_errors_total.nvlink.crc_flit": links,
            "interconnect_errors_total.nvlink.replay": links,
            "interconnect_errors_total.nvlink.recovery": rates.link_recoveries / day,
            "ecc_errors_total.corrected": rates.corrected_ecc / day,
            "pcie_errors_total.replay": rates.pcie_replays / day,
        }

    def columns(
        self, seconds: Array, phase: Array, factor: Array, stage: Array, small: Array
    ) -> dict[str, Array]:
        """All columns.

        Seconds, phase and its factor of power are by node and tick, the stage is by node, and `small`
        (where a small job runs) by node, device and tick.
        """
        of = self._character
        shape = (*self._shape, seconds.shape[-1])
        ones = np.ones(shape, dtype=np.float32)
        at = np.where(small, SMALL, phase[:, None, :])
        trains = at == TRAIN
        power = of.stage_power[stage].astype(np.float32)[:, None, None]
        traffic = of.stage_traffic[stage].astype(np.float32)[:, None, None]
        day = np.sin(seconds / 86_400 * 2 * np.pi).astype(np.float32)[:, None, :]
        step = np.sin(seconds / of.step_s * 2 * np.pi).astype(np.float32)[:, None, :]
        wander = 1.0 + of.noise_sd * self._wander(shape[-1]) + of.alias * step
        full = of.train_w * power * self._own * self._model
        level = np.zeros(_PHASES)
        level[[IDLE, LOAD, SAVE, STALL, DEAD]] = (
            of.idle_w,
            of.loaded_w * 1.2,
            of.save_w,
            of.loaded_w,
            of.loaded_w,
        )
        watts = level.astype(np.float32)[at]
        watts = np.where(trains, full * (1 + of.diurnal * day) * wander, watts)
        watts = np.where(at == HANG, full * factor[:, None, :].astype(np.float32), watts)
        watts = np.where(small, 0.5 * full * wander, watts)
        watts += self._normal(shape, 1.5)  # 5.2: 1.2-2.3 W
        busy = np.clip(_BUSY[at] + self._normal(shape, 0.004) * (at != IDLE), 0.0, 1.0)
        heat = 27.0 + 0.045 * watts + self._heat + of.diurnal_celsius * day
        idle = at == IDLE
        clock = np.where(idle, 345e6, 1.9e9).astype(np.float32)
        size = 180 * _GIB * ones
        columns = {
            "device_up": ones,
            LOST: np.full(shape, np.nan, dtype=np.float32),
            "processes.compute": np.where(idle, 0.0, ones),
            "utilization_ratio": np.round(busy, 2),
            "memory_controller_utilization_ratio": np.round(0.6 * busy, 2),
            "matrix_active_ratio": np.round(
                0.25 * traffic * np.where(trains, wander * self._own, 0.3 * small), 3
            ),
            "memory_size_bytes": size,
            "memory_used_bytes": np.where(idle, 0.01, 0.85) * size,
            "temperature_celsius.gpu": np.round(heat + self._normal(shape, 0.4)),
            "temperature_celsius.memory": np.round(heat + 6.0 + self._normal(shape, 0.4)),
            "power_watts": np.round(watts),
            "power_limit_watts.enforced": 1000.0 * ones,
            "clock_hertz.sm": clock,
            "clock_hertz.memory": 3.9e9 * ones,
            "clock_limit_hertz.sm.max": 1.965e9 * ones,
            "pcie_link_generation.current": 5.0 * ones,
            "pcie_link_generation.max": 5.0 * ones,
            "pcie_link_width_lanes.current": 16.0 * ones,
            "pcie_link_width_lanes.max": 16.0 * ones,
            "interconnect_links.nvlink.up": 18.0 * ones,
        }
        zeros = np.zeros(shape, dtype=np.float32)
        for name in (
            *(f"throttle_active.{one}" for one in ("thermal_software", "thermal_hardware")),
            *("throttle_active.power_brake", "memory_repair_pending", "memory_repair_failed"),
            *("memory_remapped_rows.corrected", "memory_remapped_rows.uncorrected"),
            *("reset_required", "rate:ecc_errors_total.uncorrected"),
        ):
            columns[name] = zeros.copy()
        columns["throttle_active.power"] = ((watts > 930) & trains).astype(np.float32)
        columns["rate:energy_joules_total.hardware"] = watts
        for way in ("transmit", "receive"):
            # 5.2: 10 % of the mean, and for PCIe so much that peers say nothing.
            swing = np.clip(1.0 + self._normal(shape, 0.10), 0.1, None)
            columns[f"{NVLINK}.{way}"] = of.nvlink * traffic * trains * swing * wander
            swing = np.abs(self._normal(shape, 0.6) + 1.0) * self._spread
            columns[f"rate:pcie_bytes_total.{way}"] = (
                of.pcie * (0.002 + trains + (at == LOAD)) * swing
            )
        return columns | self._errors(shape)

    def _errors(self, shape: tuple[int, ...]) -> dict[str, Array]:
        return {
            f"rate:{name}": poisson(self._rng, rate, self._step, shape)
            for name, rate in self.usual.items()
        }

    def _normal(self, shape: tuple[int, ...], sd: float) -> Array:
        return self._rng.standard_normal(shape, dtype=np.float32) * np.float32(sd)

    def _wander(self, ticks: int) -> Array:
        """Noise of unit variance that lasts, of heavy tails, by device and tick."""
        df = self._character.noise_df
        drawn = self._rng.standard_t(df, (ticks, *self._shape)).astype(np.float32)
        drawn *= np.float32(np.sqrt((df - 2.0) / df)) * np.sqrt(1.0 - self._keep**2)
        for at in range(ticks):
            self._noise = drawn[at] = self._keep * self._noise + drawn[at]
        return np.ascontiguousarray(drawn.transpose(1, 2, 0))
