"""Machines with devices of the accel class, as composed /sys and /proc trees."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_accel import AccelBackend
from support.machines.packed_trees import FakeTree
from support.machines.staged_machines import FixtureMachine, Stage

BUSES = ("0000:c5:00.1", "0000:c6:00.1", "0000:c7:00.1")


def add_npu(tree: FakeTree, number: int, driver: str = "amdxdna") -> str:
    """An NPU on the bus, with its node; returns its folder."""
    bus = BUSES[number]
    folder = tree.pci(bus)
    files = {
        "vendor": "0x1022",
        "device": "0x17f0",
        "class": "0x118000",
        "numa_node": "-1",
        "vbnv": "RyzenAI-npu4",
        "fw_version": "1.1.2.64",
        "power/runtime_status": "active",
    }
    for name, content in files.items():
        tree.write(f"{folder}/{name}", f"{content}\n")
    tree.write(f"{folder}/config", b"\x22\x10\xf0\x17")
    tree.link(f"{folder}/driver", f"sys/bus/pci/drivers/{driver}")
    tree.link(f"sys/class/accel/accel{number}/device", folder)
    return folder


def fdinfo(number: int, busy_ns: int, memory_kib: int = 2048, client: int = 5) -> str:
    """The text of one open node, as amdxdna writes it."""
    return (
        f"pos:\t0\ndrm-driver:\tamdxdna_accel_driver\ndrm-client-id:\t{client}\n"
        f"drm-pdev:\t{BUSES[number]}\ndrm-engine-npu-amdxdna:\t{busy_ns} ns\n"
        f"drm-total-memory:\t{memory_kib} KiB\ndrm-shared-memory:\t0\n"
    )


def add_process(tree: FakeTree, pid: int, number: int, text: str) -> None:
    """A process that holds a node open."""
    fields = ["S", "1", *["0"] * 17, "500", "0"]
    tree.write(f"proc/{pid}/stat", f"{pid} (infer) {' '.join(fields)}\n")
    tree.write(f"proc/{pid}/comm", "infer\n")
    tree.write(f"proc/{pid}/fdinfo/7", text)
    tree.link(f"proc/{pid}/fd/7", f"/dev/accel/accel{number}")


def machine(folder: Path, npus: int) -> Stage:
    """So many NPUs; a process works on the first."""
    tree = FakeTree(folder)
    tree.write("proc/sys/kernel/osrelease", "6.17.0\n")
    tree.link("proc/self/ns/pid", "/pid:[4026531836]")
    for number in range(npus):
        add_npu(tree, number)
    add_process(tree, 4100, 0, fdinfo(0, 10**9))
    staged = Stage(AccelBackend, folder)

    def remove(device: Device) -> None:
        shutil.rmtree(folder / "sys/class/accel" / device.name)

    staged.remove = remove
    return staged


@contextlib.contextmanager
def _healthy(folder: Path) -> Iterator[Stage]:
    yield machine(folder, 2)


@contextlib.contextmanager
def _untold(folder: Path) -> Iterator[Stage]:
    """The driver fails to tell of a client of the last NPU."""
    staged = machine(folder, 2)
    add_process(FakeTree(folder), 4200, 1, "")
    (folder / "proc/4200/fdinfo/7").unlink()
    (folder / "proc/4200/fdinfo/7").symlink_to("7")
    yield staged


@contextlib.contextmanager
def _bad_day(folder: Path) -> Iterator[Stage]:
    """One works, one sleeps, one has fallen off the bus."""
    staged = machine(folder, 3)
    devices = folder / "sys/bus/pci/devices"
    (devices / BUSES[1] / "power/runtime_status").write_text("suspended\n")
    (devices / BUSES[2] / "config").write_bytes(b"\xff" * 64)
    staged.asleep = {BUSES[1]: (devices / BUSES[1]).resolve()}
    yield staged


def _row(
    name: str,
    healthy: bool,
    stage: Callable[[Path], contextlib.AbstractContextManager[Stage]],
    *more: str,
) -> FixtureMachine:
    return FixtureMachine(name, "accel", healthy, stage, frozenset({"devices", "removable", *more}))


MACHINES = (
    _row("accel-xdna-x2", True, _healthy),
    _row("accel-xdna-untold", False, _untold),
    _row("accel-xdna-bad-day", False, _bad_day, "sleeps"),
)
