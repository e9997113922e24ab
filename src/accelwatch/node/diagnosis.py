"""What was looked for, what was found, and what to do: the facts behind `backends` and `doctor`."""

import os
import platform
import shutil
import sys
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.backend import OPTIONAL, Backend, Check, Context, Probe
from accelwatch.plugins import entry_points as plugins
from accelwatch.plugins.near_misses import near_misses
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import (
    NO_ACCELERATORS,
    BackendState,
    BackendStatus,
    DeviceView,
    Snapshot,
)


class Verdict(IntEnum):
    """How it stands; the numbers are the exit codes of `doctor`."""

    # All that is here can be read.
    FINE = 0
    # Something that is here cannot be read, or not fully.
    IMPAIRED = 1
    # Devices are here, and none can be read.
    BROKEN = 2


class BackendReport(msgspec.Struct, frozen=True, kw_only=True):
    """One backend: what it looked for, and what became of it."""

    name: str
    present: bool
    checks: tuple[Check, ...] = ()
    # None: it was not read because nothing of its kind is here, or it cannot be loaded.
    status: BackendStatus | None = None
    # Why it cannot be loaded or queried, when that is so.
    problem: str = ""
    # Names of its own that are nearly those of an optional ability, for its author.
    near_misses: tuple[str, ...] = ()


class DeviceReport(msgspec.Struct, frozen=True, kw_only=True):
    """One device that is not as it should be."""

    name: str
    state: str
    reason: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The whole finding."""

    verdict: Verdict
    version: str
    host: str
    python: str
    kernel: str
    backends: tuple[BackendReport, ...]
    devices: int
    unhealthy: tuple[DeviceReport, ...]
    surroundings: tuple[Check, ...]


class Probed(NamedTuple):
    """By backend, what looking around found."""

    probes: dict[str, Probe]
    # What went wrong with those that could not probe.
    problems: dict[str, str]
    # Names of its own that are nearly those of an optional ability.
    near_misses: dict[str, tuple[str, ...]]


def probe_all(context: Context) -> Probed:
    """What each backend finds by looking around.

    No vendor library is loaded and no device is opened.
    """
    factories, failures = plugins.load_all(plugins.BACKENDS)
    probes: dict[str, Probe] = {}
    misspelled: dict[str, tuple[str, ...]] = {}
    problems = {failure.name: failure.message for failure in failures}
    for name, factory in factories.items():
        try:
            backend = factory(context)
            misspelled[name] = tuple(near_misses(backend, Backend, OPTIONAL))
            probes[name] = backend.probe()
        except Exception as error:  # noqa: BLE001 - a plug-in's fault becomes a row
            problems[name] = f"probe failed: {error!r}"
    return Probed(probes, problems, misspelled)


def diagnose(snapshot: Snapshot, probed: Probed) -> Diagnosis:
    """Put probes and a reading together."""
    probes, problems, misspelled = probed
    statuses = {status.name: status for status in snapshot.backends}
    names = sorted({*probes, *problems, *statuses} - {"replay"})
    reports = tuple(
        BackendReport(
            name=name,
            present=probes[name].present if name in probes else False,
            checks=probes[name].checks if name in probes else (),
            status=statuses.get(name),
            problem=problems.get(name, ""),
            near_misses=misspelled.get(name, ()),
        )
        for name in names
    )
    unhealthy = tuple(
        DeviceReport(name=view.device.name, state=view.state.value, reason=reason)
        for view in snapshot.devices
        if (reason := _why(view, snapshot)) or view.state is not DeviceState.OK
    )
    return Diagnosis(
        verdict=_verdict(snapshot, reports, unhealthy),
        version=snapshot.version,
        host=snapshot.host,
        python=platform.python_version(),
        kernel=platform.release(),
        backends=reports,
        devices=len(snapshot.devices),
        unhealthy=unhealthy,
        surroundings=_surroundings(),
    )


def _why(view: DeviceView, snapshot: Snapshot) -> str:
    messages = [error.message for error in snapshot.errors if error.device_id == view.device.id]
    return "; ".join(dict.fromkeys([*view.health_reasons, *messages]))


def _verdict(
    snapshot: Snapshot, reports: tuple[BackendReport, ...], unhealthy: tuple[DeviceReport, ...]
) -> Verdict:
    bad = (BackendState.UNAVAILABLE, BackendState.FAILED)
    impaired = any(
        report.problem or (report.status is not None and report.status.state in bad)
        for report in reports
    )
    readable = [view for view in snapshot.devices if view.reading.values]
    devices_here = snapshot.devices or any(
        report.present and report.name not in NO_ACCELERATORS for report in reports
    )
    if devices_here and not readable:
        return Verdict.BROKEN
    return Verdict.IMPAIRED if impaired or unhealthy else Verdict.FINE


def _surroundings() -> tuple[Check, ...]:
    """Of the machine around the drivers: what we can see of other processes and of the kernel log."""
    namespace = (_pid_namespace(),) if sys.platform == "linux" else ()
    return (*namespace, _own_command("nvidia-smi"), _state_directory())


def _pid_namespace() -> Check:
    try:  # /proc/1/ns would show it too, but only root may read it
        own = Path("/proc/2/comm").read_text().strip() == "kthreadd"
    except OSError:
        own = False
    return Check(
        subject="host pid namespace",
        ok=own,
        found="the host's" if own else "a container's own",
        remedy=""
        if own
        else "processes show foreign pids; share the host's pid namespace (hostPID)",
    )


def _own_command(name: str) -> Check:
    path = shutil.which(name)
    return Check(subject=name, ok=True, found=path or "not on PATH (not needed)")


def _state_directory() -> Check:
    path = Path(os.environ.get("STATE_DIRECTORY", "/var/lib/accelwatch"))
    ok = os.access(path, os.W_OK) if path.exists() else os.access(path.parent, os.W_OK)
    return Check(
        subject=f"state directory {path}",
        ok=ok,
        found="writable" if ok else "not writable by this user",
        remedy=""
        if ok
        else "the agent keeps event counters and incidents only in memory; set state_dir",
    )
