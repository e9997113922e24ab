"""The processes that nvidia-smi's XML lists of a GPU or MIG instance. Pure."""

import xml.etree.ElementTree as ET  # only Element; parsing is in smi.document

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import PROCESS_LETTERS, Process
from accelwatch.system.processes.program import program_name
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.elements import text_at

_TYPES = {letter: name for name, letter in PROCESS_LETTERS.items()}
_UNSEEN = (
    "start_time",
    "user",
    "argv",
    "container",
    "pod",
    "job",
    "utilization_ratio",
    "host_memory_bytes",
    "cpu_utilization_ratio",
)


def processes(device: Device, gpu: ET.Element) -> tuple[Process, ...] | Absence:
    """Processes of the GPU or the MIG instance that `device` is, by pid; or why none are known."""
    if (why := _absence_of_list(gpu.find("processes"))) is not None:
        return why
    rows: dict[int, Process] = {}
    is_unread = False
    for element in gpu.iterfind("processes/process_info"):
        ids = [text_at(element, f"{name}_instance_id") or "" for name in ("gpu", "compute")]
        inside = f"gi{ids[0]}/ci{ids[1]}" if all(p.isdecimal() for p in ids) else None
        if device.parent_id is not None and inside != device.partition:
            continue
        if device.partition_mode == "enabled" and inside is not None:
            continue
        process = _process(device, element)
        if process is None:
            is_unread = True
            continue
        rows[process.pid] = _joined(rows.get(process.pid), process)
    if is_unread and not rows:
        # A process whose pid cannot be read uses it all the same.
        return Absence.ERROR
    return tuple(rows[pid] for pid in sorted(rows))


def _absence_of_list(listed: ET.Element | None) -> Absence | None:
    """Why there is a word, or nothing at all, instead of a list."""
    if listed is None:
        return Absence.UNSUPPORTED
    text = (listed.text or "").strip()
    if len(listed) or not text:
        return None
    return smi_text.absence(text) or Absence.ERROR


def _joined(first: Process | None, second: Process) -> Process:
    """One process that computes and draws stands in two rows, each with all of its memory."""
    if first is None:
        return second
    types = dict.fromkeys((*first.type.split("+"), *second.type.split("+")))
    fuller = max(first, second, key=lambda process: process.gpu_memory_bytes or 0)
    return msgspec.structs.replace(fuller, type="+".join(types))


def _process(device: Device, element: ET.Element) -> Process | None:
    pid = text_at(element, "pid") or ""
    if not pid.isdecimal() or not pid.isascii():
        return None
    types = [
        _TYPES[token] for token in (text_at(element, "type") or "").split("+") if token in _TYPES
    ]
    text = text_at(element, "process_name") or ""
    name = None if smi_text.absence(text) is not None else program_name(text)
    memory = smi_text.number(text_at(element, "used_memory") or "N/A", "bytes")
    absent = dict.fromkeys(_UNSEEN, Absence.UNSUPPORTED)
    if isinstance(memory, Absence):
        absent["gpu_memory_bytes"] = memory
    if not name:
        absent["command"] = smi_text.absence(text) or Absence.UNSUPPORTED
    return Process(
        device_id=device.id,
        pid=int(pid),
        type="+".join(types) or "compute",
        command=name or None,
        gpu_memory_bytes=None if isinstance(memory, Absence) else int(memory),
        absent=absent,
    )
