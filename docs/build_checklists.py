"""Writes the checklist at the end of each vendor's page: `python docs/build_checklists.py`.

From the backend's declarations, the simulator's models and the golden documents of the machines that the
contract suite reads, so that it says what the tests have seen and nothing else. A test keeps it current.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.backend import Confining
from accelwatch.plugins import entry_points as plugins
from accelwatch_lab.simulator.models import MODELS

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs/backends"
BEGIN = "<!-- made by docs/build_checklists.py from the machines of the tests -->\n"
END = "<!-- end of the checklist -->\n"
_NO_VENDOR = {"host", "kernel_log", "replay"}
_IDENTITY: Mapping[str, str] = {
    "uuid": "uuid",
    "serial": "serial",
    "PCI address": "pci_bus_id",
    "model": "model",
    "firmware": "firmware_version",
    "driver": "driver_version",
    "device nodes": "device_nodes",
}
_QUANTITIES: Mapping[str, tuple[str, ...]] = {
    "load": ("utilization_ratio",),
    "memory size": ("memory_size_bytes",),
    "memory in use": ("memory_used_bytes",),
    "temperature": ("temperature_celsius",),
    "temperature limits": ("temperature_limit_celsius", "temperature_margin_celsius"),
    "power": ("power_watts", "power_average_watts"),
    "power limit": ("power_limit_watts",),
    "clocks": ("clock_hertz",),
    "throttling": ("throttle_active", "throttle_seconds_total"),
    "PCIe link": ("pcie_link_generation", "pcie_link_width_lanes"),
    "links between devices": ("interconnect_links", "link_up"),
    "error counters": (
        *("ecc_errors_total", "ecc_location_errors_total", "memory_retired_pages"),
        *("memory_remapped_rows", "pcie_errors_total", "resets_total"),
    ),
    "health or repair": (
        *("reported_health_info", "reported_status_info", "recovery_action_info"),
        *("reset_required", "memory_repair_pending", "memory_repair_failed"),
    ),
    "processes": ("processes",),
    "partitions": ("partition", "partition_mode"),
}

Device = dict[str, Any]


def pages() -> Iterator[tuple[Path, str]]:
    """(a vendor's page, as it should be)."""
    devices = _devices()
    for name in plugins.names(plugins.BACKENDS):
        if name not in _NO_VENDOR:
            path = PAGES / f"{name}.md"
            text = path.read_text(encoding="utf-8").partition(f"\n## Checklist\n\n{BEGIN}")[0]
            yield path, f"{text.rstrip()}\n\n## Checklist\n\n{BEGIN}{_table(name, devices)}{END}"


def _devices() -> dict[str, dict[str, list[Device]]]:
    """Devices by backend and machine."""
    by_backend: dict[str, dict[str, list[Device]]] = {}
    for path in sorted((ROOT / "fixtures/golden").glob("*/snapshot.json")):
        document = msgspec.json.decode(path.read_bytes())
        holders = {process["device_id"] for process in document["processes"]}
        for device in document["devices"]:
            device["processes"] = device["id"] in holders
            machines = by_backend.setdefault(device["backend"], {})
            machines.setdefault(path.parent.name, []).append(device)
    return by_backend


def _table(name: str, devices: Mapping[str, Mapping[str, list[Device]]]) -> str:
    machines = devices.get(name, {})
    every = [device for listed in machines.values() for device in listed]
    identity = [label for label, key in _IDENTITY.items() if any(one.get(key) for one in every)]
    given = [label for label, keys in _QUANTITIES.items() if _is_given(every, keys)]
    lacking = [label for label in (*_IDENTITY, *_QUANTITIES) if label not in {*identity, *given}]
    factory = plugins.load(plugins.BACKENDS, name)
    variable = factory.visibility.variable if isinstance(factory, Confining) else ""
    played = {name} if name in MODELS else {device["vendor"] for device in every} & MODELS.keys()
    rows = {
        "identity": ", ".join(identity),
        "read, by default": ", ".join(given),
        "reported by no test machine": ", ".join(lacking) or "nothing of the above",
        "`pick` sets": f"`{variable}`" if variable else "no variable is known",
        "simulator": ", ".join(f"`--vendor {vendor}`" for vendor in sorted(played)) or "no model",
        "machines of the contract suite": ", ".join(machines),
    }
    lines = "".join(f"| {point} | {told} |\n" for point, told in rows.items())
    return f"| point | state |\n|---|---|\n{lines}"


def _is_given(devices: list[Device], keys: tuple[str, ...]) -> bool:
    """Whether a device has one of the quantities; what is false or empty is not there, 0 is."""
    return any(device.get(key) not in (None, False, [], {}) for device in devices for key in keys)


if __name__ == "__main__":
    for path, text in pages():
        path.write_text(text, encoding="utf-8")
