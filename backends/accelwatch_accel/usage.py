"""Load, memory and processes of one device from the fdinfo of its clients."""

from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected, Process
from accelwatch.system.kernel import proc
from accelwatch.system.kernel.drm_fdinfo import (
    DrmClient,
    FdinfoScan,
    FdinfoScanner,
    UsageMeter,
    client_memory_bytes,
    unshared_bytes,
)

OF_CLIENTS = ("utilization_ratio", "engine_utilization_ratio", "memory_used_bytes")
# How releases of amdxdna name their only engine; other names stay as they are.
_ENGINES = {"npu-amdxdna": "npu", "amdxdna_accel_driver": "npu"}


class Usage:
    """Reads the clients of one device, again and again; `bus_name` is the device's name on its bus."""

    def __init__(self, root: Path, scanner: FdinfoScanner, bus_name: str) -> None:
        self._root = root
        self._scanner = scanner
        self._bus_name = bus_name
        self._meter = UsageMeter()
        self._last: float | None = None

    def read(self, out: Collected, now: float) -> list[Process] | Absence:
        """Put what all clients together use; returns who they are, or why that is unknown."""
        scan = self._scanner.scan(self._bus_name)
        by_pid = self._meter.update(scan.clients, now)
        measured = self._last is not None and now > self._last
        self._last = now
        why = self._partial(scan)
        if why is not None:
            for key in OF_CLIENTS:
                out.miss(key, why)
        else:
            self._collect_load(out, scan, measured=measured)
            out.put_or_miss("memory_used_bytes", _memory(scan.clients))
        if scan.processes_visited in (0, scan.processes_unreadable):
            return Absence.PERMISSION
        return [
            self._process(out.device_id, pid, scan, by_pid.get(pid))
            for pid in sorted({client.pid for client in scan.clients})
        ]

    def _collect_load(self, out: Collected, scan: FdinfoScan, *, measured: bool) -> None:
        engines = self._meter.engine_totals(self._bus_name)
        if not measured:
            out.miss("utilization_ratio", Absence.NOT_COLLECTED)
        elif engines or not scan.clients:
            out.put("utilization_ratio", max(engines.values(), default=0.0))
        else:
            has_counters = any(client.engines or client.cycles for client in scan.clients)
            why = Absence.NOT_COLLECTED if has_counters else Absence.UNSUPPORTED
            out.miss("utilization_ratio", why)
        for engine, ratio in engines.items() if measured else ():
            out.put("engine_utilization_ratio", ratio, _ENGINES.get(engine, engine))

    def _partial(self, scan: FdinfoScan) -> Absence | None:
        """Why sums over the clients are not sums over all of them."""
        if scan.absence is not None:
            return scan.absence
        hidden = scan.processes_visited == 0 or proc.in_own_pid_namespace(self._root)
        return Absence.PERMISSION if hidden or scan.processes_unreadable else None

    def _process(
        self, device_id: str, pid: int, scan: FdinfoScan, ratios: dict[str, float] | None
    ) -> Process:
        amounts = [
            client_memory_bytes(client, client.memory)
            for client in scan.clients
            if client.pid == pid
        ]
        reported = [amount for amount in amounts if amount is not None]
        facts = proc.facts(self._root, pid)
        absent = {} if ratios else {"utilization_ratio": Absence.NOT_COLLECTED}
        return Process(
            device_id=device_id,
            pid=pid,
            command=None if facts is None else facts.command,
            gpu_memory_bytes=sum(reported) if reported else None,
            utilization_ratio=max(ratios.values()) if ratios else None,
            absent=absent,
        )


def _memory(clients: tuple[DrmClient, ...]) -> int | Absence:
    """Buffers that clients share are left out; a client that reports no memory spoils the sum."""
    amounts = [unshared_bytes(client, client.memory) for client in clients]
    reported = [amount for amount in amounts if amount is not None]
    return sum(reported) if len(reported) == len(amounts) else Absence.UNSUPPORTED
