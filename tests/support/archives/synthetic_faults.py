"""What goes wrong in a synthetic fleet: each kind changes the arrays of a span from its moment on."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from support.archives.synthetic_fleet import Fault, Span, SyntheticFleet

LOST = "device_unreadable_info.lost.lost"
Mask = npt.NDArray[np.bool_]
_NVLINK = "rate:interconnect_bytes_total.nvlink"


def apply(fleet: "SyntheticFleet", span: "Span") -> None:
    """All faults of a fleet, as far as they lie in a span."""
    for fault in fleet.plan.faults:
        during = (span.seconds > fault.at) & (span.seconds <= fault.at + fault.lasts)
        starts = span.seconds[0] - fleet.plan.step_s <= fault.at < span.seconds[-1]
        if during.any() or starts:
            KINDS[fault.kind](fleet, span, fault, during, bool(starts))


def _job_hangs(fleet: "SyntheticFleet", span: "Span", during: Mask, but: int = -1) -> None:
    """Everybody else waits: busy, with little power and no traffic."""
    workers = [one for one in range(fleet.workers) if one != but]
    at = np.ix_(during, np.array(workers))
    busy = span.device["utilization_ratio"][at] > 0.5
    span.device["utilization_ratio"][at] = np.where(busy, 1.0, span.device["utilization_ratio"][at])
    span.device["power_watts"][at] = np.where(
        busy, np.round(0.45 * span.device["power_watts"][at]), span.device["power_watts"][at]
    )
    for way in ("transmit", "receive"):
        span.device[f"{_NVLINK}.{way}"][at] = 0.0
        span.device[f"rate:pcie_bytes_total.{way}"][at] = 0.0
    span.node["rate:host_rdma_bytes_total.mlx5_0.1.transmit"][at] = 0.0


def _unread(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    """A device whose reads fail: nothing says why, and its job works on."""
    devices = slice(None) if fault.device is None else fault.device
    for name, values in span.device.items():
        if name == "device_up":
            values[during, fault.node, devices] = 0.0
        elif not name.startswith("rate:"):
            values[during, fault.node, devices] = np.nan


def _nothing_of(span: "Span", during: Mask, fault: "Fault") -> None:
    """A device that cannot be read: a row of nulls."""
    for name, values in span.device.items():
        values[during, fault.node, fault.device] = (
            0.0 if name == "device_up" or name.startswith("rate:") else np.nan
        )
    span.device[LOST][during, fault.node, fault.device] = 1.0
    span.node["devices.ok"][during, fault.node] -= 1
    span.node["devices.lost"][during, fault.node] += 1


def _lost_with_row(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    _nothing_of(span, during, fault)
    _job_hangs(fleet, span, during)
    if starts:
        text = "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."
        span.events.append((fault.at + 20, fault.node, fault.device, "xid_79", text))


def _lost_without_row(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    span.rows[during, fault.node, fault.device] = False
    _job_hangs(fleet, span, during)


def _nvlink(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    _job_hangs(fleet, span, during)
    if starts:
        text = "NVRM: Xid (PCI:0000:1b:00): 149, pid=77, NETIR_LINK_EVT Fatal XC0 i0 Link 03 (0x1)"
        for after in (1, 2, 4):
            span.events.append((fault.at + after, fault.node, fault.device, "xid_149", text))
        span.events.append(
            (
                fault.at + 5,
                fault.node,
                fault.device,
                "xid_45",
                "NVRM: Xid (PCI:0000:1b:00): 45, Ch 00000001",
            )
        )


def _gsp(fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool) -> None:
    _job_hangs(fleet, span, during)
    if starts:
        span.events.append(
            (
                fault.at + 3,
                fault.node,
                fault.device,
                "xid_119",
                "NVRM: Xid (PCI:0000:1b:00): 119, pid=1, Timeout after 6s",
            )
        )


def _hang(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    _job_hangs(fleet, span, during)
    span.device["utilization_ratio"][during, fault.node, fault.device] = 0.0
    span.device["power_watts"][during, fault.node, fault.device] = 190.0


def _unreachable(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    span.node_rows[during, fault.node] = False
    _job_hangs(fleet, span, during, but=fault.node)


def _gap(fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool) -> None:
    span.node_rows[during, fault.node] = False


def _recorder_gap(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    span.node_rows[during] = False


def _device_rows_gap(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    span.rows[during, fault.node] = False


def _ecc(fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool) -> None:
    if starts:
        span.events.append(
            (
                fault.at + 2,
                fault.node,
                fault.device,
                "xid_94",
                "NVRM: Xid (PCI:0000:1b:00): 94, Contained memory error",
            )
        )
        span.events.append(
            (
                fault.at + 2,
                fault.node,
                fault.device,
                "xid_63",
                "NVRM: Xid (PCI:0000:1b:00): 63, Row remapping event",
            )
        )
    after = span.seconds > fault.at
    span.device["memory_remapped_rows.uncorrected"][after, fault.node, fault.device] += 1
    span.device["memory_repair_pending"][during, fault.node, fault.device] = 1


def _application(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    if starts:
        for device in range(fleet.plan.devices):
            span.events.append(
                (
                    fault.at + device,
                    fault.node,
                    device,
                    "xid_31",
                    "NVRM: Xid (PCI:0000:1b:00): 31, pid=9, MMU Fault",
                )
            )
            span.events.append(
                (
                    fault.at + device + 0.5,
                    fault.node,
                    device,
                    "xid_43",
                    "NVRM: Xid (PCI:0000:1b:00): 43, pid=9, Ch 1",
                )
            )


def _cleaned_up(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    """A job ends: its channels are removed on every device of its nodes."""
    if starts:
        for node in fault.nodes or range(fleet.workers):
            for device in range(fleet.plan.devices):
                text = "NVRM: Xid (PCI:0000:1b:00): 45, pid=4001, name=python3, Ch 00000000"
                span.events.append((fault.at + node / 10, node, device, "xid_45", text))


def _logged(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    """The kernel logs of the nodes have these lines."""
    for node in fault.nodes if starts else ():
        for after, device, code, text in fault.lines:
            span.events.append((fault.at + after, node, device, code, text))


def _booted(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    """The node starts anew."""
    after = span.seconds > fault.at
    span.node["host_uptime_seconds"][after, fault.node] = span.seconds[after] - fault.at


def _straggler(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    at = during, fault.node, fault.device
    busy = span.device["utilization_ratio"][at] > 0.5
    for name, by in (("power_watts", 0.7), ("clock_hertz.sm", 0.65)):
        span.device[name][at] = np.where(busy, by * span.device[name][at], span.device[name][at])


def _thermal(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    _straggler(fleet, span, fault, during, starts)
    span.device["throttle_active.thermal_hardware"][during, fault.node, fault.device] = 1.0
    span.device["temperature_celsius.gpu"][during, fault.node, fault.device] = 92.0


def _storage(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    nodes = list(fault.nodes or range(fleet.workers))
    at = np.ix_(during, np.array(nodes))
    span.node["host_blocked_processes"][at] = 12.0
    span.node["host_pressure_ratio.io.full"][at] = 0.9
    span.node["rate:host_nfs_backlog_total./mnt/train"][at] = 50_000.0
    span.device["utilization_ratio"][at] = 0.05
    span.device["power_watts"][at] = 300.0
    for way in ("transmit", "receive"):
        span.device[f"{_NVLINK}.{way}"][at] = 0.0
    if starts:
        for node in nodes:
            span.events.append(
                (
                    fault.at + 60 + node % 7,
                    node,
                    None,
                    "nfs_not_responding",
                    "nfs: server fs1 not responding, still trying",
                )
            )
            span.events.append((fault.at + fault.lasts, node, None, "nfs_ok", "nfs: server fs1 OK"))


def _port(
    fleet: "SyntheticFleet", span: "Span", fault: "Fault", during: Mask, starts: bool
) -> None:
    span.node["host_rdma_port_up.mlx5_0.1"][during, fault.node] = 0.0


KINDS: dict[str, Callable[..., None]] = {
    "lost_rows": _lost_with_row,
    "lost": _lost_without_row,
    "nvlink": _nvlink,
    "gsp": _gsp,
    "hang": _hang,
    "unreachable": _unreachable,
    "unread": _unread,
    "gap": _gap,
    "recorder_gap": _recorder_gap,
    "device_rows_gap": _device_rows_gap,
    "ecc": _ecc,
    "application": _application,
    "cleaned_up": _cleaned_up,
    "logged": _logged,
    "booted": _booted,
    "straggler": _straggler,
    "thermal": _thermal,
    "storage": _storage,
    "port": _port,
}
