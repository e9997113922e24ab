"""nvidia-smi's comma-separated answers: `--query-gpu`, `--query-compute-apps`, and the list of `-L`."""

import re
from collections.abc import Sequence
from functools import cache

from accelwatch.base.absence import Absence
from accelwatch.base.untrusted_text import no_formula, printable
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch_nvidia_smi.answers import answer, local_time, token_of
from accelwatch_nvidia_smi.fields import query_fields
from accelwatch_nvidia_smi.machine import Machine, partitions_of
from accelwatch_nvidia_smi.query_field import MIB, NOT_AVAILABLE, QueryField

# What a spreadsheet reads as a number, and no formula: temperatures may be negative.
_NUMBER = re.compile(r"-?[0-9.]+( \w+)?")


def single_line(text: str) -> str:
    """The text without line breaks, which would begin another row, and without other controls."""
    return printable(" ".join(text.splitlines()))


def _shown(text: str) -> str:
    """The text as a cell that no spreadsheet runs."""
    line = single_line(text)
    return line if _NUMBER.fullmatch(line) else no_formula(line)


def query_gpu(
    snapshot: Snapshot,
    machine: Machine,
    fields: Sequence[QueryField],
    *,
    header: bool,
    units: bool,
) -> str:
    """A line a whole device, in nvidia-smi's words and separators; titles keep their units."""
    lines = [_header(fields)] if header else []
    for view in machine.in_order(snapshot):
        cells = (answer(field, view, machine, units=units) for field in fields)
        lines.append(", ".join(map(_shown, cells)))
    return "".join(line + "\n" for line in lines)


def _header(fields: Sequence[QueryField]) -> str:
    return ", ".join(
        f"{field.names[0]} [{field.unit}]" if field.unit else field.names[0] for field in fields
    )


# Built on first use: only --query-compute-apps needs it. Constant after that.
@cache
def app_fields() -> dict[str, QueryField]:
    """Every name and alias that `--query-compute-apps` accepts."""
    rows = (
        QueryField(("timestamp",), special="timestamp"),
        *(
            QueryField((name,), special=name)
            for name in ("gpu_name", "gpu_bus_id", "gpu_serial", "gpu_uuid", "pid")
        ),
        QueryField(("process_name", "name"), special="process_name"),
        QueryField(("used_gpu_memory", "used_memory"), "MiB", special="used_gpu_memory"),
    )
    return {name: field for field in rows for name in field.names}


def compute_apps(
    snapshot: Snapshot,
    machine: Machine,
    fields: Sequence[QueryField],
    *,
    header: bool,
    units: bool,
) -> str:
    """A line a process that computes; one on a partition has the whole device, as by NVIDIA."""
    lines = [_header(fields)] if header else []
    for device in machine.in_order(snapshot):
        for view in (device, *partitions_of(snapshot, device)):
            for process in view.reading.processes or ():
                if process.type != "graphics":
                    cells = (_app_cell(field, process, device, machine, units) for field in fields)
                    lines.append(", ".join(map(_shown, cells)))
    return "".join(line + "\n" for line in lines)


def _app_cell(
    field: QueryField, process: Process, device: DeviceView, machine: Machine, units: bool
) -> str:
    match field.special:
        case "timestamp":
            return local_time(machine.time)
        case "pid":
            return str(process.pid)
        case "process_name":
            refused = process.absent.get("command") is Absence.PERMISSION
            unknown = "[Insufficient Permissions]" if refused else "[Not Found]"
            return process.command or unknown
        case "used_gpu_memory":
            memory = process.gpu_memory_bytes
            if memory is None:
                return token_of(process.absent.get("gpu_memory_bytes"), NOT_AVAILABLE)
            return f"{memory / MIB:.0f}" + (" MiB" if units else "")
        case name:
            return answer(query_fields()[name], device, machine, units=units)


def list_gpus(snapshot: Snapshot, machine: Machine) -> str:
    """The list of `-L`: a line a device, and below it one a partition."""
    lines: list[str] = []
    for view in machine.in_order(snapshot):
        device = view.device
        number = machine.numbers.get(device.id, device.index)
        lines.append(f"GPU {number}: {device.model or 'N/A'} (UUID: {device.uuid or 'N/A'})")
        lines += map(_partition, partitions_of(snapshot, view))
    return "".join(single_line(line) + "\n" for line in lines)


def _partition(view: DeviceView) -> str:
    device = view.device
    technology = (device.partition_technology or "mig").upper()
    profile = device.partition_profile or device.partition or "N/A"
    uuid = device.uuid or "N/A"
    return f"  {technology} {profile:<11} Device {device.index:>2}: (UUID: {uuid})"
