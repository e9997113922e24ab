"""Every fixture machine with the backend that reads it, for the contract suite and the goldens.

A machine is a function that stages it below a folder. A new one is a row in MACHINES, or in those of a
module `machines.py` beside the tests of its vendor.
"""

import contextlib
import importlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.schema.device import Device
from accelwatch_amd import AmdBackend
from accelwatch_host import HostBackend
from accelwatch_intel import IntelBackend
from accelwatch_kernel_log import KernelLogBackend
from accelwatch_lab.replay import ReplayBackend, demo_file
from accelwatch_nvidia import NvidiaBackend
from support.machines.level_zero import Scenario, build_level_zero
from support.machines.nvidia_bus import lay_out_gpu
from support.machines.nvml_stand_ins import NvmlScenario, preloaded_nvml
from support.machines.packed_trees import FakeTree
from support.machines.samples import FIXTURES
from support.machines.smi_documents import Gpu, write_program
from support.machines.staged_machines import FixtureMachine, Stage


def _sleeping(root: Path) -> dict[str, Path]:
    found = {}
    for folder in sorted((root / "sys/bus/pci/devices").glob("*")):
        status = folder / "power/runtime_status"
        if status.exists() and status.read_text().strip() == "suspended":
            found[folder.name] = folder.resolve()
    return found


@contextlib.contextmanager
def _amd(folder: Path, name: str) -> Iterator[Stage]:
    FakeTree(folder).lay_out(f"amd/{name}")
    yield _with_bus(Stage(AmdBackend, folder, options={"amdsmi": "never"}))


@contextlib.contextmanager
def _intel(folder: Path, name: str) -> Iterator[Stage]:
    FakeTree(folder).lay_out(f"intel/{name}")
    yield _with_bus(Stage(IntelBackend, folder, options={"sysman": "off"}))


@contextlib.contextmanager
def _sysman(folder: Path, name: str, scenario: str) -> Iterator[Stage]:
    FakeTree(folder).lay_out(f"intel/{name}")
    Scenario(folder / "sysman.scenario").load(scenario)
    options = {"sysman": "on", "level_zero_library": str(build_level_zero())}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCELWATCH_ZE_SCENARIO", str(folder / "sysman.scenario"))
        yield _with_bus(Stage(IntelBackend, folder, options=options))


def _with_bus(stage: Stage) -> Stage:
    stage.asleep = _sleeping(stage.root)
    bus = stage.root / "sys/bus/pci/devices"
    stage.remove = lambda device: (bus / str(device.pci_bus_id)).unlink()
    return stage


@contextlib.contextmanager
def _nvml(folder: Path, name: str, asleep: int = -1) -> Iterator[Stage]:
    scenario = NvmlScenario.of(folder / "nvml.scenario", name)
    for index in range(scenario.count):
        bus, uuid = (scenario.values[f"device.{index}.{key}"] for key in ("pci_bus_id", "uuid"))
        status = "suspended" if index == asleep else "active"
        lay_out_gpu(FakeTree(folder), bus, uuid, index, status)
    with preloaded_nvml(scenario) as library:
        stage = Stage(NvidiaBackend, folder, options={"source": "nvml"})

        def remove(device: Device) -> None:
            _off_the_bus(folder, device)
            scenario.system("count", scenario.count - 1).write()

        stage.remove = remove
        stage.settle_s = 0.11
        stage.asleep = _sleeping(folder)
        before = [_calls(library, index) for index in range(scenario.count)]
        stage.calls_into = lambda index: _calls(library, index) - before[index]
        yield stage


def _off_the_bus(folder: Path, device: Device) -> None:
    """Neither the driver nor the bus has it any more."""
    address = str(device.pci_bus_id)
    shutil.rmtree(folder / "proc/driver/nvidia/gpus" / address)
    on_bus = folder / "sys/bus/pci/devices" / address
    if on_bus.is_symlink():
        on_bus.unlink()
    elif on_bus.exists():
        shutil.rmtree(on_bus)


def _calls(library: Any, index: int) -> int:
    names = ("HandleByIndex_v2", "Name", "UUID", "UtilizationRates", "PowerUsage", "FieldValues")
    return sum(library.standin_calls(f"nvmlDeviceGet{name}".encode(), index) for name in names)


