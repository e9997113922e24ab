"""T-Head's ppu-smi as a table, and the words that are its own. Pure. PPUs are numbered by their order.

Numbers need their unit: the table cuts cells off at the edge of a column.
"""

from collections.abc import Sequence
from types import MappingProxyType

from accelwatch.backend.kit.bus_devices import DISPLAY
from accelwatch.backend.kit.smi.blocks import meaningful_text, parse_integer, plain
from accelwatch.backend.kit.smi.formats import Table, Text
from accelwatch.backend.kit.smi.keywords import flag
from accelwatch.backend.kit.smi.listing import Gpu
from accelwatch.backend.kit.smi.remote import remote_of
from accelwatch.backend.kit.smi.rows import (
    CELSIUS_WITH_UNIT,
    PERCENT_WITH_UNIT,
    WATTS_WITH_UNIT,
    integer,
    link_width,
    number,
    paths,
    performance_state,
    switch,
)
from accelwatch.backend.kit.smi.table import Columns
from accelwatch.backend.kit.smi.vendor import Query, SmiVendor
from accelwatch.backend.kit.text.quantity import BYTES, COUNT, HERTZ
from accelwatch.backend.kit.text.quantity import integer as integer_of
from accelwatch.backend.kit.tool_backend import Command
from accelwatch.base.absence import Absence
from accelwatch.schema import recovery_action
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Collected

_PROGRAM = "ppu-smi"
_REPAIR_PENDING = paths("retired pages/pending page blacklist", "remapped rows/pending")
_ERRORS = (
    (("ecc_errors_total", "corrected"), "volatile", "correctable"),
    (("ecc_errors_total", "uncorrected"), "volatile", "uncorrectable"),
    (("ecc_lifetime_errors", "corrected"), "aggregate", "correctable"),
    (("ecc_lifetime_errors", "uncorrected"), "aggregate", "uncorrectable"),
)
# The manual says KB/s only; taken as thousands, as nvidia-smi's are.
_BYTES_PER_SECOND = MappingProxyType({"kb/s": 1e3, "mb/s": 1e6})
_BANKS = MappingProxyType({"bank(s)": 1.0})
# Of releases before HGML 12: the code of an error that needs this, or N/A.
_XIDS = paths(
    "xid errors/ppu reset correctable",
    "xid errors/os reboot correctable",
    "xid errors/cold reboot correctable",
)


def _collect_more(out: Collected, _device: Device, ppu: Gpu) -> tuple[str, ...]:
    pending = [flag(ppu.text(path)) for path in _REPAIR_PENDING]
    out.record(("memory_repair_pending",), _any(pending))
    for series, counter, error_kind in _ERRORS:
        out.record(series, _errors(ppu, counter, error_kind))
    _record_action(out, ppu)
    return ()


def _any(states: Sequence[bool | Absence]) -> bool | Absence:
    """Whether one is so. A part that is not there says nothing; one that is no word spoils a no."""
    if True in states:
        return True
    reasons = [state for state in states if isinstance(state, Absence)]
    faults = [reason for reason in reasons if reason is not Absence.UNSUPPORTED]
    if faults:
        return faults[0]
    return Absence.UNSUPPORTED if len(reasons) == len(states) else False


def _errors(ppu: Gpu, counter: str, error_kind: str) -> int | Absence:
    """Of SRAM and DRAM together; of the table, which has the sum of the uncorrectable ones."""
    counts = [
        integer_of(ppu.value_of((counter, f"{memory} {error_kind}")), COUNT)
        for memory in ("sram", "dram")
    ]
    numbers = [count for count in counts if not isinstance(count, Absence)]
    if Absence.ERROR in counts:
        return Absence.ERROR
    return sum(numbers) if numbers else integer_of(ppu.value_of((counter, error_kind)), COUNT)


def _record_action(out: Collected, ppu: Gpu) -> None:
    """The recovery that the driver requests, in the words of each release."""
    status = ppu.value_of(("ppu recovery action",))
    action = meaningful_text(status)
    is_requested = any(parse_integer(ppu.value_of(path)) is not None for path in _XIDS)
    if action is not None:
        name = plain(action).replace(" ", "_")
        out.put("recovery_action_info", 1, recovery_action.name_of(name))
    elif status is not None and str(status).strip().lower() == "none":
        out.put("recovery_action_info", 1, "none")
    else:
        out.miss("recovery_action_info", Absence.UNSUPPORTED)
    if is_requested or action is not None:
        out.put("reset_required", 1)
    elif out.values.get(("recovery_action_info", "none")):
        out.put("reset_required", 0)
    else:
        out.miss("reset_required", Absence.UNSUPPORTED)


