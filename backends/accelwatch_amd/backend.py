"""The AMD backend's contract. What an open backend does is imported when it is first needed."""

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from accelwatch.backend import Check, Context, Opened, Option, Probe, Request, Support, Visibility
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel import sysfs
from accelwatch_amd.devices.functions import Function, find_functions
from accelwatch_amd.sysfs.tree import ReadBytes, Tree

if TYPE_CHECKING:
    from accelwatch_amd.session import Session


class AmdBackend:
    """The amdgpu driver stack; see docs/backends/amd.md."""

    name = "amd"
    vendor = "amd"
    serial = False
    options = (Option("amdsmi"),)
    support = Support(
        vendor="AMD",
        source=(
            "amdgpu sysfs, `gpu_metrics`, hwmon, RAS, fdinfo, KFD; amdsmi adds what only it knows"
        ),
        tested_with=(
            "recorded sysfs trees from HD 7870 to RX 9070 XT; composed Instinct "
            "trees; stand-in library for amdsmi"
        ),
    )
    # ROCm documentation, GPU isolation: `GPU-` and the unique id, or an index.
    visibility = Visibility(
        variable="ROCR_VISIBLE_DEVICES",
        uuid_pattern="GPU-[0-9A-Fa-f]+",
        also=("HIP_VISIBLE_DEVICES",),
    )

    def __init__(self, context: Context, read: ReadBytes = sysfs.read_bytes) -> None:
        self._context = context
        self._read = read
        # Workers of several cards may be the first to need the session; two sessions would search
        # the bus twice.
        self._lock = Lock()
        self._opened: Session | None = None

    def probe(self) -> Probe:
        """Look for AMD GPUs on the PCI bus, their driver, the compute driver and AMD's library."""
        functions = find_functions(Tree(self._context.root, self._read))
        addresses = ", ".join(function.pci_bus_id for function in functions)
        checks = [Check(subject="AMD GPU on the PCI bus", ok=bool(functions), found=addresses)]
        if functions:
            checks += [_driver_check(function) for function in functions]
            from accelwatch_amd import amdsmi

            checks.append(amdsmi.library_check(self._context))
        return Probe(present=bool(functions), checks=tuple(checks))

    def open(self) -> Opened:
        """Find the devices; load AMD's library where it may be used."""
        return self._session().open()

    def discover(self) -> Sequence[Device]:
        """AMD GPUs by PCI id; a device keeps its index for as long as this backend lives."""
        return self._session().discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The device with what its files say, then its partitions."""
        return self._session().identify(device)

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """One reading of the device and of each of its partitions."""
        return self._session().read(device, request)

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        """Growth of uncorrectable or deferred error counts, seen while reading."""
        return self._session().wait_events(timeout_s)

    def close(self) -> None:
        """Give AMD's library back."""
        if self._opened is not None:
            self._opened.close()

    def _session(self) -> "Session":
        with self._lock:
            if self._opened is None:
                from accelwatch_amd.session import Session

                self._opened = Session(self._context, self._read)
            return self._opened


def _driver_check(function: Function) -> Check:
    return Check(
        subject=f"driver of {function.pci_bus_id}",
        ok=bool(function.driver),
        found=function.driver,
        remedy="" if function.driver else "load it with `modprobe amdgpu`; see the kernel log",
    )
