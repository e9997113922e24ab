"""Processes on a device: DRM clients from fdinfo joined with the compute driver's own accounts."""

from collections.abc import Mapping
from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Process
from accelwatch.system.kernel import proc
from accelwatch.system.kernel.drm_fdinfo import (
    DrmClient,
    FdinfoScan,
    UsageMeter,
    client_memory_bytes,
)
from accelwatch_amd.sysfs.kfd import KfdUse

_REGIONS = ("vram",)
_SHARED_REGIONS = ("vram", "gtt")


def _kind(clients: list[DrmClient], computes: bool) -> str:
    """Compute through KFD or compute rings; graphics when any other ring has been used or none yet."""
    used = {engine for client in clients for engine, busy in client.engines.items() if busy}
    compute = computes or "compute" in used
    graphics = bool(used - {"compute", "dma"}) or not compute
    return "+".join(
        name for name, is_used in (("compute", compute), ("graphics", graphics)) if is_used
    )


def _memory(clients: list[DrmClient], use: KfdUse | None, shared: bool) -> int | None:
    """The larger of the two accounts: newer drivers count KFD's buffers in fdinfo too.

    What a process shares with others it holds as they do (`drm-resident-` of the kernel's
    drm-usage-stats counts it in full); only sums over processes leave it out.
    """
    regions = _SHARED_REGIONS if shared else _REGIONS
    amounts = [
        amount for client in clients if (amount := client_memory_bytes(client, regions)) is not None
    ]
    accounts = [sum(amounts)] if amounts else []
    if use is not None and use.memory_bytes is not None:
        accounts.append(use.memory_bytes)
    return max(accounts, default=None)


class ProcessReader:
    """Processes of one device; keeps the engine counters of the scan before."""

    def __init__(self, root: Path, device_id: str, *, shared_memory: bool, one_shot: bool) -> None:
        self._root = root
        self._device_id = device_id
        self._shared = shared_memory
        self._one_shot = one_shot
        self._meter = UsageMeter()

    def read(
        self, scan: FdinfoScan, compute: Mapping[int, KfdUse], now: float, *, argv: bool
    ) -> tuple[Process, ...]:
        """All processes of the device by pid; `now` is monotonic seconds."""
        by_pid: dict[int, list[DrmClient]] = {}
        for client in scan.clients:
            if client.driver == "amdgpu":
                by_pid.setdefault(client.pid, []).append(client)
        usage = {} if self._one_shot else self._meter.update(scan.clients, now)
        return tuple(
            self._process(pid, by_pid.get(pid, []), compute.get(pid), usage.get(pid), argv)
            for pid in sorted(by_pid.keys() | compute.keys())
        )

    def _process(
        self,
        pid: int,
        clients: list[DrmClient],
        use: KfdUse | None,
        ratios: dict[str, float] | None,
        argv: bool,
    ) -> Process:
        facts = proc.facts(self._root, pid)
        memory = _memory(clients, use, self._shared)
        utilization = max(ratios.values(), default=None) if ratios else None
        absent: dict[str, Absence] = {}
        if memory is None:
            absent["gpu_memory_bytes"] = Absence.UNSUPPORTED
        if utilization is None:
            moves = bool(clients) and use is None
            absent["utilization_ratio"] = Absence.NOT_COLLECTED if moves else Absence.UNSUPPORTED
        return Process(
            device_id=self._device_id,
            pid=pid,
            pid_namespace="same" if facts is not None else "foreign",
            type=_kind(clients, use is not None),
            start_time=facts.start_time if facts else None,
            user=proc.user_name(facts.uid) if facts and facts.uid is not None else None,
            command=facts.command if facts else None,
            argv=proc.argv(self._root, pid) if argv and facts else None,
            container=facts.container if facts else None,
            pod=facts.pod_uid if facts else None,
            job=facts.job if facts else None,
            gpu_memory_bytes=memory,
            utilization_ratio=utilization,
            host_memory_bytes=facts.host_memory_bytes if facts else None,
            absent=absent,
        )
