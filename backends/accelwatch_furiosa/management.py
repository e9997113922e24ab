"""Cards as their drivers show them: who they are, whether they live, sensors, errors of the bridge.

Units are those of hwmon, as the vendor's own programs read them: millidegrees, microwatts, millivolts,
milliamperes. The driver names the sensors.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs
from accelwatch_furiosa.document import Card

WARBOY, RNGD = "sys/class/npu_mgmt", "sys/class/rngd_mgmt"
# Of the drivers' cards, below /dev.
WARBOY_NODES, RNGD_NODES = "npu*_mgmt", "rngd/npu*mgmt"
SOURCE = "sysfs"
_FOLDERS = {
    WARBOY: re.compile(r"npu(\d{1,4})_mgmt"),
    RNGD: re.compile(r"rngd!npu(\d{1,4})mgmt"),
}
# The driver has emulated platforms too, which are no cards.
_PLATFORM = "FuriosaAI"
_SENSOR = re.compile(r"(temp|power|in|curr)(\d{1,2})_(?:input|average)")
_MAX_SENSORS = 32
_MAX_NAME = 32
_ALIVE = {"1": "alive", "0": "dead"}
_COUNT = re.compile(r"([A-Za-z][\w ]{0,30}Error): *(\d{1,10})")
_INFO = (
    ("arch", "device_type"),
    ("device_uuid", "device_uuid"),
    ("device_sn", "device_sn"),
    ("firmware", "fw_version"),
)


class _Kind(NamedTuple):
    key: str
    factor: float


_KINDS = {
    "temp": _Kind("temperature_celsius", 1e-3),
    "power": _Kind("power_component_watts", 1e-6),
    "in": _Kind("voltage_volts", 1e-3),
    "curr": _Kind("current_amperes", 1e-3),
}
_SENSOR_SERIES: dict[tuple[str, str], Series] = {
    ("temp", "peak"): ("temperature_celsius", "gpu"),
    ("temp", "ambient"): ("temperature_celsius", "board"),
    ("power", "rms_total"): ("power_watts",),
}
_CHIP: Series = ("temperature_celsius", "gpu")


def folders(root: Path, kind: str) -> dict[int, Path]:
    """Folder of each card of a driver (`WARBOY` or `RNGD`) by its number; empty without the driver."""
    by_number: dict[int, Path] = {}
    for entry in sysfs.list_dir(root / kind):
        match = _FOLDERS[kind].fullmatch(entry.name)
        folder = _followed(entry) if match else None
        if (
            match
            and folder is not None
            and _read_attribute(folder, "platform_type") in (None, _PLATFORM)
        ):
            by_number[int(match[1])] = folder
    return by_number


def cards(root: Path) -> list[Card]:
    """Who they are, and whether they live. Beside Warboy cards those of RNGD follow in number."""
    warboy, rngd = folders(root, WARBOY), folders(root, RNGD)
    first = max(warboy, default=-1) + 1
    return [
        *(_card(number, folder) for number, folder in warboy.items()),
        *(_card(first + number, folder) for number, folder in rngd.items()),
    ]


def folder_at(root: Path, pci_bus_id: str | None) -> Path | None:
    """The folder of the card at an address on the bus; None where the driver shows none."""
    if pci_bus_id is None:
        return None
    every = (folder for kind in _FOLDERS for folder in folders(root, kind).values())
    return next((folder for folder in every if _pci_address(folder) == pci_bus_id), None)


def nodes(root: Path, folder: Path) -> tuple[str, ...]:
    """`/dev/npu0`, `/dev/npu0pe0-1`, `/dev/rngd/npu0mgmt` and the others of a card."""
    below, number = _of(folder)
    directory = root / "dev" / below
    name = re.compile(rf"npu{number}(?:_?mgmt|pe\d{{1,3}}(?:-\d{{1,3}})?)?")
    here = (entry.name for entry in sysfs.list_dir(directory) if name.fullmatch(entry.name))
    return tuple(str(Path("/dev", below, entry)) for entry in here)


def is_rngd(folder: Path) -> bool:
    """Whether the folder is one of RNGD's driver."""
    return _of(folder)[0] == "rngd"


