"""Loads AMD's management library, which may crash: only in a process that may die with it."""

import contextlib
import ctypes
import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from accelwatch.backend import Check, Context

_log = logging.getLogger(__name__)

_SONAME = "libamd_smi.so"
_ROCM = "/opt/rocm"
# ROCm release, which the Python package is named for, to the library's own major version.
_LIBRARY_MAJORS = {7: (26,), 6: (23, 24, 25)}


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


class Library(NamedTuple):
    """The library, ready for use."""

    module: AmdSmi
    version: str


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
    """Try the loader before the import does, which prints and fails in odd ways without the library."""
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


def load(context: Context) -> Library | None:
    """The library, ready for use; None where it is unwanted, missing or of another version.

    Every call into the library may crash the process or not come back: a one-shot reading never
    loads it, and the agent does so only in its collector child.
    """
    if not _is_enabled(context) or not _library_loads():
        return None
    with _silenced():
        module = _module()
        return _initialised(module) if module is not None else None


def _initialised(module: AmdSmi) -> Library | None:
    try:
        module.amdsmi_init()
    except (module.AmdSmiException, OSError) as error:
        _log.warning("amdsmi_init failed: %s", " ".join(str(error).split()))
        return None
    try:
        version = module.amdsmi_get_lib_version()
        if _fits(module, version.get("major")):
            name = f"{version['major']}.{version['minor']}.{version['release']}"
            return Library(module, name)
        _log.warning("amdsmi does not fit its library: library_major=%s", version.get("major"))
    except (module.AmdSmiException, KeyError, ValueError) as error:
        _log.warning("amdsmi does not report its version: %s", " ".join(str(error).split()))
    shut_down(module)
    return None


def shut_down(module: AmdSmi) -> None:
    """Shut the library down; never raises."""
    with contextlib.suppress(module.AmdSmiException, OSError):
        module.amdsmi_shut_down()
