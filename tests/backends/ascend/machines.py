"""Machines with Ascend NPUs: a PCI bus, and an npu-smi that prints composed tables and lists."""

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_ascend import AscendBackend
from support.machines.pci_nodes import lay_out_link
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

TABLES = FIXTURES / "ascend"
_PRINTS = """
echo "$*" >> {root}/asked
case "$1 $2 $3" in
  "info  ") file=table ;;
  "info -m ") file=map ;;
  "info -t "*) file="$3-$5-$7" ;;
esac
if [ -n "$file" ] && [ -f {root}/$file ]; then exec cat {root}/$file; fi
echo "This device does not support this command." >&2; exit 1
"""
_HBM = "DDR", "HBM"


def write_program(root: Path, text: str = "") -> Path:
    """A command that prints what the machine has; `text` is shell to run instead."""
    program = root / "usr/local/bin/npu-smi"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or _PRINTS.format(root=root)}\n")
    program.chmod(0o755)
    return program


def arguments_used(root: Path) -> list[str]:
    """With which arguments the command was run since the last call."""
    log = root / "asked"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


def lay_out_bus(root: Path, buses: tuple[str, ...]) -> None:
    """A chip at each address, and a network card of the vendor."""
    for bus, code in (*((bus, "0x120000") for bus in buses), ("0000:7d:00.0", "0x020000")):
        folder = root / "sys/bus/pci/devices" / bus
        folder.mkdir(parents=True)
        (folder / "vendor").write_text("0x19e5\n")
        (folder / "device").write_text("0xd802\n")
        (folder / "class").write_text(f"{code}\n")
        (folder / "numa_node").write_text("1\n")
        lay_out_link(folder)
    (root / "dev").mkdir()
    (root / "dev/davinci_manager").touch()


def pairs(values: Mapping[str, object]) -> str:
    """As `-t` prints them."""
    return "".join(f"\t{key:<40} : {value}\n" for key, value in values.items())


def ecc(single: int = 0, double: int = 0, waiting: int = 0) -> str:
    """Counters of a chip with DDR and HBM, all of them in the HBM."""
    lines: dict[str, object] = {}
    for memory in _HBM:
        counts = (single, double) if memory == "HBM" else (0, 0)
        for bits, count in zip(("Single", "Double"), counts, strict=True):
            lines[f"{memory} {bits} Bit Error Count"] = count
            lines[f"{memory} {bits} Bit Aggregate Total Err Cnt"] = 10 * count
            lines[f"{memory} {bits} Bit Isolated Pages Count"] = 2 * count
    lines["HBM Single Bit Next-Isolated Pages Count"] = 0
    lines["HBM Double Bit Next-Isolated Pages Count"] = waiting
    return pairs(lines)


def board(at: int) -> str:
    """Who a chip is."""
    die = f"5CA1AB1E 0000000{at} 1223F2B2 84528485 104301E2"
    return pairs({"NPU ID": at, "VDie ID": die, "Serial Number": "NA", "Firmware Version": "7.5.0"})


def hccs(
    *, lanes: tuple[int, ...] = (4,) * 7, status: str = "OK", errors: tuple[int, ...] = (0,) * 7
) -> str:
    """The HCCS links of a chip of a 910B, an entry a link."""
    lists: dict[str, tuple[int, ...]] = {
        "hccs lane mode": lanes,
        "hccs link speed": tuple(56 * count for count in lanes),
        "hccs tx packets": tuple(10 * count for count in lanes),
        "hccs tx bytes": tuple(200 * count for count in lanes),
        "hccs rx packets": tuple(5 * count for count in lanes),
        "hccs rx bytes": tuple(100 * count for count in lanes),
        "hccs retry count": (0,) * len(lanes),
        "hccs error count": errors,
    }
    rows = {key: f"[{' '.join(f'{n:<20}' for n in entries)} ]" for key, entries in lists.items()}
    first = "NA" if status == "OK" else 2
    return pairs({"hccs health status ": status, **rows, "hccs first error lane ": first})


