"""Machines with Neuron devices: the driver's tree, a PCI bus and a neuron-ls."""

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from accelwatch.schema.device import Device
from accelwatch_neuron import NeuronBackend
from support.machines.packed_trees import FakeTree
from support.machines.staged_machines import FixtureMachine, Stage

NEURON_DEVICE = "sys/devices/virtual/neuron_device"
GIB = 1 << 30


def device_files(index: int, serial: str, *, cores: int = 2, used: int = GIB) -> dict[str, str]:
    """Files of one Trainium; each core uses `used` bytes for tensors and 4096 for code."""
    at = f"{NEURON_DEVICE}/neuron{index}"
    files = {
        f"dev/neuron{index}": "",
        f"{at}/core_count": str(cores),
        f"{at}/info/serial_number": serial,
        f"{at}/stats/hardware/mem_ecc_uncorrected": "0",
        f"{at}/stats/hardware/mem_ecc_repairable_uncorrected": "0",
        f"{at}/stats/hardware/sram_ecc_uncorrected": "0",
        f"{at}/stats/power/utilization": "POWER_STATUS_VALID,1789180860,0.00,0.00,0.00",
    }
    for core in range(cores):
        part = f"{at}/neuron_core{core}"
        memory = f"{part}/stats/memory_usage/device_mem"
        files |= {
            f"{part}/info/architecture/arch_type": "NCv2",
            f"{part}/info/architecture/device_name": "Trainium1",
            f"{memory}/total": str(used + 4096),
            f"{memory}/tensors/total": str(used),
            f"{memory}/tensors/present": "17",
            f"{memory}/tensors/peak": str(4 * GIB),
            f"{memory}/model_code/total": "4096",
            f"{part}/stats/other_info/nc_time_in_use/total": "0",
        }
    return files


TRN1: Mapping[str, str] = {
    "sys/module/neuron/version": "2.26.5.0",
    **device_files(0, "9ff5434815c8bd80"),
    **device_files(1, "9ff5434815c8bd81", used=0),
}
_ECC = f"{NEURON_DEVICE}/neuron0/stats/hardware"
# Errors of every kind on the first; a count and a use of memory that cannot be on the second.
BAD_DAY: Mapping[str, str] = {
    **TRN1,
    f"{_ECC}/mem_ecc_uncorrected": "2",
    f"{_ECC}/sram_ecc_uncorrected": "1",
    f"{_ECC}/mem_ecc_repairable_uncorrected": "3",
    f"{NEURON_DEVICE}/neuron0/neuron_core1/stats/status/hw_nc_ue_error/total": "1",
    f"{NEURON_DEVICE}/neuron0/neuron_core0/stats/status/hw_nc_ue_error/total": "0",
    f"{NEURON_DEVICE}/neuron1/stats/hardware/sram_ecc_uncorrected": "N/A",
    f"{NEURON_DEVICE}/neuron1/neuron_core0/stats/memory_usage/device_mem/tensors/total": "-4096",
}


def listed(index: int, bus: str, *pids: int) -> dict[str, Any]:
    """One device as neuron-ls has it."""
    processes = [{"pid": pid, "command": "/usr/bin/python3 train.py --token x"} for pid in pids]
    return {
        "neuron_device": index,
        "bdf": bus,
        "numa_node": "-1",
        "nc_count": 2,
        "memory_size": 32 * GIB,
        "connected_to": [1 - index],
        "neuron_processes": processes,
    }


LISTING = (listed(0, "00:1e.0", 4242), listed(1, "0000:00:1f.0"))


def write_program(root: Path, text: str = "") -> None:
    """A neuron-ls that prints the listing; `text` is shell to run instead."""
    program = root / "opt/aws/neuron/bin/neuron-ls"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or f'exec cat {root}/listing.json'}\n")
    program.chmod(0o755)


def lay_out(root: Path, files: Mapping[str, str], listing: Any = LISTING) -> None:
    """The tree, and the command with its answer."""
    tree = FakeTree(root)
    for path, content in files.items():
        tree.write(path, content.encode())
    (root / "listing.json").write_text(json.dumps(listing))
    write_program(root)


@contextlib.contextmanager
def stage(folder: Path, files: Mapping[str, str], program: str = "") -> Iterator[Stage]:
    """The machine; the driver can give its last device up."""
    lay_out(folder, files)
    if program:
        write_program(folder, program)
    staged = Stage(NeuronBackend, folder)
    staged.remove = lambda device: _remove(folder, device)
    yield staged


def _remove(folder: Path, device: Device) -> None:
    shutil.rmtree(folder / NEURON_DEVICE / device.name)


def _machine(
    name: str, healthy: bool, files: Mapping[str, str], program: str = ""
) -> FixtureMachine:
    can = frozenset({"devices", "removable"})
    return FixtureMachine(
        f"neuron-{name}", "neuron", healthy, lambda at: stage(at, files, program), can
    )


MACHINES = (
    _machine("trn1", True, TRN1),
    _machine("trn1-bad-day", False, BAD_DAY),
    _machine("without-answer", False, TRN1, "echo 'no devices' >&2; exit 1"),
)
