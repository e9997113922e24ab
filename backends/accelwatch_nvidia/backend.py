"""The NVIDIA backend: NVML where it can be used, else nvidia-smi's XML."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from accelwatch.backend import NAME, Context, Opened, Option, Probe, Request, Support, Visibility
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel import sysfs, tegra
from accelwatch_nvidia import presence

# Reasons for which nvidia-smi would fail in the same way.
_NO_FALLBACK = frozenset({"driver_not_loaded"})


class DriverSource(Protocol):
    """What NVML and nvidia-smi have in common."""

    def open(self) -> Opened:
        """Begin. Raises BackendUnavailable."""
        ...

    def discover(self) -> Sequence[Device]:
        """Whole devices, without a call that one of them could block."""
        ...

    def identify(self, device: Device) -> Sequence[Device]:
        """Full identity, then partitions."""
        ...

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """Readings of the device, then of its partitions."""
        ...

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        """Events within the time."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class NvidiaBackend:
    """NVIDIA GPUs and their MIG instances."""

    name = "nvidia"
    vendor = "nvidia"
    serial = False
    options = (
        Option("source"),
        Option("nvidia_smi", is_path=True, names=NAME),
        Option("nvidia_smi_timeout_s"),
    )
    support = Support(
        vendor="NVIDIA",
        source="NVML; `nvidia-smi -q -x` where the library cannot be loaded",
        tested_with=(
            "stand-in library (compiled from `fixtures/nvml`, loaded by the real "
            "`pynvml`); 19 recorded XML documents from P100 to GB200"
        ),
    )
    # CUDA programming guide, environment variables: full uuids are accepted, MIG uuids too; before
    # R470 an instance was MIG-GPU-<uuid>/<gpu instance>/<compute instance>.
    visibility = Visibility(
        variable="CUDA_VISIBLE_DEVICES",
        uuid_pattern=r"(?:GPU|MIG)-[0-9A-Za-z-]+(?:/\d+/\d+)?",
    )
    remote = "accelwatch_nvidia.smi.remote:REMOTE"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._source: DriverSource | None = None

    def probe(self) -> Probe:
        """GPUs, driver, device node and library, from /sys, /proc and the loader's folders."""
        return presence.probe(self._context.root, self._context.environ)

    def open(self) -> Opened:
        """Start NVML, or nvidia-smi where NVML cannot be used. Raises BackendUnavailable.

        The option `source` (`nvml`, `nvidia-smi`) allows one of them only.
        """
        self.close()
        only = self._context.options.get("source")
        if only == "nvidia-smi":
            return self._only_smi()
        try:
            return self._use(self._nvml())
        except BackendUnavailable as refusal:
            holder = presence.other_driver(self._context.root)
            if holder is not None:
                raise BackendUnavailable(
                    f"the kernel driver {holder} holds the GPUs",
                    reason="other_driver",
                    remedy="install NVIDIA's driver to see them",
                ) from refusal
            if only == "nvml" or refusal.reason in _NO_FALLBACK:
                raise refusal.with_devices(self._there()) from None
            return self._fall_back(refusal)

    def _fall_back(self, refusal: BackendUnavailable) -> Opened:
        try:
            return self._use(self._smi(refusal))
        except BackendUnavailable:
            raise refusal.with_devices(self._there()) from None

    def _only_smi(self) -> Opened:
        try:
            return self._use(self._smi())
        except BackendUnavailable as refusal:
            raise refusal.with_devices(self._there()) from None

    def _there(self) -> list[Device]:
        """GPUs that are there whatever can be read, as the kernel lists them; in a container its own."""
        from accelwatch_nvidia import identity

        root = self._context.root
        version = presence.driver_version(root)
        gpus = [*presence.present_gpus(root), *presence.unbound_gpus(root)]
        devices = [
            identity.provisional(root, index, gpu, version) for index, gpu in enumerate(gpus)
        ]
        ours = [device for device in devices if presence.refusal(root, device.device_nodes) is None]
        return [
            device for device in ours if not tegra.is_integrated(root) or _on_the_bus(root, device)
        ]

    def _use(self, source: DriverSource) -> Opened:
        opened = source.open()
        self._source = source
        return opened

    def _nvml(self) -> DriverSource:
        from accelwatch_nvidia.devices.source import NvmlSource
        from accelwatch_nvidia.nvml.nvml import Nvml, import_library

        try:
            library = import_library()
        except ImportError as error:
            raise BackendUnavailable(
                f"the Python module pynvml cannot be imported: {error}",
                reason="binding_not_found",
                remedy="pip install nvidia-ml-py",
            ) from error
        return NvmlSource(self._context, Nvml(library))

    def _smi(self, refusal: BackendUnavailable | None = None) -> DriverSource:
        from accelwatch_nvidia.smi.source import SmiSource

        return SmiSource(self._context, instead_of=refusal)

    def discover(self) -> Sequence[Device]:
        """All GPUs but the one in a Tegra up to Orin, of which the backend jetson knows more.

        Raises BackendUnavailable when the driver has gone.
        """
        devices, root = self._opened().discover(), self._context.root
        if not tegra.is_integrated(root):
            return devices
        return [device for device in devices if _on_the_bus(root, device)]

    def identify(self, device: Device) -> Sequence[Device]:
        """A GPU with its full identity, then its MIG instances. Raises ReadError."""
        return self._opened().identify(device)

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """Readings of a GPU, then of its MIG instances. Raises ReadError."""
        return self._opened().read(device, request)

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        """Xid events; nvidia-smi has none."""
        return self._opened().wait_events(timeout_s)

    def _opened(self) -> DriverSource:
        if self._source is None:
            raise BackendUnavailable("not opened", reason="not_opened")
        return self._source

    def close(self) -> None:
        """Give the source back."""
        source, self._source = self._source, None
        if source is not None:
            source.close()


def _on_the_bus(root: Path, device: Device) -> bool:
    bus = device.pci_bus_id
    return bus is not None and sysfs.pci_device_dir(root, bus).is_dir()
