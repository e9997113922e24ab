"""Cards through the vendor's Python libraries, for machines that have one and no command.

`furiosa_smi` (from 2026.4) reads sysfs and the driver itself; `furiosa_smi_py` (2024.2 to 2026.1) brings
libfuriosa_smi. Names and units are those of their docstrings: Celsius, W, MHz, bytes. Their classes have
the same quantities under other names; what fails costs only itself.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch_furiosa.document import MAX_DEVICES, Card, ToolOutput

MODULES = ("furiosa_smi", "furiosa_smi_py")
# No number: a reader that wants one gets an error.
_FAILED = "failed"
# By core: cycles in which it worked, and all of them.
Cycles = Mapping[int, tuple[int, int]]


class Library:
    """A loaded library; remembers the counters of cycles, of which load is the difference."""

    def __init__(self, name: str, module: Any) -> None:
        self.name = name
        self._module = module
        self._cycles: dict[str, Cycles] = {}

    def __call__(self) -> ToolOutput:
        """All cards now; whose processes are on them it does not know. Raises ReadError."""
        try:
            devices = list(self._module.list_devices())[:MAX_DEVICES]
        except Exception as error:
            text = f"{self.name}.list_devices: {error}"
            raise ReadError(text, code=type(error).__name__) from error
        cards: dict[int, Card] = {}
        cycles: dict[str, Cycles] = {}
        for device in devices:
            fields = Fields(device)
            name = fields.text("name", "device_name")
            number = fields.number("index", "dev_node_index")
            if number is None or not 0 <= number < MAX_DEVICES or number in cards:
                continue
            key = fields.text("uuid") or fields.text("serial") or name
            cycles[key] = fields.cycles()
            cards[number] = _card(number, fields, self._cycles.get(key, {}), cycles[key])
        self._cycles = cycles
        return ToolOutput(cards=tuple(cards.values()), jobs=Absence.UNSUPPORTED)


def load(load_module: Callable[[str], Any] = importlib.import_module) -> Library | None:
    """The first library that loads and initialises; None without one. Raises BackendUnavailable."""
    failure = ""
    for name in MODULES:
        try:
            module = load_module(name)
            if hasattr(module, "init"):
                module.init()
        except ModuleNotFoundError:
            continue
        except Exception as error:  # noqa: BLE001 - a vendor's library may raise whatever it wants
            failure = failure or f"{name}: {error!r}"[:300]
            continue
        return Library(name, module)
    if failure:
        raise BackendUnavailable(
            f"the vendor's library cannot be used: {failure}",
            reason="library",
            remedy="install the package furiosa-smi, whose command is read as well",
        )
    return None


class Fields:
    """The fields of a device of either library, by the names of both."""

    def __init__(self, device: Any) -> None:
        self._sources = [device]
        try:
            self._sources.append(device.device_info())
        except Exception:  # noqa: BLE001 - the newer library has it all in one; see `load`
            return

    def first_value(self, *names: str) -> object:
        """The first of these that there is; None where there is none, `_FAILED` where it fails."""
        for name in names:
            for source in self._sources:
                if hasattr(source, name):
                    return _value(source, name)
        return None

    def text(self, *names: str) -> str:
        """A text, or a word of an enumeration, empty without one."""
        value = self.first_value(*names)
        return "" if value is None or value == _FAILED else str(value)

    def number(self, *names: str) -> int | None:
        """A whole number."""
        value = self.first_value(*names)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def bus(self) -> str | None:
        """Where it is on the PCI bus."""
        bdf = self.first_value("bdf")
        components = [_value(bdf, field) for field in ("domain", "bus", "device", "function")]
        numbers = [number for number in components if isinstance(number, int)]
        if len(numbers) == len(components):
            domain, bus, device, function = numbers
            return normal_pci_bus_id(f"{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
        return normal_pci_bus_id(bdf) if isinstance(bdf, str) and ":" in bdf else None

    def measure(self, unit: str, *names: str, field: str = "") -> str | None:
        """A number with its unit; None where there is none, `_FAILED` where it fails."""
        raw = self.first_value(*names)
        value = _value(raw, field) if field and raw not in (None, _FAILED) else raw
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None if value is None else _FAILED
        return f"{value} {unit}"

    def memory(self) -> tuple[int, int] | None:
        """Bytes in use and in all."""
        usage = self.first_value("memory_usage", "memory_utilization")
        blocks = _items(_value(_value(usage, "dram"), "memory")) or [usage]
        used = [_value(block, "in_use_bytes") for block in blocks]
        size = [_value(block, "total_bytes") for block in blocks]
        numbers = [number for number in (*used, *size) if isinstance(number, int)]
        if len(numbers) != 2 * len(blocks):
            return None
        return sum(numbers[: len(blocks)]), sum(numbers[len(blocks) :])

    def cycles(self) -> Cycles:
        """The counters of each core, as far as they are known."""
        report = self.first_value("performance_counter", "device_performance_counter")
        listed = _value(report, "pe_performance_counters")
        counters = dict(_cores(report if listed is None else listed))
        pairs = {
            core: (_value(counter, "task_execution_cycle"), _value(counter, "cycle_count"))
            for core, counter in counters.items()
        }
        return {
            core: (busy, every)
            for core, (busy, every) in pairs.items()
            if isinstance(busy, int) and isinstance(every, int)
        }

    def clock(self) -> str | None:
        """The fastest core's, in MHz."""
        frequency = self.first_value("core_frequency")
        listed = _items(_value(frequency, "pe_frequency"))
        speeds = [_value(core, "frequency") for core in listed] if listed else [frequency]
        valid = [
            speed for speed in speeds if isinstance(speed, int) and not isinstance(speed, bool)
        ]
        if not valid:
            return None if frequency is None else _FAILED
        return f"{max(valid)} MHz"


