"""Who a GPU of nvidia-smi's XML is, and its MIG instances. Pure."""

import re
import xml.etree.ElementTree as ET  # only Element; parsing is in smi.document

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, MemoryKind
from accelwatch_nvidia import identity
from accelwatch_nvidia.devices import mig
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.elements import bus_of, check_usable, meaningful_text, text_at

_LISTED = re.compile(r"MIG\s+(\S+)\s+Device\s+(\d+):\s+\(UUID:\s+(MIG-[^)\s]+)\)")
_MIG_MODES = {"Enabled": "enabled", "Disabled": "disabled"}


def complete_device(device: Device, gpu: ET.Element, driver_version: str | None) -> Device:
    """The device with what the document says of it; raises DeviceLost."""
    check_usable(gpu, device.name)
    uuid = meaningful_text(gpu, "uuid") or device.uuid
    bus = bus_of(gpu) or device.pci_bus_id
    minor = meaningful_text(gpu, "minor_number")
    memory = text_at(gpu, "fb_memory_usage/total")
    shared = memory is not None and smi_text.absence(memory) is Absence.UNSUPPORTED
    nodes = (
        identity.device_nodes(int(minor)) if minor and minor.isdecimal() else device.device_nodes
    )
    return msgspec.structs.replace(
        device,
        id=identity.device_id(uuid, bus, device.index),
        model=meaningful_text(gpu, "product_name") or device.model,
        architecture=meaningful_text(gpu, "product_architecture"),
        uuid=uuid,
        serial=meaningful_text(gpu, "serial"),
        part_number=meaningful_text(gpu, "board_part_number"),
        firmware_version=meaningful_text(gpu, "gsp_firmware_version") or device.firmware_version,
        vbios_version=meaningful_text(gpu, "vbios_version") or device.vbios_version,
        driver_version=driver_version or device.driver_version,
        pci_bus_id=bus,
        device_nodes=nodes,
        memory_kind=MemoryKind.SHARED if shared else MemoryKind.DEDICATED,
        partition_mode=_MIG_MODES.get(meaningful_text(gpu, "mig_mode/current_mig") or ""),
    )


def listed_instances(text: str) -> dict[str, dict[int, tuple[str, str]]]:
    """(profile, uuid) of each MIG instance by index, by GPU uuid, from `nvidia-smi -L`."""
    by_gpu: dict[str, dict[int, tuple[str, str]]] = {}
    gpu = ""
    for line in text.splitlines():
        if match := smi_text.GPU_LINE.search(line):
            gpu = match[1]
        elif match := _LISTED.search(line):
            by_gpu.setdefault(gpu, {})[int(match[2])] = (match[1], match[3])
    return by_gpu


def partitions(
    parent: Device, gpu: ET.Element, listed: dict[int, tuple[str, str]]
) -> list[tuple[Device, ET.Element]]:
    """MIG instances; `listed` gives (profile, uuid) by index, of `nvidia-smi -L`."""
    pairs = []
    for element in gpu.iterfind("mig_devices/mig_device"):
        texts = [
            text_at(element, tag) or ""
            for tag in ("index", "gpu_instance_id", "compute_instance_id")
        ]
        if not all(text.isdecimal() for text in texts):
            continue
        number, gpu_instance, compute_instance = map(int, texts)
        profile, uuid = listed.get(number, (None, None))
        ids = (gpu_instance, compute_instance)
        pairs.append((mig.partition(parent, number, ids, uuid, profile), element))
    return pairs
