"""The integrated GPU of a Jetson: present by the device tree, read from files, without a library.

Every machine with a device tree loads this module: it imports no more than looking around needs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accelwatch.backend import Check, Context, Opened, Option, Probe, Request, Support
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel import tegra

if TYPE_CHECKING:
    from accelwatch_jetson.ticker import Ticker

_SOURCE, _PROGRAM = "sysfs", "tegrastats"


class JetsonBackend:
    """Options: `tegrastats`, the path of the command."""

    name = "jetson"
    vendor = "nvidia"
    serial = False
    options = (Option("tegrastats", is_path=True),)
    support = Support(
        vendor="NVIDIA Jetson",
        source="nvgpu's sysfs, thermal zones and INA3221 monitors, up to Orin; `tegrastats` for engines "
        "and memory controller; Thor is read as NVIDIA",
        tested_with="a recorded load with its thermal zones, recorded lines of tegrastats; composed "
        "modules, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._ticker: Ticker | None = None

    def probe(self) -> Probe:
        """Look into the device tree, and on a Tegra for the GPU."""
        root = self._context.root
        system = tegra.soc(root)
        gpu = None if system is None else tegra.integrated_gpu(root)
        soc_name = system or ""
        checks = [
            Check(subject="nvidia,tegra in the device tree", ok=system is not None, found=soc_name),
            Check(subject="load of nvgpu", ok=gpu is not None, found=gpu.name if gpu else ""),
        ]
        if gpu is not None:
            program = self._find()
            soc_name = str(program or "")
            checks.append(Check(subject=_PROGRAM, ok=program is not None, found=soc_name))
        return Probe(present=gpu is not None, checks=tuple(checks))

    def open(self) -> Opened:
        """Begin tegrastats. Raises BackendUnavailable when this is no Tegra with a GPU of its own."""
        if not tegra.is_integrated(self._context.root):
            raise BackendUnavailable(
                "no integrated GPU of nvgpu is below /sys/devices",
                reason="driver_not_loaded",
                remedy="on a Jetson up to Orin load nvgpu; the GPU of a Thor is read by nvidia",
            )
        from accelwatch_jetson import board

        version = board.release(self._context.root)
        versions = {"l4t": version} if version else {}
        program = self._find()
        if program is None:
            return Opened(source=_SOURCE, versions=versions)
        from accelwatch_jetson.ticker import Ticker

        self.close()
        self._ticker = Ticker(self._context, program)
        return Opened(source=f"{_SOURCE}+{_PROGRAM}", versions=versions)

    def discover(self) -> Sequence[Device]:
        """The GPU, as long as it is there."""
        from accelwatch_jetson import board

        return [board.device(self._context.root)] if tegra.is_integrated(self._context.root) else []

    def identify(self, device: Device) -> Sequence[Device]:
        """It has no partitions."""
        return [device]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the kernel shows now, with the last line of tegrastats and the clients of nvmap.

        Raises DeviceLost when nvgpu shows no GPU any more.
        """
        root = self._context.root
        folder = tegra.integrated_gpu(root)
        if folder is None:
            raise DeviceLost(f"{device.name}: nvgpu shows no GPU any more", code="not_listed")
        from accelwatch.backend.kit.listed_process import with_processes, without_processes
        from accelwatch_jetson import clients
        from accelwatch_jetson.reading import reading

        line = Absence.UNSUPPORTED if self._ticker is None else self._ticker.newest()
        numbers = reading(root, folder, device, line)
        if not request.processes:
            return [without_processes(numbers, Absence.NOT_COLLECTED)]
        request.numbers([numbers])
        listed = clients.processes(root, device.id)
        if isinstance(listed, Absence):
            return [without_processes(numbers, listed)]
        return [with_processes(root, numbers, listed)]

    def close(self) -> None:
        """End tegrastats."""
        ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.close()

    def _find(self) -> Path | None:
        from accelwatch.backend.kit.vendor_program import chosen_program

        return chosen_program(self._context.root, self._context.options.get(_PROGRAM), (_PROGRAM,))