def _card(number: int, fields: Fields, before: Cycles, now: Cycles) -> Card:
    bus = fields.bus()
    info = {
        "arch": fields.text("arch").rpartition(".")[2],
        "device_uuid": fields.text("uuid"),
        "device_sn": fields.text("serial"),
        "firmware": _version(fields.first_value("firmware_version")),
        "temperature": fields.measure("C", "device_temperature", field="soc_peak"),
        "power": fields.measure("W", "power_consumption"),
        "power_limit": fields.measure("W", "power_limit"),
        "core_clock": fields.clock(),
    }
    status: dict[str, object] = {"liveness": fields.first_value("liveness")}
    memory = fields.memory()
    if memory is not None:
        status["memory"] = {"DRAM": {"used_size": memory[0], "total_size": memory[1]}}
    if before:
        status["pe_utilizations"] = [
            {"pe_core": core, "pe_utilization": share} for core, share in _loads(before, now)
        ]
    return Card(number=number, pci_bus_id=bus, info=info, status=status)


def _loads(before: Cycles, now: Cycles) -> Iterator[tuple[int, float | str]]:
    """Of a hundred, by core; a counter that went back, as after a reset, says nothing."""
    for core, (busy, every) in now.items():
        busy_before, every_before = before.get(core, (busy, every))
        passed, worked = every - every_before, busy - busy_before
        good = passed > 0 and 0 <= worked <= passed
        yield core, 100.0 * worked / passed if good else _FAILED


def _version(version: object) -> str:
    numbers = [_value(version, field) for field in ("major", "minor", "patch")]
    if not all(isinstance(number, int) for number in numbers):
        return ""
    metadata = _value(version, "metadata")
    plain = ".".join(map(str, numbers))
    return f"{plain}, {metadata}" if isinstance(metadata, str) and metadata else plain


def _cores(counters: object) -> Iterator[tuple[int, object]]:
    """Counters by core: of a mapping by its key, of a list by their own number or their index."""
    if isinstance(counters, Mapping):
        yield from ((core, entry) for core, entry in counters.items() if isinstance(core, int))
        return
    for index, counter in enumerate(_items(counters)):
        core = _value(counter, "core")
        yield core if isinstance(core, int) else index, counter


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _value(source: object, name: str) -> object:
    """An attribute, or what it gives when it is a method; None without it, `_FAILED` when it fails."""
    try:
        value = getattr(source, name, None)
        return value() if callable(value) else value
    except Exception:  # noqa: BLE001 - a vendor's library may raise whatever it wants
        return _FAILED
