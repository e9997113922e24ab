"""Readings of a GPU and of its MIG instances from one `gpu` element of nvidia-smi's XML. Pure."""

import xml.etree.ElementTree as ET  # only Element; parsing is in smi.document
from collections.abc import Iterable

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Process, Reading
from accelwatch_nvidia import mapping
from accelwatch_nvidia.mapping import Outcome, record_first, settle
from accelwatch_nvidia.quantities import conditions
from accelwatch_nvidia.smi import memory_errors
from accelwatch_nvidia.smi import rows as xml_rows
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.conditions import (
    read_conditions,
    read_fabric,
    read_license,
    read_platform,
)
from accelwatch_nvidia.smi.elements import check_usable, first_value, text_at
from accelwatch_nvidia.smi.processes import processes
from accelwatch_nvidia.smi.text_row import TextRow

SOURCE = "nvidia-smi"


def read(device: Device, gpu: ET.Element, groups: frozenset[str]) -> Reading:
    """Reading of a whole GPU; raises DeviceLost."""
    check_usable(gpu, device.name)
    collected = Collected(device.id)
    _record_rows(gpu, xml_rows.ROWS, groups, collected)
    _read_headroom(gpu, collected)
    _read_ecc(gpu, collected, groups)
    _read_throttle(gpu, collected, groups)
    read_conditions(gpu, collected)
    read_platform(gpu, collected)
    read_license(gpu, collected)
    notes = read_fabric(gpu, collected)
    if not collected.values:
        raise _nothing(device, set(collected.absent.values()))
    _refuse_overfull(collected)
    return _finish(collected, processes(device, gpu), notes)


def read_partition(
    device: Device, element: ET.Element, gpu: ET.Element, groups: frozenset[str]
) -> Reading:
    """Reading of a MIG instance: its memory, its errors and its processes."""
    collected = Collected(device.id)
    _record_rows(element, xml_rows.PARTITION_ROWS, groups, collected)
    _refuse_overfull(collected)
    return _finish(collected, processes(device, gpu), ())


def _record_rows(
    element: ET.Element,
    rows: Iterable[TextRow],
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
    for series, alternatives in memory_errors.ECC_SUMS:
        if (outcome := _sum(gpu, alternatives)) is not None:
            record_first(collected, series, outcome)
    if "ecc" in groups and (outcome := _sum(gpu, memory_errors.SRAM_UNCORRECTED)) is not None:
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
