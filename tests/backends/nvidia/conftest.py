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
from support.machines.nvidia_bus import lay_out_gpu
from support.machines.nvml_stand_ins import NvmlScenario, preloaded_nvml
from support.machines.packed_trees import FakeTree

_INFORMATION = {
    "IRQ": "139",
    "Video BIOS": "96.00.99.00.01",
    "Bus Type": "PCIe",
    "DMA Size": "52 bits",
    "GPU Firmware": "590.48.01",
    "GPU Excluded": "No",
}


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
        self.tree = FakeTree(root)
        self.library: Any = None

    def scenario(self, source: str) -> NvmlScenario:
        return NvmlScenario.of(self.root / "nvml.scenario", source)

    def devices(self, number: int, model: str = "h100") -> NvmlScenario:
        return NvmlScenario(self.root / "nvml.scenario").devices(number, model)

    def gpu_on_bus(self, bus: str, uuid: str, minor: int, status: str = "active") -> None:
        """The /proc and /sys files of one GPU of the nvidia driver."""
        lay_out_gpu(self.tree, bus, uuid, minor, status, numa_node=1, more=_INFORMATION)

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
