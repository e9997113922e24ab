"""Why what is missing of a node could not be read."""

from accelwatch.base.absence import Absence
from accelwatch.node.store.devices.row import StoredDevice
from accelwatch.node.store.reports import CollectorExited, Cycle
from accelwatch.schema.snapshot import ReadFailure

# A device that is left out on purpose is no failure.
_NO_ERRORS = frozenset({Absence.SUSPENDED, Absence.NOT_COLLECTED})


def read_failures(
    rows: list[StoredDevice], exited: CollectorExited | None
) -> tuple[ReadFailure, ...]:
    """What cannot be read of the rows, and why their collector has ended, where it has."""
    errors = [
        ReadFailure(
            backend=row.backend,
            device_id=row.device.id,
            code=row.failure.code,
            absence=row.failure.absence,
            message=row.failure.message,
        )
        for row in rows
        if row.failure is not None and row.failure.absence not in _NO_ERRORS
    ]
    errors += [refusal for row in rows for refusal in row.refusals()]
    if exited is not None:
        errors += [
            ReadFailure(backend=name, code=exited.code, message=exited.message)
            for name in exited.backends or ("",)
        ]
    return tuple(errors)


def is_over(exited: CollectorExited, cycle: Cycle) -> bool:
    """Whether readings have come back; the row of a device that is held out says why by itself."""
    if exited.components and cycle.backend not in exited.backends:
        return False
    only_devices = bool(exited.components) and all(
        component.slot for component in exited.components
    )
    return cycle.result == "ok" or (only_devices and cycle.result != "skipped")
