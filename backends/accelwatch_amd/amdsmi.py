"""AMD's management library, for what no file tells. Loaded only in a process that may die with it.

Nothing here removes a value that a file gave: the library adds, and when it fails nothing is lost.
"""

import contextlib
import ctypes
import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeGuard, cast

import msgspec

from accelwatch.backend import Check, Context
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, normal_pci_bus_id
from accelwatch.schema.reading import Collected
from accelwatch_amd.ras import all_believable
from accelwatch_amd.throttle import ResidencyMeter
from accelwatch_amd.tree import fill

_log = logging.getLogger(__name__)

_SONAME = "libamd_smi.so"
_ROCM = "/opt/rocm"
# ROCm release, which the Python package is named for, to the library's own major version.
_LIBRARY_MAJORS = {7: (26,), 6: (23, 24, 25)}

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


class AmdSmi(Protocol):
    """The part of the `amdsmi` module that is used; a test compares it with the installed one."""

    AmdSmiException: type[Exception]
    AmdSmiGpuBlock: Any
    amdsmi_init: Callable[[], None]
    amdsmi_shut_down: Callable[[], None]
    amdsmi_get_lib_version: Callable[[], dict[str, Any]]
    amdsmi_get_processor_handles: Callable[[], list[Any]]
    amdsmi_get_gpu_device_bdf: Callable[[Any], str]
    amdsmi_get_gpu_device_uuid: Callable[[Any], str]
    amdsmi_get_gpu_asic_info: Callable[[Any], dict[str, Any]]
    amdsmi_get_gpu_compute_partition: Callable[[Any], str]
    amdsmi_get_gpu_memory_partition: Callable[[Any], str]
    amdsmi_get_gpu_total_ecc_count: Callable[[Any], dict[str, Any]]
    amdsmi_get_gpu_ecc_count: Callable[[Any, Any], dict[str, Any]]
    amdsmi_get_gpu_bad_page_info: Callable[[Any], list[dict[str, Any]]]
    amdsmi_get_gpu_xgmi_link_status: Callable[[Any], dict[str, Any]]
    amdsmi_get_violation_status: Callable[[Any], dict[str, Any]]


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Keep the library's prints, Python's and C's, off standard output."""
    sys.stdout.flush()
    kept, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        yield
        sys.stdout.flush()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(null)


def _rocm() -> Path:
    return Path(os.environ.get("ROCM_HOME") or os.environ.get("ROCM_PATH") or _ROCM)


def _is_enabled(context: Context) -> bool:
    return context.options.get("amdsmi", "auto") != "never" and not context.one_shot


def library_check(context: Context) -> Check:
    """Whether the library is where ROCm puts it; it is not loaded."""
    path = _rocm() / "lib" / _SONAME
    if context.options.get("amdsmi", "auto") == "never":
        return Check(subject=_SONAME, ok=True, found="switched off by the option `amdsmi`")
    finding = (
        str(path) if path.exists() else "not found; only needed for what the files do not have"
    )
    return Check(subject=_SONAME, ok=True, found=finding)


def _library_loads() -> bool:
    """Ask the loader before the import does, which prints and fails in odd ways without it."""
    for candidate in (str(_rocm() / "lib" / _SONAME), _SONAME):
        try:
            ctypes.CDLL(candidate)
        except OSError:
            continue
        return True
    return False


def _module() -> AmdSmi | None:
    """The Python package, preferably the one that came with the library."""
    shipped = _rocm() / "share/amd_smi"
    if (shipped / "amdsmi").is_dir() and str(shipped) not in sys.path:
        sys.path.insert(0, str(shipped))
    try:
        return cast(AmdSmi, importlib.import_module("amdsmi"))
    except (ImportError, KeyError, AttributeError, OSError) as error:
        _log.warning("amdsmi cannot be imported: %s %s", type(error).__name__, error)
        return None


def _fits(module: AmdSmi, library_major: object) -> bool:
    """Whether package and library are of one release: structures grow between them."""
    package = str(getattr(module, "__version__", "")).partition(".")[0]
    if not package.isdecimal():
        return False
    return library_major == int(package) or library_major in _LIBRARY_MAJORS.get(int(package), ())


def load(context: Context) -> "Enrichment | None":
    """The library, ready for use; None where it is unwanted, missing or of another version.

    Every call into the library may crash the process or not come back: a one-shot reading never
    loads it, and the agent does so only in its collector child.
    """
    if not _is_enabled(context) or not _library_loads():
        return None
    with _silenced():
        module = _module()
        return _initialised(module) if module is not None else None


def _initialised(module: AmdSmi) -> "Enrichment | None":
    try:
        module.amdsmi_init()
    except (module.AmdSmiException, OSError) as error:
        _log.warning("amdsmi_init failed: %s", " ".join(str(error).split()))
        return None
    try:
        version = module.amdsmi_get_lib_version()
        if _fits(module, version.get("major")):
            name = f"{version['major']}.{version['minor']}.{version['release']}"
            return Enrichment(module, name)
        _log.warning("amdsmi does not fit its library: library_major=%s", version.get("major"))
    except (module.AmdSmiException, KeyError, ValueError) as error:
        _log.warning("amdsmi does not report its version: %s", " ".join(str(error).split()))
    _shut_down(module)
    return None


def _shut_down(module: AmdSmi) -> None:
    with contextlib.suppress(module.AmdSmiException, OSError):
        module.amdsmi_shut_down()


class Enrichment:
    """What the library adds to identities and readings; every failure is an absence or nothing."""

    def __init__(self, module: AmdSmi, version: str) -> None:
        self.version = version
        self._module = module
        self._handles: dict[str, Any] | None = None
        self._unsupported: set[tuple[str, str]] = set()
        self._meters: dict[str, ResidencyMeter] = {}

    def close(self) -> None:
        """Shut the library down; never raises."""
        _shut_down(self._module)

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
        are asked for when not `slow`, and even they only if nothing else counts throttling.
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
        """The call's answer, or an absence; what a device does not support is asked once."""
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
        """Counts by block, then by severity; blocks that cannot be asked are left out."""
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
        """The library takes 100 ms over this, so it is asked as rarely as the slow quantities."""
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
