"""The state of a backend that came up and cannot read any of its devices."""

from collections.abc import Sequence

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.node.store.devices.row import StoredDevice
from accelwatch.schema.snapshot import BackendState, BackendStatus


def status_by(status: BackendStatus, rows: Sequence[StoredDevice]) -> BackendStatus:
    """The status as the backend reported it, unless the driver or tool failed for each of its devices.

    A device that is lost, hangs, sleeps or may not be read concerns itself alone.
    """
    devices = [row for row in rows if row.device.parent_id is None]
    failures = [row.failure for row in devices]
    if status.state is not BackendState.OK or not failures:
        return status
    if any(failure is None or failure.absence is not Absence.ERROR for failure in failures):
        return status
    first = next(failure for failure in failures if failure is not None)
    return msgspec.structs.replace(
        status,
        state=BackendState.UNAVAILABLE,
        reason=first.code or "unreadable",
        message=f"no device can be read: {first.message}",
    )