VENDOR = SmiVendor(
    name="thead",
    # The id is of Alibaba, whose disks and network cards have it too: the class decides.
    command=Command(
        names=(_PROGRAM,),
        option="ppu_smi",
        remedy="install the PPU SDK, which brings ppu-smi, or name the command in the option ppu_smi",
        vendor_id=0x1DED,
        prefix="ppu",
        driver="sys/module/alixpu",
        module="alixpu",
        folders=("usr/local/PPU_SDK/bin", "usr/local/PPU_SDK/ppu-smi/bin"),
        classes=(DISPLAY,),
        kind=DeviceKind.GPU,
        nodes="alixpu_ppu[0-9]*",
    ),
    queries=(Query(("-q",), Text(_PROGRAM, device="PPU", numbered=False)),),
    # Instances of MIG have a table of their own, without a name: they are no PPUs.
    table=Table(
        program=_PROGRAM,
        columns=Columns(
            first=("ppu", "name"),
            address="bus-id",
            cells={
                "name": "product name",
                "persistence m.": "persistence mode",
                "volatile uncorr. ecc": "volatile/uncorrectable",
                "fan": "fan speed",
                "temp": "temperature/ppu current temp",
                "perf": "performance state",
                "ppu-util": "utilization/ppu",
                "compute m.": "compute mode",
                "mig m.": "mig mode/current",
            },
            pairs={
                "pwr:usage/cap": (
                    "power readings/power draw",
                    "power readings/enforced power limit",
                ),
                "memory-usage": ("memory usage/used", "memory usage/total"),
            },
        ),
        instances=True,
    ),
    identity={
        "uuid": ["ppu uuid"],
        "serial": ["serial number"],
        "model": ["product name"],
        "architecture": ["product architecture"],
        "vbios_version": ["vbios version"],
    },
    rows=(
        number(("utilization_ratio",), PERCENT_WITH_UNIT, "utilization/ppu"),
        number(("engine_utilization_ratio", "encoder"), PERCENT_WITH_UNIT, "utilization/encoder"),
        number(("engine_utilization_ratio", "decoder"), PERCENT_WITH_UNIT, "utilization/decoder"),
        number(("fan_speed_ratio", "0"), PERCENT_WITH_UNIT, "fan speed"),
        number(("temperature_celsius", "gpu"), CELSIUS_WITH_UNIT, "temperature/ppu current temp"),
        number(
            ("temperature_celsius", "memory"), CELSIUS_WITH_UNIT, "temperature/memory current temp"
        ),
        *(
            number(
                ("temperature_limit_celsius", sensor, limit),
                CELSIUS_WITH_UNIT,
                f"temperature/{heading} temp",
            )
            for heading, sensor, limit in (
                ("ppu shutdown", "gpu", "shutdown"),
                ("ppu slowdown", "gpu", "slowdown"),
                ("ppu max operating", "gpu", "max_operating"),
                ("memory max operating", "memory", "max_operating"),
            )
        ),
        number(("power_watts",), WATTS_WITH_UNIT, "power readings/power draw"),
        *(
            number(
                ("power_limit_watts", limit),
                WATTS_WITH_UNIT,
                f"power readings/{heading}power limit",
            )
            for heading, limit in (
                ("enforced ", "enforced"),
                ("", "requested"),
                ("default ", "default"),
                ("min ", "min"),
                ("max ", "max"),
            )
        ),
        *(
            number((key, domain, *kind), HERTZ, f"{block}/{heading}")
            for block, key, kind in (
                ("clocks", "clock_hertz", ()),
                ("max clocks", "clock_limit_hertz", ("max",)),
            )
            for heading, domain in (("cu", "sm"), ("memory", "memory"), ("video", "video"))
        ),
        integer(("memory_size_bytes",), BYTES, "memory usage/total"),
        integer(("memory_used_bytes",), BYTES, "memory usage/used"),
        integer(("pcie_link_generation", "current"), COUNT, "pcie generation/current"),
        integer(("pcie_link_generation", "max"), COUNT, "pcie generation/max"),
        integer(("pcie_errors_total", "replay"), COUNT, "replays since reset"),
        *(
            number(("pcie_throughput_bytes_per_second", direction), _BYTES_PER_SECOND, heading)
            for heading, direction in (("tx throughput", "transmit"), ("rx throughput", "receive"))
        ),
        integer(("memory_retired_pages", "single_bit"), COUNT, "retired pages/single bit ecc"),
        integer(("memory_retired_pages", "double_bit"), COUNT, "retired pages/double bit ecc"),
        integer(("memory_remapped_rows", "corrected"), COUNT, "remapped rows/correctable error"),
        integer(
            ("memory_remapped_rows", "uncorrected"), COUNT, "remapped rows/uncorrectable error"
        ),
        *(
            integer(
                ("memory_row_remap_banks", availability),
                _BANKS,
                f"bank remap availability histogram/{availability}",
            )
            for availability in ("max", "high", "partial", "low", "none")
        ),
        switch(("persistence_enabled",), "persistence mode"),
        switch(("partitioning_enabled",), "mig mode/current"),
        switch(("partitioning_enabled_pending",), "mig mode/pending"),
        switch(("ecc_enabled",), "ecc mode/current"),
        switch(("ecc_enabled_pending",), "ecc mode/pending"),
        switch(("memory_repair_failed",), "remapped rows/remapping failure occurred"),
        *(
            switch(("throttle_active", reason), heading)
            for heading, reason in (
                ("applications clocks setting", "clock_setting"),
                ("sw power cap", "power"),
                ("sync boost", "sync_boost"),
                ("sw thermal slowdown", "thermal_software"),
                ("hw thermal slowdown", "thermal_hardware"),
                ("hw power brake slowdown", "power_brake"),
            )
        ),
        switch(("clocks_idle",), "clocks throttle reasons/idle"),
        link_width("current", "link width/current"),
        link_width("max", "link width/max"),
        performance_state("performance state"),
    ),
    collect_more=_collect_more,
)
REMOTE = remote_of(VENDOR)
