"""Devices of a backend that did not open: rows all the same, which say why they are not read."""

from collections.abc import Sequence

from accelwatch.base.absence import Absence
from accelwatch.node.sampler.turns.calls import CollectorContext
from accelwatch.node.store.reports import Failure, Outcome, Slots
from accelwatch.schema.device import Device
from accelwatch.schema.snapshot import BackendStatus


class UnopenedDevices:
    """The devices that refusals to open have named."""

    def __init__(self, name: str, collector: CollectorContext) -> None:
        self._name = name
        self._collector = collector
        self._ids: frozenset[str] = frozenset()

    def covers(self, devices: Sequence[Device]) -> bool:
        """Whether all of these are rows already."""
        return {device.id for device in devices} <= self._ids

    def accept(self, devices: Sequence[Device]) -> None:
        """A refusal names these. One that names none says nothing of them: the rows of before stay."""
        named = frozenset(device.id for device in devices)
        if named:
            superseded_ids = tuple(sorted(self._ids - named))
            self._collector.emit(
                Slots(backend=self._name, devices=tuple(devices), superseded=superseded_ids)
            )
            self._ids = named

    def report(self, status: BackendStatus) -> None:
        """Every row gets the reason of the refusal."""
        failure = Failure(absence=Absence.ERROR, code=status.reason, message=status.message)
        now, wall = self._collector.clock.monotonic(), self._collector.clock.wall()
        for slot in sorted(self._ids):
            self._collector.emit(
                Outcome(backend=self._name, slot=slot, monotonic=now, wall=wall, failure=failure)
            )

    def supersede(self, devices: tuple[Device, ...]) -> None:
        """The backend has opened; rows give way where it lists devices by other ids."""
        listed = {device.id for device in devices}
        superseded = tuple(sorted(self._ids - listed)) if listed - self._ids else ()
        if superseded:
            self._collector.emit(Slots(backend=self._name, devices=devices, superseded=superseded))
        self._ids = frozenset()
