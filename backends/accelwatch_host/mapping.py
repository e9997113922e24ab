"""From what was read to quantities of the catalogue. One function a subject, in any order."""

from pathlib import Path

from accelwatch.backend.kit.cpu_time import CpuTimes, busy_ratio
from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel.sysfs import list_dir
from accelwatch_host import mounts, network, procfs, system, timekeeping
from accelwatch_host.procfs import read_process_table, read_table

# Disks, interfaces, ports, file systems and NFS mounts: at most so many of each.
LIMIT = 64
_RESOURCES = ("cpu", "memory", "io", "irq")
# Block devices that are no disks, or whose traffic the disks under them count too.
_NO_DISK = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")


def collect_kernel(root: Path, out: Collected) -> None:
    """Uptime, load, processors, tasks, interrupts, context switches."""
    text = read_table(root / "proc/uptime")
    seconds = None if isinstance(text, Absence) else procfs.uptime(text)
    _record(out, "host_uptime_seconds", seconds, text)
    text = read_table(root / "proc/loadavg")
    loads = None if isinstance(text, Absence) else procfs.load_averages(text)
    if loads is None:
        out.miss("host_load_average", text if isinstance(text, Absence) else Absence.ERROR)
    else:
        for window, load in zip(("1", "5", "15"), loads, strict=True):
            out.put("host_load_average", load, window)
    text = read_table(root / "proc/stat")
    stat = procfs.KernelStat() if isinstance(text, Absence) else procfs.kernel_stat(text)
    _record(out, "host_cpu_count", stat.cpus, text)
    _record(out, "host_blocked_processes", stat.blocked, text)
    _record(out, "host_runnable_processes", stat.runnable, text)
    _record(out, "host_interrupts_total", stat.interrupts, text)
    _record(out, "host_context_switches_total", stat.context_switches, text)


def _record(out: Collected, key: str, value: float | None, text: str | Absence) -> None:
    if value is not None:
        out.put(key, value)
    else:
        out.miss(key, text if isinstance(text, Absence) else Absence.ERROR)


def collect_cpu(root: Path, out: Collected, before: CpuTimes | None) -> CpuTimes | None:
    """Processor time by mode, busy share since `before`; returns what the next read compares with."""
    times = system.cpu_seconds(root)
    if isinstance(times, Absence):
        out.miss("host_cpu_seconds_total", times)
        out.miss("host_cpu_utilization_ratio", times)
        return None
    for mode, seconds in times.items():
        out.put("host_cpu_seconds_total", seconds, mode)
    ratio, since = (None, times) if before is None else busy_ratio(before, times)
    out.put_or_miss("host_cpu_utilization_ratio", Absence.NOT_COLLECTED if ratio is None else ratio)
    return since


def collect_memory(root: Path, out: Collected) -> None:
    """Main memory and swap."""
    memory = system.memory(root)
    if isinstance(memory, Absence):
        for key in ("size", "available", "used"):
            out.miss(f"host_memory_{key}_bytes", memory)
    else:
        out.put("host_memory_size_bytes", memory.size)
        out.put("host_memory_available_bytes", memory.available)
        out.put("host_memory_used_bytes", memory.size - memory.available)
    text = read_table(root / "proc/meminfo")
    swap = None if isinstance(text, Absence) else procfs.swap(text)
    _record(out, "host_swap_size_bytes", swap.size if swap else None, text)
    _record(out, "host_swap_used_bytes", swap.used if swap else None, text)


def collect_paging(root: Path, out: Collected) -> None:
    """Traffic between memory and disks, and kills for want of memory."""
    text = read_table(root / "proc/vmstat")
    if isinstance(text, Absence):
        out.miss("host_paging_bytes_total", text)
        out.miss("host_out_of_memory_kills_total", text)
        return
    paging = procfs.paging(text)
    out.put_or_miss("host_paging_bytes_total", paging.read, "read")
    out.put_or_miss("host_paging_bytes_total", paging.written, "write")
    out.put_or_miss("host_out_of_memory_kills_total", paging.out_of_memory_kills)


def collect_pressure(root: Path, out: Collected) -> None:
    """Pressure stall information; a kernel without it (or booted with psi=0) does not support it."""
    keys = ("host_pressure_ratio", "host_pressure_stall_seconds_total")
    for resource in _RESOURCES:
        text = read_table(root / "proc/pressure" / resource)
        lines = [] if isinstance(text, Absence) else procfs.pressure(text)
        for line in lines:
            out.put(keys[0], line.ratio, resource, line.share)
            out.put(keys[1], line.stall_s, resource, line.share)
        if not lines and not (resource == "irq" and text is Absence.UNSUPPORTED):
            reason = text if isinstance(text, Absence) else Absence.ERROR
            for key in keys:
                out.miss(key, reason, resource, "some")


