"""From a chip, of the driver or of a snapshot, to a device and its reading. Pure but for the driver."""

from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.text.quantity import AMPERES, CELSIUS, VOLTS, WATTS, Units, quantity
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel.pcie_link import collect_link
from accelwatch_tenstorrent import driver, registers
from accelwatch_tenstorrent.snapshot import Chip, text_of

VENDOR = "tenstorrent"
# By PCI device id.
ARCHITECTURES = MappingProxyType({0x401E: "wormhole", 0xB140: "blackhole", 0xFACA: "grayskull"})
# By how the name of a card begins: n150, p150a, e75.
_BOARDS = (("n", "wormhole"), ("p", "blackhole"), ("e", "grayskull"))
# Boards whose names do not say it, as tt-smi, tt-kmd and luwen call them; tt-smi adds ` L` or ` R` to
# those of Wormhole, which a Galaxy of one chip a board has as well.
_NAMED_BOARDS = MappingProxyType(
    {
        **dict.fromkeys(("tt-galaxy-wh", "galaxy-wormhole", "galaxy", "wh_4u"), "wormhole"),
        **dict.fromkeys(("nb_cb", "nebula_cb"), "wormhole"),
        **dict.fromkeys(("tt-galaxy-bh", "galaxy-blackhole", "bh-scrappy"), "blackhole"),
    }
)
_MEGAHERTZ: Units = MappingProxyType({"": 1e6, "mhz": 1e6})
_PLAIN: Units = MappingProxyType({"": 1.0})
_VOLTS: Units = MappingProxyType({**VOLTS, "": 1.0})
_AMPERES: Units = MappingProxyType({**AMPERES, "": 1.0})


class MappedField(NamedTuple):
    """A text of a snapshot, by part and key, and the series that it is."""

    section: str
    key: str
    series: Series
    units: Units


ROWS = (
    MappedField("telemetry", "asic_temperature", ("temperature_celsius", "gpu"), CELSIUS),
    MappedField("telemetry", "power", ("power_watts",), WATTS),
    MappedField("telemetry", "board_power", ("power_component_watts", "board"), WATTS),
    MappedField("telemetry", "voltage", ("voltage_volts", "core"), _VOLTS),
    MappedField("telemetry", "current", ("current_amperes", "core"), _AMPERES),
    MappedField("telemetry", "aiclk", ("clock_hertz", "npu"), _MEGAHERTZ),
    MappedField("limits", "tdp_limit", ("power_limit_watts", "enforced"), WATTS),
    MappedField(
        "limits", "board_power_limit", ("power_component_limit_watts", "board", "enforced"), WATTS
    ),
    MappedField("limits", "asic_fmax", ("clock_limit_hertz", "npu", "max"), _MEGAHERTZ),
    MappedField("board", "pcie_speed", ("pcie_link_generation", "current"), _PLAIN),
    MappedField("board", "pcie_width", ("pcie_link_width_lanes", "current"), _PLAIN),
)
_INTEGERS = frozenset({"pcie_link_generation", "pcie_link_width_lanes"})
# Of the firmware, by its name; 0 is an empty one.
_REGISTERS = (
    ("AXICLK", ("clock_hertz", "fabric"), 1e6),
    ("ARCCLK", ("clock_hertz", "soc"), 1e6),
    ("MAX_GDDR_TEMP", ("temperature_celsius", "memory"), 1.0),
    ("VREG_TEMPERATURE", ("temperature_celsius", "vr"), 1.0),
    ("THM_LIMIT_THROTTLE", ("temperature_limit_celsius", "gpu", "slowdown"), 1.0),
    ("THM_LIMIT_SHUTDOWN", ("temperature_limit_celsius", "gpu", "shutdown"), 1.0),
)
# What only newer releases of tt-smi have.
_OPTIONAL = frozenset({"power_component_watts", "power_component_limit_watts"})


class Signs(NamedTuple):
    """The signs of a chip's health; None where a sign is not given or not known yet."""

    alive: bool | None
    dram_trained: bool | None = None
    ethernet_stuck: bool = False
    thermal_trips: int | None = None
    silent: bool = False


def identified_by_driver(
    device: Device, node: driver.Node, card: str | None, architecture: str | None
) -> Device:
    """The device with what the driver says of who it is."""
    asic = node.number_of("tt_asic_id")
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{asic or node.pci_bus_id}",
        index=node.number,
        name=f"tt{node.number}",
        model=card,
        architecture=architecture,
        uuid=asic,
        serial=node.number_of("tt_serial"),
        firmware_version=node.text("tt_fw_bundle_ver"),
        pci_bus_id=node.pci_bus_id,
        device_nodes=(f"/dev/tenstorrent/{node.number}",),
    )


