"""Bringing a backend up, and what each way of failing is called."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from accelwatch.backend import Check, Context, Opened, Probe
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import PluginError
from accelwatch.node.sampler.stack.opening import (
    not_there,
    open_backend,
    status_of,
    timed_out,
)
from accelwatch.node.sampler.turns.contract import ContractError
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import BackendState, BackendStatus
from node.sampler.rig import Scripted

EVENT = ErrorEvent(code="c", category=Category.BUS, time=1.0, text="", source="s")


class Telling(Scripted):
    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        assert timeout_s == 0.0
        return [EVENT]


def context(*, one_shot: bool = False) -> Context:
    return Context(
        root=Path("/"), clock=ManualClock(), environ={}, state_dir=None, one_shot=one_shot
    )


def test_a_backend_that_came_up() -> None:
    backend = Scripted(2)
    found = open_backend("x", backend, context())
    assert found.backend is backend
    assert [device.id for device in found.devices] == ["s:0", "s:1"]
    assert found.status == BackendStatus(
        name="x", vendor="scripted", state=BackendState.OK, source="script", devices=2
    )
    assert (backend.opened, backend.closed) == (1, 0)


def test_versions_of_a_driver_are_reported() -> None:
    class Versioned(Scripted):
        def open(self) -> Opened:
            return Opened(source="s", versions={"driver": "1"})

    assert open_backend("x", Versioned(), context()).status.versions == {"driver": "1"}


def test_a_backend_that_cannot_look_for_devices_is_closed() -> None:
    backend = Scripted()
    backend.discover_error = OSError("no bus")
    with pytest.raises(OSError, match="no bus"):
        open_backend("x", backend, context())
    assert (backend.opened, backend.closed) == (1, 1)


@pytest.mark.parametrize(
    ("checks", "message", "remedy"),
    [
        ((), "", ""),
        ((Check(subject="lib", ok=True, found="x", remedy="r"),), "", ""),
        (
            (
                Check(subject="lib", ok=False),
                Check(subject="node", ok=False, found="no access", remedy="join the group"),
                Check(subject="bus", ok=False, remedy="later"),
            ),
            "lib: not found; node: no access; bus: not found",
            "join the group",
        ),
    ],
)
def test_a_backend_with_nothing_to_do_here(
    checks: tuple[Check, ...], message: str, remedy: str
) -> None:
    class Away(Scripted):
        def probe(self) -> Probe:
            return Probe(present=False, checks=checks)

    found = open_backend("x", Away(), context())
    assert (found.backend, found.devices) == (None, ())
    assert found.status == BackendStatus(
        name="x",
        vendor="scripted",
        state=BackendState.ABSENT,
        reason="absent",
        message=message,
        remedy=remedy,
    )


@pytest.mark.parametrize(
    ("backend", "one_shot", "events"),
    [
        (Telling(0), True, (EVENT,)),
        (Telling(1), True, ()),
        (Telling(0), False, ()),
        (Scripted(0), True, ()),
    ],
)
def test_a_single_reading_receives_events_of_a_source_without_devices(
    backend: Scripted, one_shot: bool, events: tuple[ErrorEvent, ...]
) -> None:
    assert open_backend("x", backend, context(one_shot=one_shot)).events == events


@pytest.mark.parametrize(
    ("error", "state", "reason", "message", "remedy"),
    [
        (
            BackendUnavailable("unloaded", reason="driver_gone", remedy="modprobe"),
            BackendState.UNAVAILABLE,
            "driver_gone",
            "unloaded",
            "modprobe",
        ),
        (PluginError("no such"), BackendState.FAILED, "plugin", "no such", ""),
        (ContractError("nothing"), BackendState.FAILED, "contract", "nothing", ""),
        (KeyError("k"), BackendState.FAILED, "error", "KeyError('k')", ""),
        (ValueError("x" * 999), BackendState.FAILED, "error", f"ValueError('{'x' * 488}", ""),
    ],
)
def test_the_status_of_a_backend_that_raised(
    error: Exception, state: BackendState, reason: str, message: str, remedy: str
) -> None:
    assert status_of("x", "v", error) == BackendStatus(
        name="x", vendor="v", state=state, reason=reason, message=message, remedy=remedy
    )


def test_the_status_of_a_backend_that_hangs_or_is_absent_or_did_not_report() -> None:
    assert timed_out("x", "v", 2.5) == BackendStatus(
        name="x",
        vendor="v",
        state=BackendState.UNAVAILABLE,
        reason="timeout",
        message="opening did not come back within 2.5 s",
        remedy="give it more time (--timeout), or look for a driver that hangs in the kernel log",
    )
    assert not_there("x", "no PCI function") == BackendStatus(
        name="x", vendor="", state=BackendState.ABSENT, reason="absent", message="no PCI function"
    )


def test_devices_that_are_there_all_the_same_are_counted() -> None:
    devices = tuple(Scripted(2).discover())
    refused = BackendUnavailable("no library", reason="library_not_found").with_devices(devices)
    assert status_of("x", "v", refused).devices == 2
