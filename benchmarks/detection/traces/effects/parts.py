"""What broken parts around the devices do: fans, supplies, cables, lanes, network cards (design 5.3)."""

from collections.abc import Callable

import numpy as np

from traces.character import Array
from traces.hosts import RDMA, RDMA_ERRORS
from traces.placed import Placed
from traces.sessions import TRAIN
from traces.span import Span

Effect = Callable[[Span, Placed, Array, np.random.Generator], None]


def _fan(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    """Hotter at equal power, within half an hour; what gets too hot slows down."""
    ramp = np.clip((span.seconds[fault.node] - fault.onset) / 1800.0, 0, 1) * (fault.magnitude or 0)
    for name in ("temperature_celsius.gpu", "temperature_celsius.memory"):
        values = span.device[name][fault.node]
        values[:, during] = np.round(values[:, during] + ramp[during])
    hot = span.device["temperature_celsius.gpu"][fault.node] >= 87.0
    span.device["throttle_active.thermal_hardware"][fault.node][hot & during] = 1.0


def _psu(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    trains = during & (span.phase[fault.node] == TRAIN)
    span.device["throttle_active.power_brake"][fault.node, :, trains] = 1.0
    span.device["power_watts"][fault.node, :, trains] *= 0.6
    span.device["clock_hertz.sm"][fault.node, :, trains] *= 0.6


def _cable(span: Span, fault: Placed, during: Array, rng: np.random.Generator) -> None:
    """The link flaps: down for a sample now and then, and counted each time."""
    flaps = during & (rng.random(len(during)) < 0.2)
    span.host["host_rdma_port_up.mlx5_0.1"][fault.node, flaps] = 0.0
    span.host[f"{RDMA_ERRORS}.link_downed"][fault.node, flaps] = 1.0 / span.step
    for at in span.seconds[fault.node, flaps]:
        span.log(float(at) - 5.0, fault.node, None, "mlx5_link_down", "mlx5_core: Link down")


def _rnic(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    span.host["host_rdma_port_up.mlx5_0.1"][fault.node, during] = 0.0
    for way in ("transmit", "receive"):
        span.host[f"{RDMA}.{way}"][fault.node, during] = 0.0
    span.log(fault.onset + 1.0, fault.node, None, "mlx5_link_down", "mlx5_core: Link down")


def _pcie_width(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    by = fault.magnitude or 0.5
    span.device["pcie_link_width_lanes.current"][fault.node, fault.device, during] = 16 * (1 - by)
    for way in ("transmit", "receive"):
        span.device[f"rate:pcie_bytes_total.{way}"][fault.node, fault.device, during] *= 1 - by


def _slow_reads(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    by = fault.magnitude or 1.0
    for name in ("collector_duration_seconds.nvidia", "fleet_target_read_duration_seconds"):
        span.host[name][fault.node, during] *= by


PART_EFFECTS: dict[str, Effect] = {
    "fan": _fan,
    "psu": _psu,
    "cable": _cable,
    "rnic": _rnic,
    "pcie_width": _pcie_width,
    "slow_reads": _slow_reads,
}
