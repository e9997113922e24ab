"""A backend that came up and cannot read any of its devices is unavailable, and says why."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.store.reports import BackendChanged
from accelwatch.schema.snapshot import BackendState, BackendStatus
from node.store.reporting import Node, device, power

OK = BackendStatus(name="nvidia", vendor="nvidia", state=BackendState.OK, devices=2)


def started(*absences: Absence | None, code: str = "", status: BackendStatus = OK) -> Node:
    """A node whose devices were each read, or failed so."""
    node = Node()
    node.store.apply(BackendChanged(status=status))
    node.slots(*(device(number) for number in range(len(absences))))
    for number, absence in enumerate(absences):
        node.identified(f"n:{number}", device(number, uuid=f"GPU-{number}"))
        if absence is None:
            node.read(f"n:{number}", power(f"n:{number}"))
        else:
            node.failed(f"n:{number}", absence, code=code)
    return node


def status_of(node: Node) -> BackendStatus:
    (status,) = node.store.snapshot().backends
    return status


@pytest.mark.parametrize(
    ("code", "reason"), [("NVML_ERROR_UNKNOWN", "NVML_ERROR_UNKNOWN"), ("", "unreadable")]
)
def test_a_backend_of_which_no_device_can_be_read_is_unavailable(code: str, reason: str) -> None:
    status = status_of(started(Absence.ERROR, Absence.ERROR, code=code))
    assert (status.state, status.reason) == (BackendState.UNAVAILABLE, reason)
    assert status.message.startswith("no device can be read: ")
    assert (status.vendor, status.devices) == ("nvidia", 2)


@pytest.mark.parametrize("other", [None, Absence.LOST, Absence.PERMISSION, Absence.SUSPENDED])
def test_one_device_that_is_read_or_fails_by_itself_keeps_it_up(other: Absence | None) -> None:
    assert status_of(started(Absence.ERROR, other)) == OK


def test_a_backend_without_devices_stays_as_it_reported() -> None:
    assert status_of(started()) == OK


def test_a_backend_that_is_not_up_stays_as_it_reported() -> None:
    away = msgspec.structs.replace(OK, state=BackendState.UNAVAILABLE, reason="no library")
    assert status_of(started(Absence.ERROR, status=away)) == away
