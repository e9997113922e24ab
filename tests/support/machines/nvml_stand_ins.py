"""Builds the stand-in NVML library and writes the scenario files that drive it.

fixtures/nvml/README.md describes the scenario language.
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from support.machines.samples import FIXTURES

SOURCES = FIXTURES / "nvml"
SCENARIOS = SOURCES / "scenarios"
LIBRARY = "libnvidia-ml.so.1"
_FLAGS = ("-std=gnu11", "-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-pthread", "-Wall")
# The library looks at its file every 2 ms at most; three times that has it seen.
_SETTLE_S = 0.006


def _fingerprint(missing: Iterable[str]) -> str:
    digest = hashlib.sha256("\0".join([*_FLAGS, *sorted(missing)]).encode())
    for source in sorted(SOURCES.glob("*.[ch]")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _compile(compiler: str, target: Path, missing: Iterable[str]) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        script = Path(scratch) / "hidden.map"
        hidden = "".join(f" {symbol};" for symbol in missing)
        script.write_text("{ global: *; " + (f"local:{hidden} " if hidden else "") + "};\n")
        built = Path(scratch) / LIBRARY
        sources = sorted(str(path) for path in SOURCES.glob("*.c"))
        command = [compiler, *_FLAGS, f"-Wl,--version-script={script}", "-o", str(built), *sources]
        subprocess.run(command, check=True, capture_output=True, text=True)
        built.replace(target)


@functools.cache
def _build(missing: frozenset[str]) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc, clang) to build the stand-in NVML library with")
    cache = Path(tempfile.gettempdir()) / f"accelwatch-nvml-{os.getuid()}" / _fingerprint(missing)
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / LIBRARY
    if not target.exists():
        _compile(compiler, target, missing)
    return target


def build_nvml(missing: Iterable[str] = ()) -> Path:
    """Path of a built `libnvidia-ml.so.1` without the symbols `missing`; skips with no compiler."""
    return _build(frozenset(missing))


def _read_lines(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text().splitlines():
        key, equals, value = line.strip().partition("=")
        if not equals or key.startswith("#"):
            continue
        if key == "include":
            yield from _read_lines(path.parent / value)
        else:
            yield key.strip(), value.strip()


class NvmlScenario:
    """A scenario in the making: change it, `write()` it, and a library in use sees the change.

    Later calls override earlier ones key by key; every method but `write` only changes this object.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values: dict[str, str] = {
            "driver_version": "590.48.01",
            "nvml_version": "13.590.48.01",
            "cuda_driver_version": "13010",
            "count": "0",
        }

    @classmethod
    def of(cls, path: Path, source: Path | str) -> Self:
        """A copy of a scenario file, or of one of fixtures/nvml/scenarios by name."""
        if isinstance(source, str):
            source = SCENARIOS / f"{source}.scenario"
        scenario = cls(path)
        scenario.values = dict(_read_lines(source))
        return scenario

    @property
    def count(self) -> int:
        """The number of devices the library will report."""
        return int(self.values["count"])

    def devices(self, number: int, model: str = "h100") -> Self:
        """Appends devices of a model of fixtures/nvml/models, with invented identities."""
        rows = list(_read_lines(SOURCES / "models" / f"{model}.model"))
        for index in range(self.count, self.count + number):
            for key, value in self._identity(index).items():
                self.set(index, key, value)
            for key, value in rows:
                self.set(index, key.removeprefix("device.*."), value)
        self.values["count"] = str(self.count + number)
        return self

    @staticmethod
    def _identity(index: int) -> dict[str, str | int]:
        return {
            "uuid": f"GPU-5ca1ab1e-0000-4000-8000-{index:012d}",
            "serial": f"16500{index:08d}",
            "minor_number": index,
            "module_id": index + 1,
            "pci_bus_id": f"{index // 32:08X}:{0x10 + 4 * (index % 32):02X}:00.0",
        }

    def set(self, device: int | str, key: str, value: str | float) -> Self:
        """Sets a quantity of a device (`"*"`: of all without an own value); "none" = unsupported."""
        self.values[f"device.{device}.{key}"] = str(value)
        return self

    def system(self, key: str, value: str | float) -> Self:
        """Sets a key that belongs to no device, such as `driver_version` or `count`."""
        self.values[key] = str(value)
        return self

    def unset(self, device: int | str, key: str) -> Self:
        """Forgets a quantity of a device, which then answers 3 (not supported)."""
        self.values.pop(f"device.{device}.{key}", None)
        return self

    def processes(self, device: int, rows: Iterable[Mapping[str, str | int]]) -> Self:
        """Replaces a device's processes: pid, kind (c, g, m), memory, sm, mem, enc, dec, gi, ci."""
        prefix = f"device.{device}.process."
        self.values = {k: v for k, v in self.values.items() if not k.startswith(prefix)}
        for number, row in enumerate(rows):
            words = " ".join(f"{name}:{value}" for name, value in row.items())
            self.values[f"{prefix}{number}"] = words
        return self

    def mig(self, device: int, slot: int, uuid: str, **quantities: str | float) -> Self:
        """Turns MIG on and puts a MIG device into a slot."""
        self.set(device, "mig_mode", 1).set(device, "mig_mode_pending", 1)
        for key, value in {"uuid": uuid, **quantities}.items():
            self.set(device, f"mig.{slot}.{key}", value)
        return self

    def fault(self, call: str, rule: str, device: int | str | None = None) -> Self:
        """Makes a call (`"*"`: every call) suffer a rule such as `error:15`, `hang`, `segv,after:9`."""
        prefix = "" if device is None else f"device.{device}."
        self.values[f"{prefix}call.{call}"] = rule
        return self

    def heal(self, call: str, device: int | str | None = None) -> Self:
        """Takes a fault away."""
        prefix = "" if device is None else f"device.{device}."
        self.values.pop(f"{prefix}call.{call}", None)
        return self

    def lose(self, device: int, *, handle: bool = False) -> Self:
        """Loses a device: its calls give 15; with `handle` it cannot be found by index either."""
        return self.set(device, "lost", "handle" if handle else 1)

    def event(self, device: int, data: int, kind: int = 8) -> Self:
        """Adds an event to be delivered once: XID `data` (kind 8), or another kind's data."""
        number = sum(key.startswith("event.") for key in self.values)
        return self.system(f"event.{number}", f"{device}:{data}:{kind}")

    def without_events(self) -> Self:
        """Takes the events back: a process that loads the library anew would get them once more."""
        self.values = {k: v for k, v in self.values.items() if not k.startswith("event.")}
        return self

    def missing(self, *symbols: str) -> Self:
        """Symbols that the library of an older driver does not have; see `library()`."""
        return self.system("missing", ",".join(symbols))

    def write(self) -> Path:
        """Puts the scenario at its path atomically; on return a library in use has it."""
        text = "".join(f"{key}={value}\n" for key, value in self.values.items())
        fresh = self.path.with_name(self.path.name + ".new")
        replaces = self.path.exists()
        fresh.write_text(text)
        fresh.replace(self.path)
        if replaces:
            time.sleep(_SETTLE_S)
        return self.path

    def library(self) -> Path:
        """The built library for this scenario: all symbols but its `missing` ones."""
        return build_nvml(filter(None, self.values.get("missing", "").split(",")))

    def environment(self) -> dict[str, str]:
        """Variables for a subprocess whose NVML shall be this scenario; writes nothing."""
        folders = [str(self.library().parent), os.environ.get("LD_LIBRARY_PATH", "")]
        return {
            "ACCELWATCH_NVML_SCENARIO": str(self.path),
            "LD_LIBRARY_PATH": ":".join(filter(None, folders)),
        }