MEMORY = pairs(
    {
        "DDR Capacity(MB)": 0,
        "DDR Clock Speed(MHz)": 0,
        "HBM Capacity(MB)": 32768,
        "HBM Clock Speed(MHz)": 1600,
        "HBM Temperature(C)": 52,
        "HBM Manufacturer ID": "0x57",
    }
)
USAGES = pairs(
    {
        "HBM Capacity(MB)": 32768,
        "Aicore Usage Rate(%)": 93,
        "Aivector Usage Rate(%)": 41,
        "HBM Bandwidth Usage Rate(%)": 67,
        "Aicpu Usage Rate(%)": 3,
        "Ctrlcpu Usage Rate(%)": 8,
    }
)
COMMON = pairs({"Aicore Freq(MHZ)": 1650, "Aicore curFreq(MHZ)": 800, "Aicore Count": 20})
HEALTH = pairs(
    {
        "Health Status": "Critical",
        "Error Code": "80E01801 A6060FFF",
        "Error Information": "node type=HBM, sensor type=Memory, event state=Uncorrectable ECC",
    }
)
_FILES: Mapping[str, Mapping[str, str]] = {
    "910b4-x2": {
        "ecc-4-0": ecc(3),
        "ecc-5-0": ecc(),
        "board-4-0": board(4),
        "board-5-0": board(5),
        "usages-4-0": USAGES,
        "common-4-0": COMMON,
        "memory-4-0": MEMORY,
        "hccs-4-0": hccs(),
    },
    "910b3-bad-day": {
        "ecc-0-0": ecc(1, 2, waiting=1),
        "ecc-1-0": pairs({"HBM Single Bit Error Count": "many", "HBM Double Bit Error Count": 4}),
        "health-0-0": HEALTH,
        "hccs-0-0": hccs(lanes=(4, 4, 0), status="NOK", errors=(0, 17, 0)),
        "health-1-0": pairs({"Health": "Warning", "Error Code": "NA", "Error Information": "NA"}),
        "board-0-0": pairs({"VDie ID": "00000000 00000000 00000000 00000000 00000000"}),
    },
    "310p3-duo": {
        "ecc-4-1": pairs({"DDR Single Bit Error Count": 1, "DDR Double Bit Error Count": 0}),
        "board-4-0": board(0),
        "board-4-1": board(1),
        "health-4-1": pairs({"Health Status": "Alarm", "Error Code": "A8028802"}),
    },
    "950": {
        "ecc-0-": pairs({"HBM Single Bit Error Count": 6, "HBM Double Bit Error Count": 1}),
        "board-0-": pairs({"Serial Number": "5CA1AB1E", "Firmware Version": "9.0.0.105.229"}),
        "usages-0-": USAGES,
        "memory-0-": MEMORY,
    },
    "310": {"ecc-0-0": pairs({"Single-bit Error Count": 5, "Double-bit Error Count": 0})},
}
BUSES = {
    "910b4-x2": ("0000:01:00.0", "0000:81:00.0"),
    "a3": ("0000:99:00.0", "0000:9b:00.0", "0000:9d:00.0", "0000:9f:00.0"),
    "910b3-bad-day": (
        "0000:01:00.0",
        "0000:02:00.0",
        "0000:41:00.0",
        "0000:c1:00.0",
        "0000:c2:00.0",
    ),
    "310p3-duo": ("0000:81:00.0",),
    "310": ("0000:04:00.0", "0000:05:00.0"),
    "950": ("0000:21:00.0",),
}


@contextlib.contextmanager
def staged(folder: Path, name: str, **context: object) -> Iterator[Stage]:
    """The machine of this name; its last NPU can fall off the bus."""
    lay_out_bus(folder, BUSES[name])
    shutil.copy(TABLES / f"{name}.txt", folder / "table")
    if (TABLES / f"{name}.map").exists():
        shutil.copy(TABLES / f"{name}.map", folder / "map")
    for file, text in _FILES.get(name, {}).items():
        (folder / file).write_text(text)
    write_program(folder)
    machine = Stage(AscendBackend, folder, **context)

    def remove(device: Device) -> None:
        bus = device.pci_bus_id or BUSES[name][-1]
        if device.pci_bus_id:
            shutil.rmtree(folder / "sys/bus/pci/devices" / bus)
        lines = (folder / "table").read_text().splitlines(keepends=True)
        gone = max(at for at, line in enumerate(lines) if bus.upper() in line)
        (folder / "table").write_text("".join(lines[: gone - 1] + lines[gone + 1 :]))
        machine.clock.advance(10)

    machine.remove = remove
    yield machine


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command complains: the NPUs are on the bus and cannot be read."""
    with staged(folder, "310p3-duo") as machine:
        machine.remove = None
        write_program(folder, "echo 'dcmi module initialize failed. ret is -8005'; exit 245")
        yield machine


def _machine(name: str, *, healthy: bool, reports_fault: bool = False) -> FixtureMachine:
    return FixtureMachine(
        f"ascend-{name}",
        "ascend",
        healthy,
        lambda folder: staged(folder, name),
        frozenset({"devices", "removable"}),
        reports_fault=reports_fault,
    )


MACHINES = (
    _machine("910b4-x2", healthy=True),
    _machine("a3", healthy=True),
    _machine("310p3-duo", healthy=True, reports_fault=True),
    _machine("910b3-bad-day", healthy=False),
    FixtureMachine(
        "ascend-without-answer", "ascend", False, _without_answer, frozenset({"devices"})
    ),
)
