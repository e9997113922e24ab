"""What the page of incidents says of the node itself."""

from accelwatch.agent.rules.counts import count_devices, unread_devices
from accelwatch.agent.rules.own_health import unhealthy_devices
from accelwatch.alerting.evaluation.documents import NodeNote
from accelwatch.schema.snapshot import Snapshot, unusable


def node_note(snapshot: Snapshot) -> NodeNote:
    """The node of a snapshot, how many devices it has, and which of them are unhealthy."""
    counts = count_devices(snapshot)
    unread = {view.device.backend for view in unread_devices(snapshot)}
    return NodeNote(
        host=snapshot.host,
        devices=counts.total,
        lost=counts.lost,
        silent=counts.silent,
        unhealthy=unhealthy_devices(snapshot),
        unread=counts.unread,
        unusable=tuple(
            status.complaint for status in unusable(snapshot.backends) if status.name in unread
        ),
    )
