"""Backends that behave as badly as told by their options; loaded by address, in child processes too.

`devices` lists one dict per device: `id`, and optionally `do` (what a read does), `identify` (what
identifying does), `pci`. `open`, `discover` and `events` say what these calls do.
"""

import contextlib
import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from accelwatch.backend import Context, Opened, Probe, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.errors import DeviceLost, DevicePermission, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.reading import Process, Reading
from accelwatch.system.processes.command import run

# Longer than any test, short enough not to outlive a machine.
FOR_EVER = 60.0


def act(what: str) -> None:
    """Do what a driver does on a bad day."""
    word, _, argument = what.partition("=")
    if word.endswith("_while"):
        word = word.removesuffix("_while") if Path(argument).exists() else ""
    if word in _DEEDS:
        _DEEDS[word](argument)
    elif word in _ERRORS:
        raise _ERRORS[word]


def _hang(_: str) -> None:
    time.sleep(FOR_EVER)


def _segv(_: str) -> None:
    """A library that follows a null pointer, without the interpreter lock, as in a vendor's."""
    import ctypes

    ctypes.CDLL(None).strlen(None)


def _segv_process(_: str) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(FOR_EVER)


def _command(argument: str) -> None:
    """A vendor command that never ends."""
    run(["sleep", argument], timeout_s=FOR_EVER)


def _grow(mebibytes: str) -> None:
    """A call that fills memory and does not come back."""
    filled = bytearray(b"x") * (int(mebibytes) << 20)
    time.sleep(FOR_EVER)
    del filled


def runs_sleep(seconds: str) -> bool:
    """Whether a command `sleep SECONDS` runs on this machine."""
    wanted = b"sleep\0%s\0" % seconds.encode()
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if cmdline.read_bytes() == wanted:
                return True
        except OSError:
            continue
    return False


def _spin(seconds: str) -> None:
    """A C call that keeps the interpreter lock, as a badly written extension does.

    With an argument, once a command `sleep SECONDS` runs.
    """
    import ctypes

    while seconds and not runs_sleep(seconds):
        time.sleep(0.01)
    ctypes.PyDLL(None).sleep(int(FOR_EVER))


def _print(words: str) -> None:
    """As a library in C does, to the descriptor."""
    os.write(1, words.encode())


def _stop(_: str) -> None:
    """A library that stops the process, as some debug builds do for a debugger."""
    os.kill(os.getpid(), signal.SIGSTOP)


def _close(_: str) -> None:
    """A library that makes a daemon of itself closes what it does not know."""
    os.closerange(3, 4096)


def _close_and_open(_: str) -> None:
    """The numbers are another's then, as a device file's."""
    os.closerange(3, 4096)
    for _number in range(3, 64):
        os.open(os.devnull, os.O_RDWR)


def _noise(words: str) -> None:
    """A library that writes to a descriptor that is not its own: to every pipe."""
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, words.encode() or bytes(64))


_DEEDS: dict[str, Callable[[str], None]] = {
    "close": _close,
    "close_and_open": _close_and_open,
    "command": _command,
    "hang": _hang,
    "noise": _noise,
    "print": _print,
    "slow": lambda seconds: time.sleep(float(seconds)),
    "exit": sys.exit,
    "stop": _stop,
    "grow": _grow,
    "spin": _spin,
    "segv": _segv,
    "segv_process": _segv_process,
}
_ERRORS: dict[str, Exception] = {
    "lost": DeviceLost("gone", code="FAKE_LOST"),
    "permission": DevicePermission("no access to /dev/fake0; join group fake"),
    "error": ReadError("code 999", code="FAKE_999"),
    "raise": ValueError("a bug in the backend"),
    "unavailable": BackendUnavailable("no library", reason="library_missing", remedy="install it"),
}


