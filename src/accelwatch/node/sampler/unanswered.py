"""The status of backends that did not answer: nobody knows whether their devices are there."""

from collections.abc import Container, Iterator

from accelwatch.base.absence import Absence
from accelwatch.node.sampler.protocol.load import absent, resolve
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.sampler.stack.opening import not_there
from accelwatch.node.store.reports import Failure
from accelwatch.schema.snapshot import BackendState, BackendStatus


def statuses(
    settings: CollectSettings, reported: Container[str], failure: Failure
) -> Iterator[BackendStatus]:
    """The status of each backend that was to be read and has not reported."""
    not_here = absent(settings)
    for name in resolve(settings):
        if name in reported:
            continue
        if name in not_here:
            yield not_there(name, not_here[name])
        else:
            yield _status(name, failure, settings)


def _status(name: str, failure: Failure, settings: CollectSettings) -> BackendStatus:
    late = failure.absence is Absence.TIMEOUT
    patience = "give it more time (--timeout)"
    if not settings.one_shot:
        patience = "it is waited for; look for a driver that hangs in the kernel log"
    return BackendStatus(
        name=name,
        vendor="",
        state=BackendState.UNAVAILABLE if late else BackendState.FAILED,
        reason=failure.code,
        message=f"nothing answered within {settings.timeout_s:g} s" if late else failure.message,
        remedy=patience if late else "",
    )
