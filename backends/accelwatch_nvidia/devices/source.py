"""All GPUs through NVML: who is there, one reader a GPU, events."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from accelwatch.backend import Context, Opened, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Reading
from accelwatch_nvidia import identity, presence
from accelwatch_nvidia.devices.host_processes import HostProcesses
from accelwatch_nvidia.devices.reader import DeviceReader
from accelwatch_nvidia.nvml.nvml import Nvml
from accelwatch_nvidia.presence import PresentGpu

if TYPE_CHECKING:
    from accelwatch_nvidia.nvml.events import EventWaiter


def _reader_key(device: Device) -> tuple[str, str | None]:
    """What a reader is kept by: there are drivers that give several GPUs one uuid, and so one id."""
    return device.id, device.pci_bus_id


class NvmlSource:
    """NVML as the source of devices, readings and Xid events."""

    def __init__(self, context: Context, nvml: Nvml) -> None:
        self._context = context
        self._nvml = nvml
        self._host = HostProcesses(context.root)
        # One lock for all GPUs: concurrent GPM sampling has brought a kernel driver down.
        self._gpm_lock = threading.Lock()
        # By id and PCI address, as drivers give several GPUs one uuid. A reader has handles and GPM
        # samples, which a new one would have to obtain again.
        self._readers: dict[tuple[str, str | None], DeviceReader] = {}
        self._provisionals: dict[tuple[int, str | None], Device] = {}
        # PCI ids of the GPUs that no driver has.
        self._unbound: set[str] = set()
        self._driver_version: str | None = None
        # Made by the first wait: a single reading needs none.
        self._events: EventWaiter | None = None
        self._calls_now = 0
        # Guards `_calls_now`, by which NVML is not shut down under a call of another thread.
        self._counting = threading.Lock()

    def open(self) -> Opened:
        """Start NVML, unless every GPU sleeps. Raises BackendUnavailable."""
        root = self._context.root
        self._driver_version = presence.driver_version(root)
        versions = {"driver": self._driver_version} if self._driver_version else {}
        if not self._all_asleep():
            self._start()
            versions |= self._nvml.versions()
            self._driver_version = versions.get("driver")
        return Opened(source="nvml", versions=versions)

    def _start(self) -> None:
        try:
            self._nvml.start()
        except BackendUnavailable as refusal:
            if refusal.reason == "library_not_found":
                raise self._not_loaded(refusal) from refusal
            if refusal.reason != "version_mismatch" or not self._driver_version:
                raise
            message = f"{refusal}; the loaded kernel module is {self._driver_version}"
            raise BackendUnavailable(
                message, reason=refusal.reason, remedy=refusal.remedy
            ) from refusal

    def _not_loaded(self, refusal: BackendUnavailable) -> BackendUnavailable:
        """The refusal, unless the library is there: NVML says the same of one that cannot be loaded."""
        library, _ = presence.library_path(self._context.root, self._context.environ)
        if library is None:
            return refusal
        is_empty = library.stat().st_size == 0
        return BackendUnavailable(
            f"{library} is there and cannot be loaded{': it is empty' if is_empty else ''}",
            reason="library_not_loaded",
            remedy="install the user-space part of the driver again",
        )

    def _all_asleep(self) -> bool:
        """Whether each GPU of the driver is runtime suspended and is to be left so."""
        gpus = presence.present_gpus(self._context.root)
        return bool(gpus) and all(self._context.leaves_asleep(gpu.pci_bus_id) for gpu in gpus)

    def discover(self) -> Sequence[Device]:
        """GPUs as the driver lists them in PCI order, which is NVML's order; else as NVML counts them.

        A GPU that the driver lists and NVML does not count is among them, and so is one that no driver
        has; any other that only the PCI bus shows may be another container's and is not. Their identity
        is provisional and stays the same from call to call. Raises BackendUnavailable.
        """
        root = self._context.root
        gpus = presence.present_gpus(root)
        count = len(gpus) if self._all_asleep() else self._nvml.count()
        trusted = len(gpus) == count or (len(gpus) > count and presence.driver_gpus(root))
        listed: Sequence[PresentGpu | None] = gpus if trusted else [None] * count
        unbound = presence.unbound_gpus(root)
        self._unbound = {gpu.pci_bus_id for gpu in unbound}
        return [self._provisional(index, gpu) for index, gpu in enumerate([*listed, *unbound])]

    def _provisional(self, index: int, gpu: PresentGpu | None) -> Device:
        key = (index, gpu.pci_bus_id if gpu else None)
        device = self._provisionals.get(key)
        if device is None:
            device = identity.provisional(self._context.root, index, gpu, self._driver_version)
            self._provisionals[key] = device
        return device

    def _reader(self, device: Device) -> DeviceReader:
        reader = self._readers.get(_reader_key(device))
        if reader is None:
            reader = DeviceReader(self._context, self._nvml, self._gpm_lock, self._host)
            self._readers[_reader_key(device)] = reader
        return reader

    def identify(self, device: Device) -> Sequence[Device]:
        """Full identity and MIG instances. Raises ReadError."""
        self._require_driver(device)
        reader = self._reader(device)
        with _Counted(self):
            devices = reader.identify(device)
        self._readers[_reader_key(devices[0])] = reader
        return devices

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """Readings of a GPU and its MIG instances. Raises ReadError."""
        self._require_driver(device)
        with _Counted(self):
            return self._reader(device).read(device, request)

    def _require_driver(self, device: Device) -> None:
        if device.pci_bus_id in self._unbound:
            raise presence.without_driver(device)

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        """Xid events of the GPUs that were opened."""
        if self._events is None:
            from accelwatch_nvidia.nvml.events import EventWaiter

            self._events = EventWaiter(self._nvml, self._context.clock)
        opened = [
            (reader.device, reader.handle)
            for reader in set(self._readers.values())
            if reader.device is not None and reader.handle is not None
        ]
        with _Counted(self):
            return self._events.wait(timeout_s, opened)

    def close(self) -> None:
        """Shut NVML down, unless a call is still inside it."""
        if self._events is not None:
            self._events.close()
        with self._counting:
            idle = self._calls_now == 0
        if idle:
            for reader in set(self._readers.values()):
                reader.close()
            self._nvml.stop()

    def count_call(self, change: int) -> None:
        """Note that a call into NVML begins (1) or ends (-1)."""
        with self._counting:
            self._calls_now += change


class _Counted:
    """While inside, the source is known to be in a call."""

    def __init__(self, source: NvmlSource) -> None:
        self._source = source

    def __enter__(self) -> None:
        self._source.count_call(1)

    def __exit__(self, *_: object) -> None:
        self._source.count_call(-1)
