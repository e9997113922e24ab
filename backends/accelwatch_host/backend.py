"""The host as a device of its own kind: one row, read from /proc, /sys and psutil."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from accelwatch.backend import Check, Context, Opened, Probe, Request
from accelwatch.errors import BackendUnavailable
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import host_metrics
from accelwatch.schema.reading import Collected, Reading, complete
from accelwatch_host import mapping
from accelwatch_host.identity import host_device

GROUP = "host"


class HostBackend:
    """Reads the host's own quantities when the group `host` is asked for."""

    name = "host"
    vendor = "host"
    serial = False

    def __init__(self, context: Context) -> None:
        self._root: Path = context.root
        self._cpu: mapping.CpuTimes | None = None

    def probe(self) -> Probe:
        """Look for /proc."""
        path = self._root / "proc/stat"
        present = path.is_file()
        return Probe(present=present, checks=(Check(subject=str(path), ok=present),))

    def open(self) -> Opened:
        """Look for /proc and psutil; BackendUnavailable when one is missing.

        psutil itself is imported by the first read that needs it: a snapshot without the group `host`
        does not wait for it.
        """
        if not (self._root / "proc").is_dir():
            raise BackendUnavailable(
                f"{self._root / 'proc'}: no such directory", reason="not_found"
            )
        if importlib.util.find_spec("psutil") is None:
            raise BackendUnavailable(
                "psutil is not installed", reason="library", remedy="install psutil 6 or newer"
            )
        kernel = host_device(self._root, self.name).driver_version
        return Opened(source="procfs+psutil", versions={"kernel": kernel} if kernel else {})

    def discover(self) -> Sequence[Device]:
        """The host."""
        return (host_device(self._root, self.name),)

    def identify(self, device: Device) -> Sequence[Device]:
        """The host as it is; it has no partitions."""
        return (device,)

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """All of the host's quantities, each with a value or a reason; never raises.

        The busy share of the processors needs two reads, the first says `not_collected`.
        """
        out = Collected(device.id)
        if GROUP not in request.groups:
            return (complete(out.reading(), request.groups, host_metrics()),)
        root = self._root
        mapping.put_kernel(root, out)
        self._cpu = mapping.put_cpu(root, out, self._cpu)
        mapping.put_memory(root, out)
        mapping.put_pressure(root, out)
        mapping.put_disks(root, out)
        mapping.put_filesystems(root, out)
        mapping.put_network(root, out)
        mapping.put_rdma(root, out)
        mapping.put_nfs(root, out)
        mapping.put_clock(root, out)
        reading = out.reading(sources={"*": "procfs+psutil"})
        return (complete(reading, request.groups, host_metrics()),)

    def close(self) -> None:
        """Forget the last read."""
        self._cpu = None
