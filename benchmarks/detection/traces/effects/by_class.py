"""What each class of fault does to the columns of its node (design 5.3)."""

import numpy as np

from traces.character import Array
from traces.devices import LOST, NVLINK
from traces.effects.parts import PART_EFFECTS, Effect
from traces.hosts import NFS, RDMA
from traces.placed import Placed
from traces.sessions import TRAIN
from traces.span import Span


def _stands_still(span: Span, fault: Placed, during: Array) -> None:
    """1.3: interrupts 300 k -> 85 k in 30 s, nothing is runnable any more."""
    span.host["rate:host_interrupts_total"][fault.node, during] *= 0.28
    span.host["host_runnable_processes"][fault.node, during] = 0.0


def _without_traffic(span: Span, fault: Placed, during: Array) -> None:
    for name in (f"{NVLINK}.transmit", f"{NVLINK}.receive"):
        span.device[name][fault.node, fault.device, during] = 0.0


def _nvlink(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    span.device["interconnect_links.nvlink.up"][fault.node, fault.device, during] -= 1.0
    _without_traffic(span, fault, during)
    _stands_still(span, fault, during)
    assert fault.xid_at is not None
    for after in (0.0, 1.5, 3.0):
        rest = ", NETIR_LINK_EVT Fatal XC0 i0 Link 03 (0x1)"
        span.xid(fault.xid_at + after, fault.node, fault.device, "149", rest)
    span.xid(fault.xid_at + 4.0, fault.node, fault.device, "45", ", Ch 00000001")


def _ecc(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    at = fault.node, fault.device
    span.device["memory_repair_pending"][(*at, during)] = 1.0
    after = span.seconds[fault.node] > fault.onset
    span.device["memory_remapped_rows.uncorrected"][(*at, after)] += 1.0
    # 1.3: GETATTR from 10 ms to hundreds and pages written out, for a minute.
    spike = span.during(fault.node, fault.onset, fault.onset + 60.0)
    span.host[NFS % "round_trip_seconds"][fault.node, spike] *= 20.0
    span.host[NFS % "execution_seconds"][fault.node, spike] *= 20.0
    span.host["host_pressure_ratio.io.some"][fault.node, spike] = 0.5
    assert fault.xid_at is not None
    span.xid(fault.xid_at, *at, "94", ", Contained memory error")
    span.xid(fault.xid_at + 1.0, *at, "63", ", Row remapping event")


def _lost(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    """Some exporters tell a lost device as one that cannot be read, some not at all."""
    at = fault.node, fault.device, during
    if fault.variant < 0.5:
        span.device_rows[at] = False
    else:
        _unreadable(span, fault, during)
        span.device[LOST][at] = 1.0
        span.host["devices.lost"][fault.node, during] += 1.0
    span.host["devices.ok"][fault.node, during] -= 1.0
    span.host["exporter_series"][fault.node, during] *= 0.88  # 5.3: sample count -12 %
    slow = span.during(fault.node, fault.onset, fault.onset + 120.0)
    span.host["fleet_target_read_duration_seconds"][fault.node, slow] *= 8.0
    _stands_still(span, fault, during)
    if fault.xid_at is not None:
        span.xid(fault.xid_at, fault.node, fault.device, "79", ", GPU has fallen off the bus.")


def _unreadable(span: Span, fault: Placed, during: Array) -> None:
    for name, values in span.device.items():
        if name == "device_up" or name.startswith("rate:"):
            values[fault.node, fault.device, during] = 0.0
        else:
            values[fault.node, fault.device, during] = np.nan


def _gsp(span: Span, fault: Placed, during: Array, rng: np.random.Generator) -> None:
    _unreadable(span, fault, during)
    span.host["collector_duration_seconds.nvidia"][fault.node, during] = rng.uniform(5, 20)
    span.host["rate:collector_cycles_total.nvidia.timeout"][fault.node, during] = 1.0 / span.step
    assert fault.xid_at is not None
    rest = ", Timeout after 6s of waiting for RPC response from GPU"
    span.xid(fault.xid_at, fault.node, fault.device, "119", rest)


def _unreachable(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    span.host_rows[fault.node, during] = False


def _slower(span: Span, fault: Placed, by: float) -> None:
    """All wait for the slowest: the others of its job draw and move less."""
    if fault.session is None or by < 0.01:
        return
    for node in fault.session.nodes:
        if node != fault.node:
            less = span.during(node, fault.onset, fault.until) & (span.phase[node] == TRAIN)
            # Assumption: a device that waits for a third of the slow-down draws that much less.
            span.device["power_watts"][node, :, less] *= 1.0 - by / 3.0
            for name in (f"{NVLINK}.transmit", f"{NVLINK}.receive"):
                span.device[name][node, :, less] *= 1.0 - by
            for way in ("transmit", "receive"):
                span.host[f"{RDMA}.{way}"][node, less] *= 1.0 - by


def _slow_clock(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    trains = during & (span.phase[fault.node] == TRAIN)
    by = fault.magnitude or 0.0
    at = fault.node, fault.device, trains
    span.device["power_watts"][at] = np.round(span.device["power_watts"][at] * (1.0 - by))
    span.device["clock_hertz.sm"][at] *= 1.0 - min(by * 4.0 / 3.0, 0.4)  # 5.3: clock -5 to -40 %
    if fault.variant < 0.5:
        span.device["throttle_active.thermal_software"][at] = 1.0
    _slower(span, fault, by * 0.5)


def _slow_link(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    """A port or the host's side of it trained to a lower rate."""
    by = fault.magnitude or 0.0
    for way in ("transmit", "receive"):
        span.host[f"{RDMA}.{way}"][fault.node, during] *= 1.0 - by
        span.device[f"rate:pcie_bytes_total.{way}"][fault.node, :, during] *= 1.0 - by
    if fault.variant < 0.5:
        span.host["host_rdma_port_rate_bytes_per_second.mlx5_0.1"][fault.node, during] *= 0.5
    trains = during & (span.phase[fault.node] == TRAIN)
    span.device["power_watts"][fault.node, :, trains] *= 1.0 - by / 5.0
    _slower(span, fault, by / 2.0)  # 5.3: steps 10-34 % longer


def _hang(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    """The others are busy at little power; the culprit does nothing, or has no process."""
    at = fault.node, fault.device, during
    if fault.session is None or fault.session.tail is None:
        return
    span.device["utilization_ratio"][at] = 0.0
    span.device["power_watts"][at] = np.minimum(span.device["power_watts"][at], 180.0)
    if fault.variant < 0.5:
        span.device["processes.compute"][at] = 0.0


def _nothing(span: Span, fault: Placed, during: Array, _: np.random.Generator) -> None:
    """Silent corruption: no column tells it."""


def _app(span: Span, fault: Placed, _during: Array, _: np.random.Generator) -> None:
    """A program with a mistake faults on a node, and its other channels are cleaned up."""
    assert fault.xid_at is not None
    for device in range(span.device["device_up"].shape[1]):
        after = fault.xid_at + 2.0 * device
        span.xid(after, fault.node, device, "31", ", MMU Fault")
        span.xid(after + 1.0, fault.node, device, "43", ", Ch 00000010")


EFFECTS: dict[str, Effect] = PART_EFFECTS | {
    "nvlink": _nvlink,
    "ecc_94": _ecc,
    "off_bus": _lost,
    "gpu_lost": _lost,
    "gsp": _gsp,
    "unreachable": _unreachable,
    "slow_clock": _slow_clock,
    "slow_link": _slow_link,
    "hang": _hang,
    "sdc": _nothing,
    "app": _app,
}