@contextlib.contextmanager
def _smi(folder: Path, gpus: tuple[Gpu, ...]) -> Iterator[Stage]:
    for gpu in gpus:
        uuid = f"GPU-5ca1ab1e-0009-4000-8000-00000000000{gpu.index}"
        lay_out_gpu(FakeTree(folder), gpu.bus, uuid, gpu.index)
    program = write_program(folder / "bin", gpus)
    options = {"source": "nvidia-smi", "nvidia_smi": str(program)}
    stage = Stage(NvidiaBackend, folder, options=options)

    def remove(device: Device) -> None:
        _off_the_bus(folder, device)
        write_program(folder / "bin", gpus[:-1])
        stage.clock.advance(10)

    stage.remove = remove
    yield stage


@contextlib.contextmanager
def _host(folder: Path, name: str) -> Iterator[Stage]:
    shutil.copytree(FIXTURES / "host" / name / "root", folder / "root")
    yield Stage(HostBackend, folder / "root")


@contextlib.contextmanager
def _kernel_log(folder: Path, name: str) -> Iterator[Stage]:
    shutil.copytree(FIXTURES / "kernel_log" / name / "root", folder / "root")
    yield Stage(KernelLogBackend, folder / "root")


@contextlib.contextmanager
def _replay(folder: Path, file: Path) -> Iterator[Stage]:
    yield Stage(ReplayBackend, folder, options={"file": str(file)})


def _tree(name: str, *, healthy: bool) -> FixtureMachine:
    vendor, machine = name.split("/")
    stage = _amd if vendor == "amd" else _intel
    return FixtureMachine(
        f"{vendor}-{machine}", vendor, healthy, lambda folder: stage(folder, machine)
    )


def _scenario(name: str, *, healthy: bool) -> FixtureMachine:
    return FixtureMachine(f"nvidia-{name}", "nvidia", healthy, lambda folder: _nvml(folder, name))


_H100 = Gpu(0), Gpu(1)
_ON_A_BAD_DAY = Gpu(0), Gpu(1, bad="ERR!"), Gpu(2, bad="GPU is lost"), Gpu(3, lost=True)

_OURS: tuple[FixtureMachine, ...] = (
    _scenario("h100x8", healthy=True),
    _scenario("a100x8-mig", healthy=True),
    _scenario("l40s", healthy=True),
    _scenario("rtx4090", healthy=True),
    _scenario("t4", healthy=True),
    _scenario("old-driver", healthy=True),
    _scenario("mixed-faults", healthy=False),
    FixtureMachine("nvidia-asleep", "nvidia", False, lambda folder: _nvml(folder, "h100x8", 5)),
    FixtureMachine("nvidia-smi", "nvidia", True, lambda folder: _smi(folder, _H100)),
    FixtureMachine(
        "nvidia-smi-faulty", "nvidia", False, lambda folder: _smi(folder, _ON_A_BAD_DAY)
    ),
    _tree("amd/mi300x-x2", healthy=True),
    _tree("amd/rx7900", healthy=True),
    _tree("amd/mi300x-faulty", healthy=False),
    _tree("intel/arc-b580", healthy=True),
    _tree("intel/max1550-two-tiles", healthy=True),
    _tree("intel/laptop-meteor-lake", healthy=True),
    _tree("intel/arc-a770-faulty", healthy=False),
    FixtureMachine(
        "intel-b580-sysman", "intel", True, lambda folder: _sysman(folder, "arc-b580", "b580")
    ),
    FixtureMachine(
        "intel-max1550-sysman",
        "intel",
        True,
        lambda folder: _sysman(folder, "max1550-two-tiles", "max1550"),
    ),
    FixtureMachine("host-hgx-ib2", "host", True, lambda folder: _host(folder, "hgx-ib2")),
    FixtureMachine("host-damaged", "host", False, lambda folder: _host(folder, "damaged")),
    FixtureMachine(
        "kernel-log-bad-day", "kernel", False, lambda folder: _kernel_log(folder, "bad-day")
    ),
    FixtureMachine("replay-demo", "replay", False, lambda folder: _replay(folder, demo_file())),
    FixtureMachine(
        "replay-recording",
        "replay",
        True,
        lambda folder: _replay(folder, FIXTURES / "replay/two-vendors.ndjson"),
    ),
    FixtureMachine(
        "replay-faults",
        "replay",
        False,
        lambda folder: _replay(folder, FIXTURES / "replay/faults.yaml"),
    ),
)


def _of_vendors() -> Iterator[FixtureMachine]:
    """Those that stand beside a vendor's tests, `tests/backends/VENDOR/machines.py`."""
    for path in sorted(Path(__file__).parents[2].glob("backends/*/machines.py")):
        yield from importlib.import_module(f"backends.{path.parent.name}.machines").MACHINES


MACHINES: tuple[FixtureMachine, ...] = (*_OURS, *_of_vendors())
