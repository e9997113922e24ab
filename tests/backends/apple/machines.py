"""Macs with Apple Silicon: commands that print composed documents."""

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import msgspec

from accelwatch.schema.device import Device
from accelwatch_apple.backend import AppleBackend
from accelwatch_apple.system import System
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

DOCUMENTS = FIXTURES / "apple"
MACMON = "opt/homebrew/bin/macmon"
_IOREG = 'case "$*" in *IOPlatformExpertDevice*) {platform} ;; *) {accelerators} ;; esac'
_NOTIFY = "echo com.apple.system.thermalpressurelevel {level}"
_FAILS = "echo 'powermetrics: unrecognized sampler: ane_power' >&2; exit 64"


class Mac(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine answers."""

    name: str
    # Shell; without it the documents of the machine.
    ioreg: str = ""
    form: str = "plist"
    is_root: bool = False
    # Shell of further commands, by path.
    more: Mapping[str, str] = {}
    profiled: bool = True
    # Of thermal pressure.
    level: int = 0

    @property
    def system(self) -> System:
        """What Python says there."""
        return System("darwin", "arm64", self.is_root)


def printing(name: str) -> str:
    """Shell that prints a composed document."""
    return f"cat {DOCUMENTS / name}"


def write_command(root: Path, path: str, shell: str) -> None:
    """A command of the machine."""
    program = root / path
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{shell}\n")
    program.chmod(0o755)


def lay_out(root: Path, mac: Mac) -> None:
    """All commands of a machine, and what every macOS has."""
    version = root / "System/Library/CoreServices/SystemVersion.plist"
    version.parent.mkdir(parents=True)
    version.write_text("<plist/>")
    ioreg = mac.ioreg or _IOREG.format(
        platform=printing(f"{mac.name}-platform.{mac.form}"),
        accelerators=printing(f"{mac.name}-accelerators.{mac.form}"),
    )
    commands = {
        "usr/sbin/ioreg": ioreg,
        "usr/sbin/sysctl": printing(f"{mac.name}-sysctl.txt"),
        "bin/ps": printing("processes.txt"),
        "usr/bin/vm_stat": printing(f"{mac.name}-vm_stat.txt"),
        "usr/bin/notifyutil": _NOTIFY.format(level=mac.level),
        "usr/bin/powermetrics": "echo 'powermetrics must be invoked as the superuser' >&2; exit 1",
        "usr/sbin/system_profiler": printing(f"{mac.name}-profile.json")
        if mac.profiled
        else "exit 1",
        **mac.more,
    }
    for path, shell in commands.items():
        write_command(root, path, shell)


# Root asks powermetrics, which knows its neural engine.
M3_MAX = Mac(
    name="m3-max",
    is_root=True,
    more={"usr/bin/powermetrics": printing("m3-max-powermetrics.plist")},
)

# A user with macmon, and an ioreg that prints its tree of text.
M1_MACMON = Mac(name="m1", form="txt", more={MACMON: printing("m1-macmon.json")})

# A user without macmon: what macOS tells everybody.
M4_PLAIN = Mac(name="m4", profiled=False)

# Hot, its GPU was restarted three times; powermetrics knows no sampler for the neural engine.
M2_ULTRA_HOT = Mac(
    name="m2-ultra",
    is_root=True,
    more={
        "usr/bin/powermetrics": f'case "$*" in *ane_power*) {_FAILS} ;; '
        f"*) {printing('m2-ultra-powermetrics.plist')} ;; esac"
    },
)

# Half of a property list, no page size, a level of thermal pressure that nobody knows.
M4_BROKEN = Mac(
    name="m4",
    is_root=True,
    profiled=False,
    level=9,
    more={
        "usr/bin/powermetrics": "echo '<plist><dict><key>gpu</key>'",
        "usr/bin/vm_stat": "echo Mach",
        "usr/sbin/sysctl": "exit 1",
    },
)

# ioreg complains.
M4_SILENT = Mac(name="m4", profiled=False, ioreg="echo 'no registry' >&2; exit 1")


@contextlib.contextmanager
def stage(folder: Path, mac: Mac) -> Iterator[Stage]:
    """The machine."""
    lay_out(folder, mac)
    yield Stage(partial(AppleBackend, system=mac.system), folder)


@contextlib.contextmanager
def _removable(folder: Path, mac: Mac) -> Iterator[Stage]:
    """The machine, of which only the GPU is known; its driver can go."""
    platform = printing(f"{mac.name}-platform.{mac.form}")
    without = _IOREG.format(platform=platform, accelerators="true")
    with stage(folder, mac) as staged:

        def remove(device: Device) -> None:
            write_command(folder, "usr/sbin/ioreg", without)
            staged.clock.advance(10)

        staged.remove = remove
        yield staged


def _machine(name: str, mac: Mac, *, healthy: bool, reports_fault: bool = False) -> FixtureMachine:
    goes = mac is M4_PLAIN
    lay = _removable if goes else stage
    return FixtureMachine(
        f"apple-{name}",
        "apple",
        healthy,
        lambda folder: lay(folder, mac),
        frozenset({"devices", "removable"} if goes else {"devices"}),
        reports_fault=reports_fault,
    )


MACHINES = (
    _machine("m3-max", M3_MAX, healthy=True),
    _machine("m1-macmon", M1_MACMON, healthy=True),
    _machine("m4-plain", M4_PLAIN, healthy=True),
    _machine("m2-ultra-hot", M2_ULTRA_HOT, healthy=True, reports_fault=True),
    _machine("m4-broken", M4_BROKEN, healthy=False),
    _machine("m4-silent", M4_SILENT, healthy=False),
)
