"""The host as a device of its own kind: one row, read from /proc, /sys and psutil."""

import importlib.util
import uuid
from collections.abc import Sequence
from pathlib import Path

from accelwatch.backend import Check, Context, Opened, Option, Probe, Request, Support
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.cpu_time import CpuTimes
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Collected, Reading
from accelwatch.system.kernel.sysfs import read_text
from accelwatch_host import mapping, nfs_mapping
from accelwatch_host.digest import keyed_digest
from accelwatch_host.settings_mapping import SlowReads

GROUP = "host"
VENDOR = "host"
_APPLICATION = b"accelwatch host identity"
_PLACEHOLDERS = frozenset({"", "to be filled by o.e.m.", "default string", "system product name"})


class HostBackend:
    """Reads the host's own quantities when the group `host` is requested."""

    name = "host"
    vendor = "host"
    serial = False
    options: tuple[Option, ...] = ()
    support = Support(
        vendor="host",
        source=(
            "/proc, /sys, psutil: CPU, memory, pressure, disks, network, RDMA ports, NFS mounts, "
            "kernel settings, library versions"
        ),
        tested_with="composed trees, and the machine the tests run on",
    )

    def __init__(self, context: Context) -> None:
        self._root: Path = context.root
        self._cpu: CpuTimes | None = None
        self._slow = SlowReads(context.clock)

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
        """The host's quantities; never raises.

        The busy share of the processors needs two reads, the first says `not_collected`.
        """
        out = Collected(device.id)
        if GROUP not in request.groups:
            return (out.reading(),)
        root = self._root
        mapping.collect_kernel(root, out)
        self._cpu = mapping.collect_cpu(root, out, self._cpu)
        mapping.collect_memory(root, out)
        mapping.collect_paging(root, out)
        mapping.collect_pressure(root, out)
        mapping.collect_disks(root, out)
        mapping.collect_filesystems(root, out)
        mapping.collect_network(root, out)
        mapping.collect_rdma(root, out)
        nfs_mapping.collect_nfs(root, out)
        mapping.collect_clock(root, out)
        self._slow.collect(root, out)
        return (out.reading(sources={"*": "procfs+psutil"}),)

    def close(self) -> None:
        """Forget the last read."""
        self._cpu = None


def _text(path: Path) -> str | None:
    text = read_text(path)
    return None if isinstance(text, Absence) or not text else text


def machine_uuid(machine_id: str) -> str | None:
    """An identity derived from /etc/machine-id; None when that is not 32 hexadecimal digits.

    machine-id(5) forbids showing the id itself on a network, and allows a keyed hash of it.
    """
    try:
        key = bytes.fromhex(machine_id)
    except ValueError:
        return None
    if len(key) != 16:
        return None
    digest = keyed_digest(key, _APPLICATION)
    return str(uuid.UUID(bytes=digest[:16]))


def _model(root: Path) -> str | None:
    """Vendor and product from DMI, else the device tree's model, else the kernel and its release."""
    dmi = root / "sys/class/dmi/id"
    names = [_text(dmi / "sys_vendor"), _text(dmi / "product_name")]
    named = [name for name in names if name and name.lower() not in _PLACEHOLDERS]
    model = " ".join(named) or _text(root / "proc/device-tree/model")
    return model or " ".join(filter(None, _kernel(root))) or None


def _kernel(root: Path) -> tuple[str | None, str | None]:
    folder = root / "proc/sys/kernel"
    return _text(folder / "ostype"), _text(folder / "osrelease")


def host_name(root: Path) -> str | None:
    """The kernel's host name."""
    return _text(root / "proc/sys/kernel/hostname")


def host_device(root: Path, backend: str) -> Device:
    """Identity of the host; `driver_version` is the kernel release."""
    machine_id = _text(root / "etc/machine-id") or _text(root / "var/lib/dbus/machine-id")
    unique = machine_uuid(machine_id) if machine_id else None
    return Device(
        id=f"{VENDOR}:{unique or host_name(root) or 'unknown'}",
        vendor=VENDOR,
        backend=backend,
        index=0,
        name="host",
        kind=DeviceKind.HOST,
        model=_model(root),
        uuid=unique,
        driver_version=_kernel(root)[1],
        boot_id=_text(root / "proc/sys/kernel/random/boot_id"),
    )
