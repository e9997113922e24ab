"""nvidia-smi's XML document (`-q -x`): a `gpu` element a device, with instances and processes."""

import re
import time
import xml.etree.ElementTree as ET

from accelwatch.base.untrusted_text import printable
from accelwatch.schema.device import Device
from accelwatch.schema.reading import PROCESS_LETTERS, Process
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch_nvidia_smi.answers import token, token_of, value
from accelwatch_nvidia_smi.fields import needed_groups, query_fields
from accelwatch_nvidia_smi.leaves import document_fields, leaves
from accelwatch_nvidia_smi.machine import Machine, partitions_of
from accelwatch_nvidia_smi.query_field import MIB, QueryField

_HEAD = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'
_MINOR = re.compile(r"/dev/nvidia(\d+)")
_INSTANCE = re.compile(r"gi(\d+)/ci(\d+)")
_BRANDS = {"nvidia": "NVIDIA", "amd": "AMD"}
_NOTHING = "N/A"


def document_groups() -> frozenset[str]:
    """The opt-in groups that the document shows."""
    return needed_groups(leaf.field for leaf in leaves() if leaf.field is not None)


def document(snapshot: Snapshot, machine: Machine) -> str:
    """The whole document; a device is lost, denied or silent in the words that nvidia-smi has for it."""
    root = ET.Element("nvidia_smi_log")
    driver = machine.versions.get("driver") or _first_driver(snapshot)
    for tag, text in (
        ("timestamp", time.asctime(time.localtime(machine.time))),
        ("driver_version", driver),
        ("cuda_version", machine.versions.get("cuda") or _NOTHING),
        ("attached_gpus", str(machine.count)),
    ):
        if text is not None:
            _add_text(root, (tag,), text)
    for view in machine.in_order(snapshot):
        root.append(_gpu(view, partitions_of(snapshot, view), machine))
    ET.indent(root, "\t")
    return f"{_HEAD}{ET.tostring(root, encoding='unicode', short_empty_elements=False)}\n"


def _first_driver(snapshot: Snapshot) -> str | None:
    drivers = (view.device.driver_version for view in snapshot.devices)
    return next((driver for driver in drivers if driver), None)


def _add_text(parent: ET.Element, path: tuple[str, ...], text: str) -> None:
    """Add the text at a path; elements that the last path shares are not opened again."""
    at = parent
    for tag in path[:-1]:
        last = at[-1] if len(at) else None
        at = last if last is not None and last.tag == tag else ET.SubElement(at, tag)
    ET.SubElement(at, path[-1]).text = printable(text)


def _gpu(view: DeviceView, partitions: list[DeviceView], machine: Machine) -> ET.Element:
    bus = value(query_fields()["pci.bus_id"], view, machine) or _NOTHING
    gpu = ET.Element("gpu", id=printable(bus))
    for leaf in leaves():
        if leaf.path == ("mig_devices",):
            gpu.append(_instances(partitions, machine))
        elif leaf.path == ("processes",):
            gpu.append(_processes([view, *partitions]))
        else:
            _add_text(gpu, leaf.path, _text(leaf.field, leaf.suffix, view, machine))
    return gpu


def _text(field: QueryField | None, suffix: str, view: DeviceView, machine: Machine) -> str:
    if field is None:
        return _NOTHING
    if field.special in _OWN:
        return _OWN[field.special](view.device) or _NOTHING
    text = value(field, view, machine)
    if text is None:
        return token(field, view).strip("[]")
    unit = f" {field.unit}" if field.unit else suffix
    return (text.removeprefix("0x") if field.special.startswith("pci.") else text) + unit


def _minor(device: Device) -> str:
    matches = (_MINOR.fullmatch(node) for node in device.device_nodes)
    return next((match[1] for match in matches if match), "")


_OWN = {
    "brand": lambda device: _BRANDS.get(device.vendor, device.vendor.title()),
    "minor_number": _minor,
}


def _instances(partitions: list[DeviceView], machine: Machine) -> ET.Element:
    listed = ET.Element("mig_devices")
    if not partitions:
        listed.text = "None"
    fields = document_fields()
    for view in partitions:
        device = ET.SubElement(listed, "mig_device")
        _add_text(device, ("index",), str(view.device.index))
        for tag, number in zip(("gpu", "compute"), _instance_ids(view.device), strict=True):
            _add_text(device, (f"{tag}_instance_id",), number)
        for path, name in _INSTANCE_LEAVES:
            _add_text(device, path, _text(fields[name], "", view, machine))
    return listed


_INSTANCE_LEAVES = (
    (
        ("ecc_error_count", "volatile_count", "sram_uncorrectable"),
        "ecc.errors.uncorrected.volatile.sram",
    ),
    *((("fb_memory_usage", tag), f"memory.{tag}") for tag in ("total", "reserved", "used", "free")),
    *((("bar1_memory_usage", tag), f"bar1.{tag}") for tag in ("total", "used")),
)


def _instance_ids(device: Device) -> tuple[str, str]:
    """(GPU instance, compute instance) of a partition; `N/A` for what is no MIG instance."""
    match = _INSTANCE.fullmatch(device.partition or "")
    return (match[1], match[2]) if match else (_NOTHING, _NOTHING)


def _processes(views: list[DeviceView]) -> ET.Element:
    """Those of the device and its instances; why they are not known where nobody reports any."""
    listed = ET.Element("processes")
    if all(view.reading.processes is None for view in views):
        listed.text = token_of(views[0].reading.absent.get(("processes",)), _NOTHING).strip("[]")
    for view in views:
        for process in view.reading.processes or ():
            element = ET.SubElement(listed, "process_info")
            for tag, number in zip(("gpu", "compute"), _instance_ids(view.device), strict=True):
                _add_text(element, (f"{tag}_instance_id",), number)
            for tag, text in _process(process).items():
                _add_text(element, (tag,), text)
    return listed


def _process(process: Process) -> dict[str, str]:
    memory = process.gpu_memory_bytes
    why = process.absent.get("gpu_memory_bytes")
    return {
        "pid": str(process.pid),
        "type": "+".join(PROCESS_LETTERS.get(kind, "C") for kind in process.type.split("+")),
        "process_name": process.command or _NOTHING,
        "used_memory": token_of(why, _NOTHING).strip("[]")
        if memory is None
        else f"{memory / MIB:.0f} MiB",
    }
