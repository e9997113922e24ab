"""Bringing a backend up: probe, open, discover; and what each way of failing is called."""

import msgspec

from accelwatch.backend import Backend, Context, EventSource, Opened, Probe
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.errors import PluginError
from accelwatch.node.sampler.turns.contract import ContractError, sound_devices, sound_events
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.snapshot import BackendState, BackendStatus


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """A backend that came up, or that has nothing to do here (`backend` is None)."""

    status: BackendStatus
    backend: Backend | None = None
    devices: tuple[Device, ...] = ()
    events: tuple[ErrorEvent, ...] = ()


def open_backend(name: str, backend: Backend, context: Context) -> Opening:
    """Probe, open and discover; may block, and raises what the backend raises."""
    probe = backend.probe()
    if not probe.present:
        return Opening(status=_absent(name, backend.vendor, probe))
    opened = backend.open()
    try:
        return _first_discovery(name, backend, opened, context)
    except Exception:
        backend.close()
        raise


def _first_discovery(name: str, backend: Backend, opened: Opened, context: Context) -> Opening:
    devices = sound_devices(backend.discover())
    status = BackendStatus(
        name=name,
        vendor=backend.vendor,
        state=BackendState.OK,
        source=opened.source,
        versions=dict(opened.versions),
        devices=len(devices),
    )
    events: tuple[ErrorEvent, ...] = ()
    if context.one_shot and not devices and isinstance(backend, EventSource):
        events = sound_events(backend.wait_events(0.0))
    return Opening(status=status, backend=backend, devices=devices, events=events)


def _absent(name: str, vendor: str, probe: Probe) -> BackendStatus:
    failed = [check for check in probe.checks if not check.ok]
    return BackendStatus(
        name=name,
        vendor=vendor,
        state=BackendState.ABSENT,
        reason="absent",
        message="; ".join(f"{check.subject}: {check.found or 'not found'}" for check in failed),
        remedy=next((check.remedy for check in failed if check.remedy), ""),
    )


def not_there(name: str, why: str) -> BackendStatus:
    """The status of a backend that was not loaded, as this machine cannot have its devices."""
    return BackendStatus(
        name=name, vendor="", state=BackendState.ABSENT, reason="absent", message=why
    )


def status_of(name: str, vendor: str, error: Exception) -> BackendStatus:
    """The status of a backend that raised while it was brought up or looked for devices."""
    if isinstance(error, BackendUnavailable):
        return BackendStatus(
            name=name,
            vendor=vendor,
            state=BackendState.UNAVAILABLE,
            reason=error.reason,
            message=str(error),
            devices=len(error.devices),
            remedy=error.remedy,
        )
    reason, message = "error", repr(error)[:500]
    if isinstance(error, PluginError):
        reason, message = "plugin", str(error)
    elif isinstance(error, ContractError):
        reason, message = "contract", str(error)
    return BackendStatus(
        name=name, vendor=vendor, state=BackendState.FAILED, reason=reason, message=message
    )


def timed_out(name: str, vendor: str, seconds: float) -> BackendStatus:
    """The status of a backend whose opening does not come back."""
    return BackendStatus(
        name=name,
        vendor=vendor,
        state=BackendState.UNAVAILABLE,
        reason="timeout",
        message=f"opening did not come back within {seconds:.2g} s",
        remedy="give it more time (--timeout), or look for a driver that hangs in the kernel log",
    )
