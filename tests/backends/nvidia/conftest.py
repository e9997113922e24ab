"""An NVIDIA backend over the stand-in library, opened and identified."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from accelwatch.backend import Context, Opened, Request
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_nvidia import NvidiaBackend
from standins import NvmlScenario, preloaded_nvml


class Machine:
    """One backend in use over one scenario."""

    def __init__(self, backend: NvidiaBackend, opened: Opened, scenario: NvmlScenario) -> None:
        self.backend = backend
        self.opened = opened
        self.scenario = scenario
        self.found = list(backend.discover())

    def identify(self, index: int = 0) -> list[Device]:
        return list(self.backend.identify(self.found[index]))

    def read(self, index: int = 0, *groups: str, **request: Any) -> Sequence[Reading]:
        device = self.identify(index)[0]
        return self.backend.read(device, Request(groups=frozenset(groups), **request))


class Rig:
    """Opens machines below a test's own folder, which is also their file system root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.library: Any = None

    def scenario(self, source: str) -> NvmlScenario:
        return NvmlScenario.of(self.root / "nvml.scenario", source)

    def devices(self, number: int, model: str = "h100") -> NvmlScenario:
        return NvmlScenario(self.root / "nvml.scenario").devices(number, model)

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def gpu_on_bus(self, bus: str, uuid: str, minor: int, status: str = "active") -> None:
        """The /proc and /sys files of one GPU of the nvidia driver."""
        self.write(
            f"proc/driver/nvidia/gpus/{bus}/information",
            f"Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 139\nGPU UUID: \t {uuid}\n"
            f"Video BIOS: \t 96.00.99.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"
            f"Bus Location: \t {bus}\nDevice Minor: \t {minor}\nGPU Firmware: \t 590.48.01\n"
            "GPU Excluded:\t No\n",
        )
        folder = f"sys/bus/pci/devices/{bus}"
        self.write(f"{folder}/power/runtime_status", f"{status}\n")
        self.write(f"{folder}/vendor", "0x10de\n")
        self.write(f"{folder}/device", "0x2330\n")
        self.write(f"{folder}/class", "0x030200\n")
        self.write(f"{folder}/numa_node", "1\n")

    @contextmanager
    def machine(self, scenario: NvmlScenario, **context: Any) -> Iterator[Machine]:
        with preloaded_nvml(scenario) as self.library:
            backend = NvidiaBackend(Context(root=self.root, **context))
            try:
                yield Machine(backend, backend.open(), scenario)
            finally:
                backend.close()


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)