class Fake:
    name = "fake"
    vendor = "fake"
    serial = False

    def __init__(self, context: Context) -> None:
        self._options: dict[str, Any] = cast(dict[str, Any], dict(context.options))
        self._one_shot = context.one_shot
        self._reads: dict[str, int] = {}
        self._reported = False

    def probe(self) -> Probe:
        act(self._options.get("probe", ""))
        return Probe(present=not self._options.get("absent", False))

    def open(self) -> Opened:
        act(self._options.get("open", ""))
        return Opened(source="fake", versions={"driver": "1.0"})

    def discover(self) -> Sequence[Device]:
        act(self._options.get("discover", ""))
        gone = self._options.get("gone_file", "")
        there = [d for d in self._listed() if not (gone and Path(gone).exists() and d.get("goes"))]
        return [self._device(index, d, provisional=True) for index, d in enumerate(there)]

    def identify(self, device: Device) -> Sequence[Device]:
        listed = self._of(device.id)
        act(listed.get("identify", ""))
        whole = self._device(device.index, listed, provisional=False)
        parts = [
            Device(
                id=f"{whole.id}/{part}",
                vendor="fake",
                backend="fake",
                index=device.index,
                name=f"{whole.name}/{part}",
                parent_id=whole.id,
                partition=part,
            )
            for part in listed.get("partitions", ())
        ]
        return [whole, *parts]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        listed = self._of(device.id)
        what = listed.get("do", "")
        self._reads[device.id] = self._reads.get(device.id, 0) + 1
        if what.startswith("segv_every="):
            what = "segv" if self._reads[device.id] % int(what[11:]) == 0 else ""
        act(what)
        garbage = {
            "nothing": None,
            "stranger": [Reading(device_id="fake:nobody")],
            "empty": [],
            "text": [Reading(device_id=device.id, processes=cast(Any, "text"))],
            "surrogate": [
                Reading(
                    device_id=device.id,
                    processes=(Process(device_id=device.id, pid=1, command="\udcff"),),
                )
            ],
        }
        if what in garbage:
            return cast(Sequence[Reading], garbage[what])
        values: dict[tuple[str, ...], Any] = {("utilization_ratio",): 0.5, ("power_watts",): 100.0}
        if what == "impossible":
            values["memory_used_bytes",] = float("nan")
            values["memory_size_bytes",] = 1 << 70
            values["temperature_celsius", "gpu"] = "hot"
        crowd = int(what.removeprefix("crowd=")) if what.startswith("crowd=") else 0
        if request.slow:
            values["power_limit_watts", "default"] = 300.0
        return [
            Reading(
                device_id=device.id,
                values=values,
                processes=tuple(
                    Process(device_id=device.id, pid=pid, gpu_memory_bytes=pid)
                    for pid in range(1, crowd + 1)
                )
                if crowd
                else None,
            ),
            *(
                Reading(device_id=f"{device.id}/{part}", values={("utilization_ratio",): 0.25})
                for part in listed.get("partitions", ())
            ),
        ]

    def close(self) -> None:
        if "close_file" in self._options:
            Path(self._options["close_file"]).touch()

    def _listed(self) -> list[dict[str, Any]]:
        return cast(list[dict[str, Any]], self._options.get("devices", [{"id": "0"}]))

    def _of(self, device_id: str) -> dict[str, Any]:
        return next(
            d
            for d in self._listed()
            if device_id.rsplit(":", maxsplit=1)[-1] in (d["id"], f"slot{d['id']}")
        )

    def _device(self, index: int, listed: dict[str, Any], *, provisional: bool) -> Device:
        number = listed["id"]
        own = listed.get("own_id", True)
        return Device(
            id=f"fake:{number}" if own or not provisional else f"fake:slot{number}",
            vendor="fake",
            backend="fake",
            index=index,
            name=f"fake{number}",
            pci_bus_id=listed.get("pci"),
            uuid=None if provisional else f"uuid-{number}",
            model=None if provisional else "Fake 9000",
        )


class Second(Fake):
    """The same under another name."""


class Serial(Fake):
    serial = True


class Elsewhere(Fake):
    """Devices that are recorded, not in this machine."""

    elsewhere = True


class LightSleeper(Fake):
    """A device whose id is `npu` answers without being woken."""

    def readable_asleep(self, device: Device) -> bool:
        return device.id == "fake:npu"


class Telling(Fake):
    """A backend with an event source; `devices` may be empty."""

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        act(self._options.get("events", ""))
        if self._reported:
            time.sleep(min(timeout_s, 0.05))
            return []
        self._reported = True
        return [
            ErrorEvent(
                code="xid_79",
                category=Category.BUS,
                time=1000.0 + number,
                text="fell off the bus",
                source="fake",
                subject=self._options.get("subject", ""),
            )
            for number in range(self._options.get("flood", 1))
        ]


FAKE = "node.sampler.fakes:Fake"
SECOND = "node.sampler.fakes:Second"
SERIAL = "node.sampler.fakes:Serial"
ELSEWHERE = "node.sampler.fakes:Elsewhere"
LIGHT_SLEEPER = "node.sampler.fakes:LightSleeper"
TELLING = "node.sampler.fakes:Telling"
