"""Writes the condition of nodes; what is so already is not written again."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import ApiError, decoded
from accelwatch.base.clock import Clock
from accelwatch_kubernetes_status.condition import (
    CONDITION_TYPE,
    ConditionStatus,
    NodeCondition,
    condition_of,
)
from accelwatch_kubernetes_status.incidents import (
    ANNOTATION,
    OpenIncident,
    open_incident,
    read_incidents,
    with_incident,
    written_incidents,
)
from accelwatch_kubernetes_status.nodes import Node, path_of

_CONFLICT = 409
# A kubelet writes its status each 10 s at most, so a second one in a row is rare.
_TRIES = 4
# An incident that is sent again sooner writes nothing: of several on a node one keeps the heartbeat.
_HEARTBEAT_S = 240.0
_HEALTHY = ConditionStatus.TRUE.value


class StatusWriter:
    """The condition, and the annotation that it follows, in one patch of the node's status."""

    def __init__(
        self,
        client: KubernetesClient,
        clock: Clock,
        least: Severity,
        ignored_families: Iterable[str],
    ) -> None:
        self._client = client
        self._clock = clock
        self._least = least
        self._ignored = tuple(ignored_families)
        # By our name of the node: what it said when it was written last, and when (monotonic).
        self._written: dict[str, tuple[Mapping[str, OpenIncident], float]] = {}

    def is_due(self, name: str, notice: Notice) -> bool:
        """Whether a notice may change something of a node, or its heartbeat is due."""
        previous = self._written.get(name)
        desired = open_incident(notice, self._least, self._ignored)
        if previous is None:
            # An earlier process may have written it, and by other options.
            return True
        incidents, at = previous
        if not incidents:
            # Nor is it known who wrote what since: an end is read anew.
            return desired is not None or notice.closed is not None
        if incidents.get(notice.key) != desired:
            return True
        return desired is not None and self._clock.monotonic() - at >= _HEARTBEAT_S

    async def write(self, name: str, node: Node, notice: Notice) -> None:
        """Have the node say what a notice says. Raises KubernetesError."""
        desired = open_incident(notice, self._least, self._ignored)
        incidents = await self._apply(
            node, lambda before: with_incident(before, notice.key, desired)
        )
        self._written[name] = (incidents, self._clock.monotonic())

    async def try_write(self, node: Node) -> None:
        """Ask whether the condition may be written, and write nothing. Raises KubernetesError."""
        await self._apply(node, lambda before: before, dry_run=True)

    def forget(self, name: str) -> None:
        """The cluster has no such node any more."""
        self._written.pop(name, None)

    async def _apply(
        self,
        node: Node,
        change: Callable[[Mapping[str, OpenIncident]], Mapping[str, OpenIncident]],
        *,
        dry_run: bool = False,
    ) -> Mapping[str, OpenIncident]:
        """Change a node's open incidents, and its condition with them; they, as they are then.

        Read and changed again where a kubelet has written the node in between. Raises KubernetesError.
        """
        for tries_left in reversed(range(_TRIES)):
            before = read_incidents(node.metadata.annotations.get(ANNOTATION, ""))
            incidents = change(before)
            existing = existing_condition(node)
            # A node that never had an open incident has no condition of ours.
            is_needless = not incidents and not before and not dry_run
            if is_needless and (existing is None or existing.status == _HEALTHY):
                break
            condition = condition_of(incidents, existing, self._clock.wall())
            try:
                await self._patch(node, condition, incidents, dry_run=dry_run)
                break
            except ApiError as error:
                if error.status != _CONFLICT or not tries_left:
                    raise
            body = await self._client.get(path_of(node.metadata.name))
            node = decoded(body, Node)
        return incidents

    async def _patch(
        self,
        node: Node,
        condition: NodeCondition,
        incidents: Mapping[str, OpenIncident],
        *,
        dry_run: bool = False,
    ) -> None:
        # A merge patch has the whole list: the version keeps what others wrote in between.
        body = {
            "metadata": {
                "resourceVersion": node.metadata.resource_version,
                "uid": node.metadata.uid,
                "annotations": {ANNOTATION: written_incidents(incidents)},
            },
            "status": {"conditions": with_condition(node, condition)},
        }
        await self._client.patch(
            path_of(node.metadata.name), body, subresource="status", dry_run=dry_run
        )


def existing_condition(node: Node) -> NodeCondition | None:
    """Our condition of a node; None where it has none yet."""
    for condition in node.status.conditions:
        if condition.get("type") == CONDITION_TYPE:
            return msgspec.convert(condition, NodeCondition)
    return None


def with_condition(node: Node, ours: NodeCondition) -> list[Mapping[str, object]]:
    """All conditions of a node, those of others exactly as they were read, in their order."""
    written: Mapping[str, object] = msgspec.to_builtins(ours)
    conditions = list(node.status.conditions)
    for at, condition in enumerate(conditions):
        if condition.get("type") == CONDITION_TYPE:
            conditions[at] = written
            return conditions
    return [*conditions, written]
