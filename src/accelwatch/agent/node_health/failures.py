"""Why this node should join no job now, by what its agent knows.

Only what the device, its driver or a rule calls critical counts. An agent that cannot read its devices,
or finds none, says nothing against the node: a bad roll-out of agents must not end every job.
"""

from collections.abc import Iterable, Iterator

from accelwatch.agent.rules.counts import unread_devices
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Scope, Severity
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import Snapshot, physical_devices
from accelwatch.schema.status.verdict import verdict

# A rule about a job or a rack accuses no node.
_OF_THIS_NODE = frozenset({Scope.DEVICE, Scope.NODE})


def failures(snapshot: Snapshot, incidents: Iterable[Incident]) -> tuple[str, ...]:
    """A sentence for each device that failed, and for each open incident that is critical."""
    return (*_of_devices(snapshot), *_of_incidents(incidents))


def _of_devices(snapshot: Snapshot) -> Iterator[str]:
    unread = {view.device.id for view in unread_devices(snapshot)}
    for view in physical_devices(snapshot.devices):
        # Of devices whose collector has failed the health is unknown, and their jobs run on.
        if view.health is Health.FAILED and view.device.id not in unread:
            outcome = verdict(view, snapshot)
            yield f"{view.device.name}: {outcome.summary or '; '.join(view.health_reasons) or 'failed'}"


def _of_incidents(incidents: Iterable[Incident]) -> Iterator[str]:
    for incident in incidents:
        if (
            incident.severity is Severity.CRITICAL
            and incident.trusted
            and incident.entity.scope in _OF_THIS_NODE
        ):
            where = incident.facts.device_name or incident.entity.node
            yield f"{where}: {incident.title} ({incident.rule})"
