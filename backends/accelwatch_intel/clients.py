"""Processes, engine time and memory of one device from its DRM clients' fdinfo."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.reading import Process
from accelwatch.system.kernel import proc
from accelwatch.system.kernel.drm_fdinfo import (
    DrmClient,
    FdinfoScanner,
    UsageMeter,
    client_memory_bytes,
    unshared_bytes,
)
from accelwatch_intel.card import Card

# xe's and i915's engine class to our engine; names not listed stay as they are.
_ENGINES = {
    "rcs": "render",
    "bcs": "copy",
    "vcs": "video",
    "vecs": "video_enhance",
    "ccs": "compute",
    "video-enhance": "video_enhance",
}

# How region names of device memory begin: xe's vram0, i915's local0.
_DEVICE_MEMORY = ("vram", "local", "stolen-local")


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What the clients of one device reported."""

    processes: tuple[Process, ...]
    # Busy ratio by engine over all clients; empty before the second reading.
    engines: dict[str, float]
    # Whether there were two readings, so that an engine that is not listed was idle.
    measured: bool
    # Sum over clients, buffers that clients share left out; None where a client reports no memory.
    memory_bytes: int | None
    visited: int
    # Processes visited, and those of them that may not be read.
    unreadable: int
    # Why an open file of the device did not describe its client.
    absence: Absence | None
    # Whether there may be processes that were not even seen: another pid namespace, or no /proc.
    hidden: bool

    @property
    def is_complete(self) -> bool:
        """Whether sums over the clients are sums over all clients."""
        return not self.hidden and self.unreadable == 0 and self.absence is None


class Clients:
    """Reads the clients of one device, again and again."""

    def __init__(self, root: Path, scanner: FdinfoScanner, card: Card) -> None:
        self._root = root
        self._scanner = scanner
        self._pdev = card.pci_bus_id
        self._discrete = card.discrete
        self._computes = card.kind is DeviceKind.NPU
        self._meter = UsageMeter()
        self._last: float | None = None

    def read(self, device_id: str, now: float, request: Request) -> Usage:
        """Usage now; ratios are over the time since the last call. Never raises."""
        scan = self._scanner.scan(self._pdev)
        ratios = self._meter.update(scan.clients, now)
        measured = self._last is not None and now > self._last
        self._last = now
        by_pid: dict[int, list[DrmClient]] = {}
        for client in scan.clients:
            if _in_use(client):
                by_pid.setdefault(client.pid, []).append(client)
        return Usage(
            processes=tuple(
                self._process(device_id, pid, clients, ratios.get(pid), request)
                for pid, clients in sorted(by_pid.items())
                if request.processes
            ),
            engines=_named(self._meter.engine_totals(self._pdev)) if measured else {},
            measured=measured,
            memory_bytes=self._memory(scan.clients),
            visited=scan.processes_visited,
            unreadable=scan.processes_unreadable,
            absence=scan.absence,
            hidden=scan.processes_visited == 0 or proc.in_own_pid_namespace(self._root),
        )

    def _memory(self, clients: Sequence[DrmClient]) -> int | None:
        """i915 reports memory since Linux 6.8; before, a sum would be an invented 0."""
        if not all(client.memory for client in clients):
            return None
        return sum(unshared_bytes(client, self._regions(client)) or 0 for client in clients)

    def _regions(self, client: DrmClient) -> list[str]:
        if not self._discrete:
            return list(client.memory)
        return [region for region in client.memory if region.startswith(_DEVICE_MEMORY)]

    def _process(
        self,
        device_id: str,
        pid: int,
        clients: Sequence[DrmClient],
        ratios: dict[str, float] | None,
        request: Request,
    ) -> Process:
        amounts = [client_memory_bytes(client, self._regions(client)) for client in clients]
        reported = [amount for amount in amounts if amount is not None]
        busy = max(ratios.values()) if ratios else None
        absent: dict[str, Absence] = {}
        if busy is None:
            absent["utilization_ratio"] = Absence.NOT_COLLECTED
        if not reported:
            absent["gpu_memory_bytes"] = Absence.UNSUPPORTED
        process = Process(
            device_id=device_id,
            pid=pid,
            type="compute" if self._computes else _type(clients),
            gpu_memory_bytes=sum(reported) if reported else None,
            utilization_ratio=busy,
            absent=absent,
        )
        return with_facts(self._root, process, argv=request.argv)


def with_facts(root: Path, process: Process, *, argv: bool) -> Process:
    """The process with what /proc says of it; `foreign` when its pid is not in our /proc."""
    facts = proc.facts(root, process.pid)
    if facts is None:
        return msgspec.structs.replace(process, pid_namespace="foreign")
    return msgspec.structs.replace(
        process,
        start_time=facts.start_time,
        user=None if facts.uid is None else proc.user_name(facts.uid),
        command=facts.command,
        argv=proc.argv(root, process.pid) if argv else None,
        container=facts.container,
        pod=facts.pod_uid,
        job=facts.job,
        host_memory_bytes=facts.host_memory_bytes,
    )


def _in_use(client: DrmClient) -> bool:
    """Whether a client has ever worked or holds memory; a seat manager only keeps the node open."""
    worked = any(client.engines.values()) or any(client.cycles.values())
    return worked or any(any(states.values()) for states in client.memory.values())


def _named(ratios: dict[str, float]) -> dict[str, float]:
    return {_ENGINES.get(engine, engine): ratio for engine, ratio in ratios.items()}


def _type(clients: Sequence[DrmClient]) -> str:
    used = {
        _ENGINES.get(engine, engine)
        for client in clients
        for engine, amount in (*client.engines.items(), *client.cycles.items())
        if amount
    }
    kinds = ["compute"] if "compute" in used else []
    if used - {"compute", "copy"} or not kinds:
        kinds.append("graphics")
    return "+".join(kinds)
