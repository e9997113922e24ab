"""The integrated GPU of a Jetson: present by the device tree, read from files, without a library.

No vendor on the PCI bus tells a Jetson, so that every machine loads this module: it imports no more than
looking around needs.
"""

from collections.abc import Sequence

from accelwatch import tegra
from accelwatch.backend import Check, Context, Opened, Probe, Request, Support
from accelwatch.errors import BackendUnavailable, DeviceLost
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading

_SOURCE = "sysfs"


class JetsonBackend:
    """No options."""

    name = "jetson"
    vendor = "nvidia"
    serial = False
    support = Support(
        vendor="NVIDIA Jetson",
        source="nvgpu's sysfs, thermal zones and INA3221 monitors, up to Orin; Thor is read as NVIDIA",
        tested_with="a recorded load with its thermal zones; composed modules, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context

    def probe(self) -> Probe:
        """Look into the device tree, and on a Tegra for the GPU."""
        root = self._context.root
        system = tegra.soc(root)
        gpu = None if system is None else tegra.integrated_gpu(root)
        checks = (
            Check(
                subject="nvidia,tegra in the device tree", ok=system is not None, found=system or ""
            ),
            Check(subject="load of nvgpu", ok=gpu is not None, found=gpu.name if gpu else ""),
        )
        return Probe(present=gpu is not None, checks=checks)

    def open(self) -> Opened:
        """Nothing is loaded. Raises BackendUnavailable when this is no Tegra with a GPU of its own."""
        if not tegra.is_integrated(self._context.root):
            raise BackendUnavailable(
                "no integrated GPU of nvgpu is below /sys/devices",
                reason="driver_not_loaded",
                remedy="on a Jetson up to Orin load nvgpu; the GPU of a Thor is read by nvidia",
            )
        from accelwatch_jetson import board

        version = board.release(self._context.root)
        return Opened(source=_SOURCE, versions={"l4t": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """The GPU, as long as it is there."""
        from accelwatch_jetson import board

        return [board.device(self._context.root)] if tegra.is_integrated(self._context.root) else []

    def identify(self, device: Device) -> Sequence[Device]:
        """It has no partitions."""
        return [device]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the kernel shows now. Raises DeviceLost when nvgpu shows no GPU any more."""
        root = self._context.root
        folder = tegra.integrated_gpu(root)
        if folder is None:
            raise DeviceLost(f"{device.name}: nvgpu shows no GPU any more", code="not_listed")
        from accelwatch_jetson.reading import reading

        return [reading(root, folder, device, request)]

    def close(self) -> None:
        """Nothing is held."""
