"""Recorded fdinfo texts of amdgpu clients, through the backend."""

from typing import Any

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from support.machines.samples import sample


def holder(machine: Any, pid: int, text: str) -> None:
    """A process that has the render node open."""
    machine.tree.write(f"proc/{pid}/comm", "work\n")
    machine.tree.write(
        f"proc/{pid}/stat", f"{pid} (work) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n"
    )
    machine.tree.write(f"proc/{pid}/status", "Uid:\t0\t0\t0\t0\n")
    machine.tree.write(f"proc/{pid}/fdinfo/3", text)
    machine.tree.link(f"proc/{pid}/fd/3", "/dev/dri/renderD128")


@pytest.mark.oracle
def test_recorded_clients_of_an_apu(machine: Any, card: Any) -> None:
    card("vangogh")
    holder(machine, 100, sample("fdinfo/amdgpu_compute_v2_purgeable.txt").read_text())
    holder(machine, 200, sample("fdinfo/amdgpu_gfx.txt").read_text())
    backend = machine.backend()
    (device,) = machine.devices(backend)
    found = backend.read(device, Request())[0].processes
    assert found is not None
    assert [(process.pid, process.type) for process in found] == [
        (100, "compute"),
        (200, "graphics"),
    ]
    # On an APU both regions are the one pool: VRAM with what is shared, and GTT.
    assert found[0].gpu_memory_bytes == (44564 + 2392) * 1024
    assert found[1].gpu_memory_bytes == 544428 * 1024 + 22 * 1024 * 1024


def test_processes_can_be_left_out(composed: Any) -> None:
    machine = composed("rx7900")
    backend = machine.backend()
    (device,) = backend.discover()
    reading = backend.read(device, Request(processes=False))[0]
    assert reading.processes is None
    assert reading.absent["processes",] == Absence.NOT_COLLECTED


def test_one_shot_reading_has_no_process_utilization(composed: Any) -> None:
    machine = composed("rx7900")
    machine.one_shot = True
    backend = machine.backend()
    (device,) = backend.discover()
    for _ in range(2):
        machine.clock.advance(1.0)
        found = backend.read(device, Request())[0].processes
    assert found is not None
    assert all(process.utilization_ratio is None for process in found)
    assert all(process.absent["utilization_ratio"] == Absence.NOT_COLLECTED for process in found)