def identified_by_tool(device: Device, chip: Chip, node: driver.Node | None) -> Device:
    """The device with what a snapshot says of who it is."""
    asic, board = chip.asic_id, chip.board_type
    side = "" if board is None else board.partition(" ")[2]
    remote = f"{chip.serial}-{side.lower()}" if chip.serial and side else f"remote-{chip.at}"
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{asic or chip.pci_bus_id or remote}",
        kind=DeviceKind.NPU,
        model=board,
        architecture=architecture_of(chip),
        uuid=asic,
        serial=chip.serial,
        firmware_version=text_of(chip.firmwares, "fw_bundle_version"),
        pci_bus_id=chip.pci_bus_id,
        device_nodes=() if node is None else (f"/dev/tenstorrent/{node.number}",),
    )


def architecture_of(chip: Chip) -> str | None:
    """By the PCI id, else by the name of the board; None for one that is not known."""
    if chip.architecture is not None:
        return chip.architecture
    board = _board_of(chip)
    names = (name for prefix, name in _BOARDS if board[:1] == prefix and board[1:2].isdecimal())
    return _NAMED_BOARDS.get(board) or next(names, None)


def _board_of(chip: Chip) -> str:
    """Its name in lower case, without the side on which the chip is."""
    return (chip.board_type or "").lower().partition(" ")[0]


def of_tool(device_id: str, chip: Chip) -> Collected:
    """What a snapshot says, but health."""
    out = Collected(device_id)
    for row in ROWS:
        _record_row(out, chip, row)
    for name, series, factor in _REGISTERS:
        register = chip.register(name)
        if register:
            out.put(series[0], register * factor, *series[1:])
    architecture = architecture_of(chip)
    inlet = registers.inlet_celsius(chip, architecture)
    if inlet is not None:
        out.put("temperature_celsius", inlet, "inlet")
    if "THM_LIMIT_SHUTDOWN" not in chip.registers:
        # Wormhole: the bound that the firmware keeps. Blackhole's tool calls the shutdown so.
        limit = quantity(chip.limits.get("thm_limit"), CELSIUS)
        bound = "shutdown" if architecture == "blackhole" else "slowdown"
        _record(out, ("temperature_limit_celsius", "gpu", bound), limit or Absence.UNSUPPORTED)
    fan = chip.register("FAN_RPM")
    if fan not in (None, driver.ALL_BITS_SET) and "galaxy" not in _board_of(chip):
        out.put("fan_speed_rpm", fan, "0")
    return out


def _record_row(out: Collected, chip: Chip, row: MappedField) -> None:
    value = quantity(getattr(chip, row.section).get(row.key), row.units)
    if not registers.is_reported(chip, row.key) or (row.section == "limits" and value == 0):
        value = Absence.UNSUPPORTED
    if row.series[0] in _OPTIONAL and value is Absence.UNSUPPORTED:
        return
    _record(out, row.series, value)


def signs_of(chip: Chip, alive: bool | None) -> Signs:
    """What a snapshot says of health."""
    return Signs(
        alive=alive,
        silent=registers.silent(chip),
        dram_trained=registers.dram_trained(chip, architecture_of(chip)),
        ethernet_stuck=chip.ethernet_stuck,
        thermal_trips=chip.register("THERM_TRIP_COUNT"),
    )


def of_driver(device_id: str, node: driver.Node, root: Path) -> Collected:
    """What the driver shows, but health."""
    out = Collected(device_id)
    driver.record_telemetry(out, root, node)
    collect_link(out, root, node.pci_bus_id)
    return out


def record_health(out: Collected, signs: Signs, unknown: Absence) -> None:
    """Status and health; `unknown` is why there is none without a sign."""
    statuses = [
        status
        for status, is_active in (
            ("firmware not running", signs.silent),
            ("heartbeat stuck", signs.alive is False),
            ("DRAM not trained", signs.dram_trained is False),
            ("ETH heartbeat stuck", signs.ethernet_stuck),
            ("thermal trip", bool(signs.thermal_trips)),
            ("alive", signs.alive is True),
        )
        if is_active
    ]
    for status in statuses:
        out.put("reported_status_info", 1, status)
    if signs.silent or signs.alive is False or signs.dram_trained is False:
        out.put("reported_health_info", 1, "failed")
    elif signs.ethernet_stuck:
        out.put("reported_health_info", 1, "degraded")
    elif signs.alive:
        out.put("reported_health_info", 1, "ok")
    else:
        out.miss("reported_health_info", unknown)
    if not statuses:
        out.miss("reported_status_info", unknown)


def _record(out: Collected, series: Series, value: float | Absence) -> None:
    if series[0] in _INTEGERS and not isinstance(value, Absence):
        value = round(value)
    out.record(series, value)
