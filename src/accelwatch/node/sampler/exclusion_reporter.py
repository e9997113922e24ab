"""Reports of excluded components: the row of the device, or the status of the backend, says why."""

from collections.abc import Callable

from accelwatch.base.absence import Absence
from accelwatch.base.clock import Clock
from accelwatch.node.sampler.protocol.blame import is_backend
from accelwatch.node.store.reports import (
    CRASHED,
    BackendChanged,
    Component,
    Failure,
    Outcome,
    Report,
)
from accelwatch.schema.snapshot import BackendState, BackendStatus


class ExclusionReporter:
    """Reasons of exclusions, and their reports into `sink`; the collector goes on without them."""

    def __init__(self, sink: Callable[[Report], None], clock: Clock) -> None:
        self._sink = sink
        self._clock = clock
        self._reasons: dict[Component, str] = {}
        # By name, the newest status of a backend: source and versions stay known.
        self._statuses: dict[str, BackendStatus] = {}

    def note_status(self, status: BackendStatus) -> None:
        """The collector has reported the status of a backend."""
        self._statuses[status.name] = status

    def reason(self, component: Component) -> str:
        """Why a component was excluded last; empty when it never was."""
        return self._reasons.get(component, "")

    def report(self, component: Component, why: str) -> None:
        """Report that a component is excluded from now on."""
        self._reasons[component] = why
        if is_backend(component):
            self._report_backend(component.backend, why)
        elif component.slot:
            self._sink(
                Outcome(
                    backend=component.backend,
                    slot=component.slot,
                    monotonic=self._clock.monotonic(),
                    wall=self._clock.wall(),
                    failure=Failure(absence=Absence.ERROR, code=CRASHED, message=why),
                )
            )

    def _report_backend(self, name: str, why: str) -> None:
        before = self._statuses.get(name)
        status = BackendStatus(
            name=name,
            vendor=before.vendor if before else "",
            state=BackendState.FAILED,
            source=before.source if before else "",
            versions=before.versions if before else {},
            reason=CRASHED,
            message=why,
            remedy="look for a fault of the driver's library; other backends are not affected",
        )
        self._statuses[name] = status
        self._sink(BackendChanged(status=status))
