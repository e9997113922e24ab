"""What the backend does once it is open: devices, who they are, and what their clients use."""

from collections.abc import Callable, Sequence

from accelwatch.backend import Context, Opened, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.listed_process import with_processes
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DeviceSuspended
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading
from accelwatch.system.kernel.drm_fdinfo import FdinfoScanner
from accelwatch.system.kernel.pcie_link import collect_link
from accelwatch_accel import node
from accelwatch_accel.usage import OF_CLIENTS, Usage

# What passes between the two reads of a single reading.
_SPAN_S = 0.1


class Session:
    """Counters of the clients of each device."""

    def __init__(self, context: Context, pause: Callable[[float], None]) -> None:
        self._context = context
        self._pause = pause
        self._scanner = FdinfoScanner(context.root, context.clock)
        self._usages: dict[str, Usage] = {}

    def open(self) -> Opened:
        """Nothing is loaded. Raises BackendUnavailable where there is no device."""
        root = self._context.root
        drivers = sorted({entry.driver for entry in node.find_nodes(root)})
        if not drivers:
            raise BackendUnavailable(
                "no device that this backend reads is below /sys/class/accel",
                reason="no_device",
                remedy="load the driver of the NPU, such as amdxdna",
            )
        by_driver = {driver: node.driver_version(root, driver) for driver in drivers}
        versions = {driver: version for driver, version in by_driver.items() if version}
        return Opened(source="sysfs", versions=versions)

    def discover(self) -> Sequence[Device]:
        """All devices, asleep or not."""
        root = self._context.root
        return [node.describe(root, entry) for entry in node.find_nodes(root)]

    def identify(self, device: Device) -> Sequence[Device]:
        """With product and firmware, also asleep where its driver keeps them. Raises DeviceLost."""
        mine = self._node(device)
        if self._context.leaves_asleep(mine.pci_bus_id):
            return [node.identified(device, mine) if mine.is_readable_asleep else device]
        self._require_there(mine)
        return [node.identified(device, mine)]

    def readable_asleep(self, device: Device) -> bool:
        """Whether it may be identified asleep; that it sleeps is what reading it says then."""
        return any(
            entry.is_readable_asleep and f"{node.VENDOR}:{entry.bus_name}" == device.id
            for entry in node.find_nodes(self._context.root)
        )

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What its clients use. Raises DeviceSuspended before anything could wake it, DeviceLost."""
        mine = self._node(device)
        if self._context.leaves_asleep(mine.pci_bus_id):
            raise DeviceSuspended(f"{mine.bus_name} is in runtime suspend and was left asleep")
        self._require_there(mine)
        out = Collected(device.id)
        if mine.pci_bus_id is not None:
            collect_link(out, self._context.root, mine.pci_bus_id)
        if request.processes:
            self._report_numbers(out, request)
        usage = self._usages.setdefault(
            device.id, Usage(self._context.root, self._scanner, mine.bus_name)
        )
        if self._context.one_shot:
            usage.read(Collected(device.id), self._context.clock.monotonic())
            self._pause(_SPAN_S)
        listed = usage.read(out, self._context.clock.monotonic())
        sources = {"*": "sysfs", **dict.fromkeys(OF_CLIENTS, "fdinfo")}
        if not request.processes:
            listed = Absence.NOT_COLLECTED
        if isinstance(listed, Absence):
            out.miss("processes", listed)
            return [out.reading(sources=sources)]
        reading = out.reading(sources=sources)
        return [with_processes(self._context.root, reading, listed)]

    def _report_numbers(self, out: Collected, request: Request) -> None:
        early = Collected(out.device_id)
        early.values, early.absent = dict(out.values), dict(out.absent)
        for key in OF_CLIENTS:
            early.miss(key, Absence.TIMEOUT)
        request.numbers([early.reading(sources={"*": "sysfs"})])

    def _node(self, device: Device) -> node.Node:
        for entry in node.find_nodes(self._context.root):
            if f"{node.VENDOR}:{entry.bus_name}" == device.id:
                return entry
        raise DeviceLost(f"{device.name} is gone from /sys/class/accel", code="gone")

    def _require_there(self, mine: node.Node) -> None:
        if node.off_the_bus(mine):
            raise DeviceLost(f"{mine.bus_name} is gone from its bus", code="gone")
