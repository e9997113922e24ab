"""One `gpu` element of nvidia-smi's XML to a device, its MIG instances and their readings; pure."""

import re
import xml.etree.ElementTree as ET  # only Element; parsing is in smi.document
from collections.abc import Iterable

import msgspec

from accelwatch.backend_kit.text import recovery_action
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, ReadError
from accelwatch.processes.program import program_name
from accelwatch.schema.device import Device, MemoryKind, normal_pci_bus_id
from accelwatch.schema.reading import PROCESS_LETTERS, Collected, Process, Reading
from accelwatch_nvidia import identity, mapping, returns
from accelwatch_nvidia.devices import mig
from accelwatch_nvidia.mapping import Outcome, record_first, settle
from accelwatch_nvidia.quantities import conditions, placement
from accelwatch_nvidia.quantities.licensing import STATES
from accelwatch_nvidia.smi import rows as xml_rows
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.document import INFOROM
from accelwatch_nvidia.smi.fabric import from_texts

SOURCE = "nvidia-smi"
_BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
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
_NO_NAMES = ("unknown", "none", "not found")
# Tags that a GPU in need of a reset does not answer, whatever else it still does.
_TELLING = ("gpu_util", "gpu_temp", "used")
# Of a guest; other modes list products that need no license there.
_VIRTUAL = "VGPU"
# Drivers from R418 on, and before.
_LICENSED_PRODUCTS = ("vgpu_software_licensed_product", "grid_licensed_product")
_MIG_MODES = {"Enabled": "enabled", "Disabled": "disabled"}


def text_at(element: ET.Element, path: str) -> str | None:
    """Stripped text at a path; None where there is no such leaf.

    A whole group may be refused in one word (`remapped_rows` is `N/A` or `Insufficient Permissions`).
    """
    at = element
    for tag in path.split("/"):
        child = at.find(tag)
        if child is None:
            text = (at.text or "").strip() if at is not element and len(at) == 0 else ""
            return text if text and smi_text.absence(text) else None
        at = child
    return None if len(at) else (at.text or "").strip()


def first_value(element: ET.Element, row: xml_rows.TextRow) -> Outcome | None:
    """Value of a row, else its most telling absence; None where the document has no such tag."""
    outcome: Outcome | None = None
    for path in row.paths:
        text = text_at(element, path)
        if text is None:
            continue
        value = row.convert(text)
        if not isinstance(value, Absence):
            return value
        if outcome is None or outcome is Absence.UNSUPPORTED:
            outcome = value
    return outcome


def check_usable(gpu: ET.Element, name: str) -> None:
    """Raise DeviceLost when nvidia-smi says anywhere that the GPU is lost or needs a reset."""
    for element in gpu.iter():
        text = (element.text or "").strip().strip("[]").lower()
        if text == "gpu is lost":
            raise returns.failure(returns.GPU_IS_LOST, name, "nvidia-smi")
        if text == "gpu requires reset" and element.tag in _TELLING:
            raise returns.failure(returns.RESET_REQUIRED, name, "nvidia-smi")


def bus_of(gpu: ET.Element) -> str | None:
    """PCI id of a `gpu` element; None for a GPU that is on no PCI bus and prints `N/A`."""
    bus = normal_pci_bus_id(gpu.get("id") or text_at(gpu, "pci/pci_bus_id") or "")
    return bus if _BUS.fullmatch(bus) else None


def _text_or_none(gpu: ET.Element, path: str) -> str | None:
    text = text_at(gpu, path)
    if text is None or smi_text.absence(text) is not None or text.lower() in _NO_NAMES:
        return None
    return text


def complete_device(device: Device, gpu: ET.Element, driver_version: str | None) -> Device:
    """The device with what the document says of it; raises DeviceLost."""
    check_usable(gpu, device.name)
    uuid = _text_or_none(gpu, "uuid") or device.uuid
    bus = bus_of(gpu) or device.pci_bus_id
    minor = _text_or_none(gpu, "minor_number")
    memory = text_at(gpu, "fb_memory_usage/total")
    shared = memory is not None and smi_text.absence(memory) is Absence.UNSUPPORTED
    nodes = (
        identity.device_nodes(int(minor)) if minor and minor.isdecimal() else device.device_nodes
    )
    return msgspec.structs.replace(
        device,
        id=identity.device_id(uuid, bus, device.index),
        model=_text_or_none(gpu, "product_name") or device.model,
        architecture=_text_or_none(gpu, "product_architecture"),
        uuid=uuid,
        serial=_text_or_none(gpu, "serial"),
        part_number=_text_or_none(gpu, "board_part_number"),
        firmware_version=_text_or_none(gpu, "gsp_firmware_version") or device.firmware_version,
        vbios_version=_text_or_none(gpu, "vbios_version") or device.vbios_version,
        driver_version=driver_version or device.driver_version,
        pci_bus_id=bus,
        device_nodes=nodes,
        memory_kind=MemoryKind.SHARED if shared else MemoryKind.DEDICATED,
        partition_mode=_MIG_MODES.get(_text_or_none(gpu, "mig_mode/current_mig") or ""),
    )


