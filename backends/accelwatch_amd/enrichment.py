"""What AMD's management library knows and no file has.

Nothing here removes a value that a file gave: the library adds, and when it fails nothing is lost.
"""

from collections.abc import Callable
from typing import Any, TypeGuard

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, normal_pci_bus_id
from accelwatch.schema.reading import Collected
from accelwatch_amd.amdsmi import Library, shut_down
from accelwatch_amd.gpu_metrics.throttle import ResidencyMeter
from accelwatch_amd.sysfs.ras import all_believable
from accelwatch_amd.sysfs.tree import fill

# amdsmi_status_t to why there is no value; all others are `error`.
_STATUS = {
    2: Absence.UNSUPPORTED,
    3: Absence.UNSUPPORTED,
    8: Absence.TIMEOUT,
    10: Absence.PERMISSION,
    31: Absence.UNSUPPORTED,
    40: Absence.UNSUPPORTED,
}

_SEVERITIES = (
    ("uncorrected", "uncorrectable_count"),
    ("corrected", "correctable_count"),
    ("deferred", "deferred_count"),
)
_VIOLATIONS = (
    ("power_brake", "prochot_thrm"),
    ("power", "ppt_pwr"),
    ("thermal_software", "socket_thrm"),
    ("thermal_hardware", "vr_thrm"),
    ("memory_thermal", "hbm_thrm"),
)
_UINT64 = (1 << 64) - 1