@contextlib.contextmanager
def preloaded_nvml(scenario: NvmlScenario) -> Iterator[ctypes.CDLL]:
    """Writes the scenario and makes pynvml in this process use the stand-in; restores it after.

    Yields the library; `library.standin_calls(b"nvmlDeviceGetPowerUsage", 3)` counts calls.
    """
    import pynvml

    scenario.write()
    module: Any = pynvml
    library = ctypes.CDLL(str(scenario.library()))
    library.standin_calls.restype = ctypes.c_ulong
    before = os.environ.get("ACCELWATCH_NVML_SCENARIO")
    os.environ["ACCELWATCH_NVML_SCENARIO"] = str(scenario.path)
    held = (module.nvmlLib, dict(module._nvmlGetFunctionPointer_cache), module._nvmlLib_refcount)
    module.nvmlLib = library
    module._nvmlGetFunctionPointer_cache.clear()
    try:
        yield library
    finally:
        library.standin_reset()
        module.nvmlLib, cache, module._nvmlLib_refcount = held
        module._nvmlGetFunctionPointer_cache.clear()
        module._nvmlGetFunctionPointer_cache.update(cache)
        if before is None:
            del os.environ["ACCELWATCH_NVML_SCENARIO"]
        else:
            os.environ["ACCELWATCH_NVML_SCENARIO"] = before