def partitions(
    parent: Device, gpu: ET.Element, listed: dict[int, tuple[str, str]]
) -> list[tuple[Device, ET.Element]]:
    """MIG instances; `listed` gives (profile, uuid) by place, of `nvidia-smi -L`."""
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


def read(device: Device, gpu: ET.Element, groups: frozenset[str]) -> Reading:
    """Reading of a whole GPU; raises DeviceLost."""
    check_usable(gpu, device.name)
    collected = Collected(device.id)
    _record_rows(gpu, xml_rows.ROWS, groups, collected)
    _read_headroom(gpu, collected)
    _read_ecc(gpu, collected, groups)
    _read_throttle(gpu, collected, groups)
    _read_conditions(gpu, collected)
    _read_platform(gpu, collected)
    _read_license(gpu, collected)
    notes = _read_fabric(gpu, collected)
    if not collected.values:
        raise _nothing(device, set(collected.absent.values()))
    _refuse_overfull(collected)
    return _finish(collected, processes(device, gpu), notes)


def _record_rows(
    element: ET.Element,
    rows: Iterable[xml_rows.TextRow],
    groups: frozenset[str],
    collected: Collected,
) -> None:
    enabled = groups | {""}
    for row in rows:
        if row.group in enabled and (outcome := first_value(element, row)) is not None:
            record_first(collected, row.series, outcome)


def _read_headroom(gpu: ET.Element, collected: Collected) -> None:
    text = text_at(gpu, xml_rows.SLOWDOWN_MARGIN)
    slowdown = Absence.UNSUPPORTED if text is None else smi_text.number(text, "celsius")
    conditions.read_headroom(collected, slowdown)


def _read_platform(gpu: ET.Element, collected: Collected) -> None:
    def platform_text(tag: str) -> str:
        return _text_or_none(gpu, f"platformInfo/{tag}") or ""

    placement.record_module(collected, platform_text("module_id"))
    placement.record_platform(
        collected,
        platform_text("chassis_serial_number"),
        platform_text("slot_number"),
        platform_text("tray_index"),
        platform_text("host_id"),
    )


def _nothing(device: Device, reasons: set[Absence]) -> ReadError:
    """Why a GPU without any value has none."""
    message = f"{device.name}: nvidia-smi gives no value"
    if Absence.PERMISSION in reasons and Absence.ERROR not in reasons:
        return DevicePermission(message, code="permission")
    return DeviceLost(message, code="no_values")


def _refuse_overfull(collected: Collected) -> None:
    """More memory in use than there is cannot be true."""
    used = collected.values.get(("memory_used_bytes",), 0)
    if used > collected.values.get(("memory_size_bytes",), used):
        del collected.values[("memory_used_bytes",)]
        collected.miss("memory_used_bytes", Absence.ERROR)


def read_partition(
    device: Device, element: ET.Element, gpu: ET.Element, groups: frozenset[str]
) -> Reading:
    """Reading of a MIG instance: its memory, its errors and its processes."""
    collected = Collected(device.id)
    _record_rows(element, xml_rows.PARTITION_ROWS, groups, collected)
    _refuse_overfull(collected)
    return _finish(collected, processes(device, gpu), ())


def _finish(
    collected: Collected, processes: tuple[Process, ...] | Absence, notes: tuple[str, ...]
) -> Reading:
    listed = None if isinstance(processes, Absence) else processes
    if isinstance(processes, Absence):
        collected.miss("processes", processes)
    reading = collected.reading(processes=listed, sources={"*": SOURCE}, notes=notes)
    return msgspec.structs.replace(reading, absent=settle(reading.absent, reading.values))


def _sum(gpu: ET.Element, alternatives: tuple[tuple[str, ...], ...]) -> Outcome | None:
    """Sum over the first alternative whose tags all exist.

    A memory that has no counter (N/A) adds nothing; a counter that could not be read spoils the sum.
    """
    for paths in alternatives:
        texts = [text_at(gpu, path) for path in paths]
        if any(text is None for text in texts):
            continue
        counts = [smi_text.number(text or "", "count") for text in texts]
        numbers = [count for count in counts if not isinstance(count, Absence)]
        faults = [p for p in counts if isinstance(p, Absence) and p is not Absence.UNSUPPORTED]
        if faults:
            return faults[0]
        return sum(numbers) if numbers else Absence.UNSUPPORTED
    return None