class Enrichment:
    """What the library adds to identities and readings; every failure is an absence or nothing."""

    def __init__(self, library: Library) -> None:
        self.version = library.version
        self._module = library.module
        self._handles: dict[str, Any] | None = None
        self._unsupported: set[tuple[str, str]] = set()
        self._meters: dict[str, ResidencyMeter] = {}

    def close(self) -> None:
        """Shut the library down; never raises."""
        shut_down(self._module)

    def identify(self, device: Device) -> Device:
        """The device with a uuid, serial, model and partition mode where the files gave none."""
        handle = self._handle(device)
        if handle is None:
            return device
        smi, bus_id = self._module, device.pci_bus_id or ""
        changes: dict[str, str] = {}
        if device.uuid is None:
            _note(changes, "uuid", self._query(bus_id, smi.amdsmi_get_gpu_device_uuid, handle))
        asic = self._query(bus_id, smi.amdsmi_get_gpu_asic_info, handle)
        if isinstance(asic, dict) and device.serial is None:
            _note(changes, "serial", asic.get("asic_serial"))
        if isinstance(asic, dict) and (device.model or "AMD GPU ").startswith("AMD GPU "):
            _note(changes, "model", asic.get("market_name"))
        if device.partition_mode is None:
            modes = [
                self._query(bus_id, call, handle)
                for call in (
                    smi.amdsmi_get_gpu_compute_partition,
                    smi.amdsmi_get_gpu_memory_partition,
                )
            ]
            _note(changes, "partition_mode", "/".join(m for m in modes if _is_text(m)))
        return msgspec.structs.replace(device, **changes)

    def enrich(
        self, device: Device, slow: bool, now: float, out: Collected, sources: dict[str, str]
    ) -> None:
        """Fill in ECC counts, bad pages, XGMI links and throttling where the files gave nothing.

        `now` is monotonic seconds; `sources` gets `amdsmi` for each key it filled. Only violations
        are queried when not `slow`, and even they only if nothing else counts throttling.
        """
        handle = self._handle(device)
        if handle is None:
            return
        before = set(out.values)
        bus_id = device.pci_bus_id or ""
        present_keys = {series[0] for series in before}
        if slow and "ecc_errors_total" not in present_keys:
            self._errors(bus_id, handle, out)
        if slow and "memory_retired_pages" not in present_keys:
            self._pages(bus_id, handle, out)
        if slow and "interconnect_links" not in present_keys:
            self._links(bus_id, handle, out)
        if "throttle_seconds_total" not in present_keys:
            self._throttle(bus_id, handle, slow, now, out)
        for series in out.values.keys() - before:
            sources[series[0]] = "amdsmi"
            out.absent.pop((series[0],), None)

    def _handle(self, device: Device) -> Any | None:
        """The first handle of a PCI id: further ones are partitions."""
        if self._handles is None:
            self._handles = {}
            handles = self._query("", self._module.amdsmi_get_processor_handles)
            for handle in handles if isinstance(handles, list) else ():
                bus_id = self._query("", self._module.amdsmi_get_gpu_device_bdf, handle)
                if _is_text(bus_id):
                    self._handles.setdefault(normal_pci_bus_id(bus_id), handle)
        return self._handles.get(device.pci_bus_id or "")

    def _query(self, bus_id: str, call: Callable[..., Any], *args: Any) -> Any:
        """The call's answer, or an absence; what a device does not support is queried once."""
        key = (bus_id, f"{call.__name__}{args[1:]}")
        if key in self._unsupported:
            return Absence.UNSUPPORTED
        try:
            return call(*args)
        except (self._module.AmdSmiException, KeyError, ValueError, OSError) as error:
            code = getattr(error, "err_code", None)
            reason = _STATUS.get(code, Absence.ERROR) if isinstance(code, int) else Absence.ERROR
        if reason is Absence.UNSUPPORTED and bus_id:
            self._unsupported.add(key)
        return reason

    def _errors(self, bus_id: str, handle: Any, out: Collected) -> None:
        smi = self._module
        total = self._query(bus_id, smi.amdsmi_get_gpu_total_ecc_count, handle)
        if isinstance(total, Absence):
            _miss(out, "ecc_errors_total", total)
            return
        blocks = self._block_errors(bus_id, handle)
        if not all(all_believable(counts) for counts in (_counts(total), *blocks.values())):
            out.miss("ecc_errors_total", Absence.ERROR)
        else:
            for severity, count in _counts(total).items():
                fill(out, "ecc_errors_total", count, severity)
        for location, counts in blocks.items():
            for severity, count in counts.items() if all_believable(counts) else ():
                fill(out, "ecc_location_errors_total", count, severity, location)

    def _block_errors(self, bus_id: str, handle: Any) -> dict[str, dict[str, int]]:
        """Counts by block, then by severity; blocks that cannot be queried are left out."""
        smi = self._module
        blocks = {}
        for block in smi.AmdSmiGpuBlock:
            if block.name in ("INVALID", "RESERVED"):
                continue
            counts = self._query(bus_id, smi.amdsmi_get_gpu_ecc_count, handle, block)
            if isinstance(counts, dict):
                blocks[block.name.lower()] = _counts(counts)
        return blocks

    def _pages(self, bus_id: str, handle: Any, out: Collected) -> None:
        pages = self._query(bus_id, self._module.amdsmi_get_gpu_bad_page_info, handle)
        if isinstance(pages, Absence):
            _miss(out, "memory_retired_pages", pages)
            return
        states = [int(page.get("status", -1)) for page in pages]
        fill(out, "memory_retired_pages", states.count(0), "uncorrected")
        fill(out, "memory_repair_pending", int(1 in states))
        fill(out, "memory_repair_failed", int(2 in states))

    def _links(self, bus_id: str, handle: Any, out: Collected) -> None:
        answer = self._query(bus_id, self._module.amdsmi_get_gpu_xgmi_link_status, handle)
        states = answer.get("status", []) if isinstance(answer, dict) else []
        if "U" in states or "D" in states:
            fill(out, "interconnect_links", states.count("U"), "xgmi", "up")
            fill(out, "interconnect_links", states.count("D"), "xgmi", "down")
        for link, state in enumerate(states):
            if state in ("U", "D"):
                fill(out, "link_up", int(state == "U"), "xgmi", str(link))

    def _throttle(self, bus_id: str, handle: Any, slow: bool, now: float, out: Collected) -> None:
        """This call lasts 100 ms, so it is made as rarely as those of the slow quantities."""
        meter = self._meters.setdefault(bus_id, ResidencyMeter())
        answer = (
            self._query(bus_id, self._module.amdsmi_get_violation_status, handle) if slow else None
        )
        if isinstance(answer, dict) and _is_count(answer.get("acc_counter")):
            residencies = {
                reason: answer[f"acc_{name}"]
                for reason, name in _VIOLATIONS
                if _is_count(answer.get(f"acc_{name}"))
            }
            meter.update(answer["acc_counter"], residencies, now)
        meter.record(out)


def _is_text(value: object) -> TypeGuard[str]:
    """A text that says something."""
    return isinstance(value, str) and value not in ("", "N/A", "UNKNOWN")


def _counts(answer: dict[str, Any]) -> dict[str, int]:
    """Counts by severity of those that an answer has."""
    return {severity: answer[name] for severity, name in _SEVERITIES if _is_count(answer.get(name))}


def _is_count(value: object) -> bool:
    """A counter; `"N/A"` and all ones are not, nor is True."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _UINT64


def _note(changes: dict[str, str], field: str, value: object) -> None:
    if _is_text(value):
        changes[field] = value


def _miss(out: Collected, key: str, reason: Absence) -> None:
    if reason is not Absence.UNSUPPORTED:
        out.miss(key, reason)