def collect_disks(root: Path, out: Collected) -> None:
    """Traffic of whole disks."""
    keys = ("host_disk_bytes_total", "host_disk_io_seconds_total")
    disks = system.disks(root)
    if isinstance(disks, Absence):
        for key in keys:
            out.miss(key, disks)
        return
    whole_disks = {entry.name for entry in list_dir(root / "sys/block")}
    names = [
        name
        for name in sorted(disks)
        if not name.startswith(_NO_DISK) and (not whole_disks or name in whole_disks)
    ]
    for name in names[:LIMIT]:
        out.put(keys[0], disks[name].read, name, "read")
        out.put(keys[0], disks[name].written, name, "write")
        out.put(keys[1], disks[name].busy_s, name)
    if not names:
        for key in keys:
            out.miss(key, Absence.UNSUPPORTED)


def collect_filesystems(root: Path, out: Collected) -> None:
    """Sizes of local file systems; network and user-space ones are never touched."""
    keys = ("host_filesystem_size_bytes", "host_filesystem_available_bytes")
    text = read_process_table(root, "mounts")
    chosen = [] if isinstance(text, Absence) else mounts.measurable(mounts.parse(text), LIMIT)
    for mount in chosen:
        size = system.filesystem(root, root / mount.mountpoint.lstrip("/"))
        if isinstance(size, Absence):
            for key in keys:
                out.miss(key, size, mount.mountpoint)
            continue
        out.put(keys[0], size.size, mount.mountpoint)
        out.put(keys[1], size.available, mount.mountpoint)
    if not chosen:
        for key in keys:
            out.miss(key, text if isinstance(text, Absence) else Absence.UNSUPPORTED)


def collect_network(root: Path, out: Collected) -> None:
    """Carrier and traffic of network interfaces."""
    interfaces = network.interfaces(root, LIMIT)
    traffic = system.networks(root)
    for interface in interfaces:
        out.put_or_miss("host_network_up", interface.up, interface.name)
        out.put_or_miss(
            "host_network_carrier_changes_total", interface.carrier_changes, interface.name
        )
        if not isinstance(traffic, Absence) and interface.name in traffic:
            _traffic(out, interface.name, traffic[interface.name])
    if isinstance(traffic, Absence):
        out.miss("host_network_bytes_total", traffic)
        out.miss("host_network_errors_total", traffic)


def _traffic(out: Collected, name: str, traffic: system.NetworkTraffic) -> None:
    out.put("host_network_bytes_total", traffic.received, name, "receive")
    out.put("host_network_bytes_total", traffic.transmitted, name, "transmit")
    key = "host_network_errors_total"
    out.put(key, traffic.receive_errors, name, "receive", "error")
    out.put(key, traffic.transmit_errors, name, "transmit", "error")
    out.put(key, traffic.receive_drops, name, "receive", "drop")
    out.put(key, traffic.transmit_drops, name, "transmit", "drop")


def collect_rdma(root: Path, out: Collected) -> None:
    """RDMA ports: InfiniBand, RoCE, EFA."""
    for port in network.rdma_ports(root, LIMIT):
        where = (port.device, port.port)
        out.put_or_miss("host_rdma_port_up", port.up, *where)
        out.put_or_miss("host_rdma_port_rate_bytes_per_second", port.rate, *where)
        out.put_or_miss("host_rdma_bytes_total", port.received, *where, "receive")
        out.put_or_miss("host_rdma_bytes_total", port.transmitted, *where, "transmit")
        for name, count in port.errors.items():
            out.put("host_rdma_errors_total", count, *where, name)


def collect_clock(root: Path, out: Collected) -> None:
    """Synchronisation of the system clock; only the running kernel can be queried."""
    state = timekeeping.clock_state() if root == Path("/") else Absence.UNSUPPORTED
    if isinstance(state, Absence):
        out.miss("host_clock_offset_seconds", state)
        out.miss("host_clock_synchronized", state)
        return
    out.put("host_clock_offset_seconds", state.offset_s)
    out.put("host_clock_synchronized", int(state.synchronized))
