"""Writes Events of node objects; a notice that is sent again is counted once."""

from collections.abc import Mapping

from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import ApiError, decoded
from accelwatch.base.clock import Clock
from accelwatch_kubernetes_status.node_events import (
    NAMESPACE,
    ExistingEvent,
    NodeReference,
    counted_again,
    event_name,
    is_counted,
    new_event,
)
from accelwatch_kubernetes_status.nodes import Node

_EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
_NOT_FOUND = 404
_CONFLICT = 409
# An Event is changed by its own writer, and goes when it has expired (1 h): two in a row are rare.
_TRIES = 4


class EventWriter:
    """Events of node objects; the name of one says of which incident it is."""

    def __init__(self, client: KubernetesClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        # By node and incident: the sequence that was written last, for as long as it is open.
        self._written: dict[tuple[str, str], int] = {}

    def is_due(self, name: str, notice: Notice) -> bool:
        """Whether a notice is one that an Event counts, and was not counted by us yet."""
        return is_counted(notice) and self._written.get((name, notice.key), 0) < notice.sequence

    async def write(self, name: str, node: Node, notice: Notice) -> None:
        """Have an Event say it, or one more of its count. Raises KubernetesError."""
        reference = NodeReference(node.metadata.name, node.metadata.uid)
        for tries_left in reversed(range(_TRIES)):
            try:
                await self._write(reference, notice)
                break
            except ApiError as error:
                # It has expired, or another client has written it, between two requests.
                if error.status not in (_CONFLICT, _NOT_FOUND) or not tries_left:
                    raise
        if notice.closed is None:
            self._written[name, notice.key] = notice.sequence
        else:
            self._written.pop((name, notice.key), None)

    async def try_write(self, node: Node) -> None:
        """Ask whether an Event may be written, and write none. Raises KubernetesError."""
        reference = NodeReference(node.metadata.name, node.metadata.uid)
        await self._client.create(_EVENTS, _trial(reference, self._clock.wall()), dry_run=True)

    async def _write(self, node: NodeReference, notice: Notice) -> None:
        now = self._clock.wall()
        path = f"{_EVENTS}/{event_name(notice, node)}"
        try:
            await self._client.create(_EVENTS, new_event(notice, node, now))
        except ApiError as error:
            if error.status != _CONFLICT:
                raise
        else:
            return
        existing = decoded(await self._client.get(path), ExistingEvent)
        patch = counted_again(notice, existing, now)
        if patch is not None:
            await self._client.patch(path, patch)


def _trial(node: NodeReference, now: float) -> Mapping[str, object]:
    trial = Notice(
        key="test",
        sequence=1,
        kind=NoticeKind.TEST,
        severity=Severity.INFO,
        title="this is a test of alerts",
        where=node.name,
        since=now,
        time=now,
        rule="accelwatch.alerts.test",
    )
    return new_event(trial, node, now)