def collect_all(out: Collected, root: Path, folder: Path) -> dict[str, str]:
    """What the driver reports and no other source has, and where each quantity is from."""
    before = set(out.values)
    bus = _pci_address(folder)
    for series, value in _sensors(sysfs.pci_device_dir(root, bus)) if bus else ():
        if series not in before:
            out.record(series, value)
    for error in _errors(folder):
        out.put("reported_status_info", 1, error)
    return {series[0]: SOURCE for series in out.values if series not in before}


def _of(folder: Path) -> tuple[str, str]:
    """The folder below /dev that has its nodes, and the driver's number of a card."""
    below, _, name = folder.name.rpartition("!")
    return below, name.removeprefix("npu").removesuffix("mgmt").rstrip("_")


def _card(number: int, folder: Path) -> Card:
    info = {key: _read_attribute(folder, file) or "" for key, file in _INFO}
    alive = _ALIVE.get(_read_attribute(folder, "alive") or "")
    status = {} if alive is None else {"liveness": alive}
    return Card(number=number, pci_bus_id=_pci_address(folder), info=info, status=status)


def _followed(entry: Path) -> Path | None:
    """The folder; a copy of the tree may have the text of the link instead."""
    if entry.is_dir():
        return entry
    target = sysfs.read_text(entry)
    if isinstance(target, Absence) or not target.startswith("../"):
        return None
    folder = entry.parent / target
    return folder if folder.name == entry.name and folder.is_dir() else None


def _pci_address(folder: Path) -> str | None:
    bus = _read_attribute(folder, "busname")
    return normal_pci_bus_id(bus) if bus is not None and ":" in bus else None


def _sensors(function: Path) -> Iterator[tuple[Series, float | Absence]]:
    """Every sensor in base units; of temperatures without a known name the highest is the chip's."""
    named: set[Series] = set()
    hottest: list[float] = []
    for file, match in _sensor_files(function):
        kind, number = match[1], match[2]
        name = _label(file.with_name(f"{kind}{number}_label")) or f"{kind}{number}"
        raw = sysfs.read_int(file)
        value = raw if isinstance(raw, Absence) else raw * _KINDS[kind].factor
        series = _SENSOR_SERIES.get((kind, name))
        if series is None and kind == "temp":
            hottest += [] if isinstance(value, Absence) else [value]
            continue
        series = series or (_KINDS[kind].key, name)
        named.add(series)
        yield series, value
    if hottest and _CHIP not in named:
        yield _CHIP, max(hottest)


def _sensor_files(function: Path) -> list[tuple[Path, re.Match[str]]]:
    files = [file for hwmon in sysfs.list_dir(function / "hwmon") for file in sysfs.list_dir(hwmon)]
    matches = [(file, match) for file in files if (match := _SENSOR.fullmatch(file.name))]
    return matches[:_MAX_SENSORS]


def _label(path: Path) -> str:
    """What the driver calls a sensor, as a word in lower case; empty without a name."""
    text = sysfs.read_text(path)
    plain = "" if isinstance(text, Absence) else re.sub(r"[^a-z0-9]+", "_", text.lower())
    return plain.strip("_")[:_MAX_NAME].rstrip("_")


def _errors(folder: Path) -> list[str]:
    """The errors of the bridge that were counted at least once, in the driver's words."""
    text = sysfs.read_text(folder / "atr_error")
    lines = [] if isinstance(text, Absence) else text.splitlines()
    matches = [_COUNT.fullmatch(line.strip()) for line in lines[:_MAX_SENSORS]]
    return [match[1].lower() for match in matches if match and int(match[2])]


def _read_attribute(folder: Path, file: str) -> str | None:
    text = sysfs.read_text(folder / file)
    return None if isinstance(text, Absence) or not text.isprintable() else text[:80] or None
