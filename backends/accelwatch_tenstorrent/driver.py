"""What tt-kmd shows of a chip: its class folder, hwmon and who has it open.

Units there: MHz, millidegrees, millivolts, milliamperes, microwatts, rpm. A file whose tag the
firmware lacks is not there; one that is there and says ENODATA waits for the chip's initialisation.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from accelwatch.backend.kit.listed_process import with_facts
from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Process
from accelwatch.system.kernel import proc, sysfs

SOURCE = "sysfs"
_NODE = re.compile(r"tenstorrent!\d{1,6}")


class _DriverFile(NamedTuple):
    file: str
    series: Series
    factor: float


_CLOCKS = (
    _DriverFile("tt_aiclk", ("clock_hertz", "npu"), 1e6),
    _DriverFile("tt_axiclk", ("clock_hertz", "fabric"), 1e6),
    _DriverFile("tt_arcclk", ("clock_hertz", "soc"), 1e6),
)
_SENSORS = (
    _DriverFile("temp1_input", ("temperature_celsius", "gpu"), 1e-3),
    _DriverFile("temp1_max", ("temperature_limit_celsius", "gpu", "slowdown"), 1e-3),
    _DriverFile("power1_input", ("power_watts",), 1e-6),
    _DriverFile("power1_max", ("power_limit_watts", "enforced"), 1e-6),
    _DriverFile("in0_input", ("voltage_volts", "core"), 1e-3),
    _DriverFile("curr1_input", ("current_amperes", "core"), 1e-3),
)
_FAN = _DriverFile("fan1_input", ("fan_speed_rpm", "0"), 1.0)
_NO_NUMBER = frozenset({"0" * 16, "f" * 16})
# By PCI subsystem id, by which tt-kmd knows them too (enumerate.c); its word for their card type.
_GALAXIES = {0x0035: "galaxy-wormhole", 0x0047: "galaxy-blackhole"}
# What a register reads when nothing answers on the bus.
ALL_BITS_SET = 0xFFFF_FFFF


class Node(NamedTuple):
    """A chip that the driver has bound."""

    # Of /dev/tenstorrent/N.
    number: int
    pci_bus_id: str
    folder: Path
    hwmon: Path | None

    @property
    def complete(self) -> bool:
        """Whether the driver shows telemetry; older ones have none of it, or only the hwmon part."""
        sensor = self.hwmon is not None and (self.hwmon / "temp1_input").exists()
        return sensor and (self.folder / "tt_aiclk").exists()

    def text(self, file: str) -> str | None:
        """A word of the class folder, in lower case; None where there is none."""
        text = sysfs.read_text(self.folder / file)
        if isinstance(text, Absence) or re.fullmatch(r"[\w.+-]{1,64}", text) is None:
            return None
        return None if text.lower() in ("unknown", "n") else text.lower()

    def number_of(self, file: str) -> str | None:
        """An identification number of 16 digits; None where it is not one, or not set."""
        number = self.text(file)
        if number is None or re.fullmatch(r"[0-9a-f]{16}", number) is None or number in _NO_NUMBER:
            return None
        return number


def nodes(root: Path) -> dict[str, Node]:
    """Chips of the driver by their PCI id."""
    return {bus: _node(root, folder, bus) for bus, folder in _folders(root)}


def node_at(root: Path, pci_bus_id: str) -> Node | None:
    """The chip at a PCI id; None where the driver has bound none."""
    folder = next((folder for bus, folder in _folders(root) if bus == pci_bus_id), None)
    return None if folder is None else _node(root, folder, pci_bus_id)


def _folders(root: Path) -> Iterator[tuple[str, Path]]:
    for folder in sysfs.list_dir(root / "sys/class/tenstorrent"):
        bus = sysfs.link_name(folder / "device") if _NODE.fullmatch(folder.name) else None
        if bus is not None:
            yield bus, folder


def _node(root: Path, folder: Path, bus: str) -> Node:
    hwmons = sysfs.list_dir(sysfs.pci_device_dir(root, bus) / "hwmon")
    number = int(folder.name.partition("!")[2])
    return Node(number, bus, folder, hwmons[0] if hwmons else None)


def card_type(root: Path, node: Node) -> str | None:
    """As the firmware has it; of a Galaxy whose firmware does not, by the PCI id of the board."""
    board = sysfs.read_int(sysfs.pci_device_dir(root, node.pci_bus_id) / "subsystem_device")
    galaxy = _GALAXIES.get(board) if isinstance(board, int) else None
    return node.text("tt_card_type") or galaxy


def record_telemetry(out: Collected, root: Path, node: Node) -> None:
    """Clocks, sensors and limits."""
    for row in _CLOCKS:
        _record(out, row, node.folder)
    if node.hwmon is None:
        return
    for row in _SENSORS:
        _record(out, row, node.hwmon)
    # The fans of a Galaxy are the chassis's; each chip says 0. All ones: the board has none.
    of_chassis = (card_type(root, node) or "").startswith("galaxy")
    if not of_chassis and sysfs.read_int(node.hwmon / _FAN.file) != ALL_BITS_SET:
        _record(out, _FAN, node.hwmon)


def _record(out: Collected, row: _DriverFile, folder: Path) -> None:
    value = sysfs.read_int(folder / row.file)
    key, *labels = row.series
    if isinstance(value, int):
        out.put(key, value * row.factor, *labels)
    elif value is not Absence.UNSUPPORTED:
        out.miss(key, value, *labels)


def heartbeat(node: Node) -> int | Absence:
    """The counter that the firmware moves; `stale` while the chip waits for its initialisation."""
    path = node.folder / "tt_heartbeat"
    value = sysfs.read_int(path)
    return Absence.STALE if value is Absence.UNSUPPORTED and path.exists() else value


def processes(root: Path, node: Node, device_id: str) -> list[Process] | Absence:
    """Who has the chip open, by pid.

    The driver gives pids of the reader's own namespace, and 0 for a process of another.
    """
    content = sysfs.read_text(root / f"proc/driver/tenstorrent/{node.number}/pids")
    if isinstance(content, Absence):
        return content
    lines = content.split()
    if not all(line.isascii() and line.isdecimal() and len(line) < 10 for line in lines):
        return Absence.ERROR
    return [_process(root, device_id, pid) for pid in sorted({int(line) for line in lines}) if pid]


def _process(root: Path, device_id: str, pid: int) -> Process:
    facts = proc.facts(root, pid)
    absent = {"gpu_memory_bytes": Absence.UNSUPPORTED, "utilization_ratio": Absence.UNSUPPORTED}
    command = None if facts is None else facts.command
    return with_facts(root, Process(device_id=device_id, pid=pid, command=command, absent=absent))