def _read_ecc(gpu: ET.Element, collected: Collected, groups: frozenset[str]) -> None:
    for series, alternatives in xml_rows.ECC_SUMS:
        if (outcome := _sum(gpu, alternatives)) is not None:
            record_first(collected, series, outcome)
    if "ecc" in groups and (outcome := _sum(gpu, xml_rows.SRAM_UNCORRECTED)) is not None:
        record_first(collected, ("ecc_location_errors_total", "uncorrected", "sram"), outcome)


def _read_throttle(gpu: ET.Element, collected: Collected, groups: frozenset[str]) -> None:
    """Reasons under either name of their element, and idleness with the group `clocks`."""
    active = supported = 0
    why: Absence = Absence.UNSUPPORTED
    for prefix in ("clocks_event_reason", "clocks_throttle_reason"):
        for tag, bit in xml_rows.THROTTLE_TAGS:
            text = text_at(gpu, f"{prefix}s/{prefix}_{tag}")
            if text is None:
                continue
            state = smi_text.flag(text)
            if isinstance(state, Absence):
                why = state if why is Absence.UNSUPPORTED else why
                continue
            supported |= bit
            active |= bit if state else 0
    if "clocks" in groups:
        record_first(
            collected, ("clocks_idle",), mapping.idle(active, supported) if supported else why
        )
    if not supported:
        collected.miss("throttle_active", why)
        return
    for reason, state in mapping.throttle(active, supported).items():
        collected.put("throttle_active", state, reason)


def _read_conditions(gpu: ET.Element, collected: Collected) -> None:
    """The infoROM, pending repairs, and what the driver asks for."""
    inforom = text_at(gpu, INFOROM)
    corrupted = Absence.UNSUPPORTED if inforom is None else smi_text.flag(inforom)
    record_first(collected, ("inforom_corrupted",), corrupted)
    for path in xml_rows.REPAIR_PENDING:
        text = text_at(gpu, path)
        pending = Absence.UNSUPPORTED if text is None else smi_text.flag(text)
        if isinstance(pending, Absence):
            record_first(collected, ("memory_repair_pending",), pending)
        elif pending or ("memory_repair_pending",) not in collected.values:
            collected.put("memory_repair_pending", pending)
    action = text_at(gpu, "gpu_recovery_action")
    name = smi_text.label_value(action or "unknown")
    if action is not None and smi_text.absence(action) is None and name != "unknown":
        name = recovery_action.name_of(name)
        collected.put("recovery_action_info", 1, name)
        collected.put("reset_required", int(recovery_action.concerns_device(name)))
        return
    older = [
        smi_text.flag(text_at(gpu, f"gpu_reset_status/{tag}") or "N/A")
        for tag in ("reset_required", "drain_and_reset_recommended")
    ]
    available = [state for state in older if not isinstance(state, Absence)]
    if available:
        collected.put("reset_required", int(any(available)))


def _read_license(gpu: ET.Element, collected: Collected) -> None:
    """State of a virtual GPU's license, without the day on which it ends."""
    mode = text_at(gpu, "gpu_virtualization_mode/virtualization_mode")
    if mode is not None and mode != _VIRTUAL:
        collected.miss("vgpu_license_info", Absence.UNSUPPORTED)
        return
    statuses = (text_at(gpu, f"{product}/license_status") for product in _LICENSED_PRODUCTS)
    text = next((text for text in statuses if text), "N/A")
    if why := smi_text.absence(text):
        collected.miss("vgpu_license_info", why)
        return
    state = smi_text.label_value(text.replace("(", "").replace(")", ""))
    state = "licensed" if state.startswith("licensed") else state
    if state in STATES:
        collected.put("vgpu_license_info", 1, state)
    else:
        collected.miss("vgpu_license_info", Absence.ERROR)


def _read_fabric(gpu: ET.Element, collected: Collected) -> tuple[str, ...]:
    state = text_at(gpu, "fabric/state") or "N/A"
    if why := smi_text.absence(state):
        collected.miss("fabric_state_info", why)
        return ()
    health = gpu.find("fabric/health")
    registration = from_texts(
        state,
        text_at(gpu, "fabric/status") or "N/A",
        {leaf.tag: (leaf.text or "").strip() for leaf in health} if health is not None else {},
    )
    if registration.state is not None:
        collected.put("fabric_state_info", 1, registration.state)
    clique, cluster = (
        _text_or_none(gpu, f"fabric/{tag}") or "" for tag in ("cliqueId", "clusterUuid")
    )
    placement.record_fabric(collected, registration, clique, cluster)
    return registration.notes


def processes(device: Device, gpu: ET.Element) -> tuple[Process, ...] | Absence:
    """Processes of the GPU or the MIG instance that `device` is, by pid; or why none are told."""
    if (why := _untold(gpu.find("processes"))) is not None:
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


def _untold(listed: ET.Element | None) -> Absence | None:
    """Why there is a word, or nothing at all, in the place of a list."""
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
