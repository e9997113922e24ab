"""Kubernetes: the condition `AcceleratorHealthy` and Events of node objects, for other tools to read.

Who acts on them is a second actor beside the remediation engine, so nothing is written that is not
named in the options. It quarantines and releases no node.
"""

import asyncio
import os
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, SinkContext, Status
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import KubernetesError
from accelwatch.api_client.kubernetes.server import ServerOptions, server_of
from accelwatch.base.errors import ConfigError
from accelwatch.plugins.options import checked
from accelwatch_kubernetes_status.event_writing import EventWriter
from accelwatch_kubernetes_status.nodes import NodeFinder
from accelwatch_kubernetes_status.outcomes import outcome_of_error
from accelwatch_kubernetes_status.status_writing import StatusWriter

# What is open is sent again so often: the heartbeat of the condition, as node-problem-detector has it
# (5 min), and what mends it where a node object was deleted and created anew.
REPEAT_S = 300.0
# Nodes written at the same time, for an incident of many.
_AT_ONCE = 8
# What is wrong there is not wrong with an accelerator.
_OTHER_FAMILIES = (
    *("fabric.adapter", "fabric.module", "fabric.port", "host", "jobs", "storage", "usage"),
    *("kernel.files", "kernel.hang", "kernel.memory", "kernel.netdevice", "kernel.oom"),
)


class KubernetesStatusOptions(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """Options of the sink."""

    # What is written; there is no default.
    write: Annotated[tuple[Literal["condition", "events"], ...], Meta(min_length=1, max_length=2)]
    # Where the API server is; left out within the cluster.
    server: ServerOptions = ServerOptions()
    # From which severity on an incident makes the condition False.
    min_severity: Severity = Severity.CRITICAL
    # Families of incidents, with all below them, that say nothing of accelerators.
    ignore_families: tuple[str, ...] = _OTHER_FAMILIES
    # The cluster's name of a node by ours, where these differ and no label of the node says it.
    nodes: dict[str, str] = {}


class KubernetesStatusSink:
    """Writes what a notice says to each of its nodes that the cluster has."""

    edits = True
    pace_s = 0.0
    repeat_s = REPEAT_S

    def __init__(self, context: SinkContext) -> None:
        """Raises ConfigError."""
        options = checked(context.options, KubernetesStatusOptions)
        try:
            server = server_of(options.server, os.environ)
        except ConfigError as error:
            raise ConfigError(f"server: {error}") from error
        self._timeout_s = context.timeout_s
        self._client = KubernetesClient(server, timeout_s=context.timeout_s, clock=context.clock)
        self._finder = NodeFinder(self._client, options.nodes)
        self._status = StatusWriter(
            self._client, context.clock, options.min_severity, options.ignore_families
        )
        self._events = EventWriter(self._client, context.clock)
        self._writes = frozenset(options.write)

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        """Write a notice; one that is sent again changes nothing that is so already."""
        if notice.kind is NoticeKind.TEST:
            return await self._tried()
        names = notice.nodes or tuple(filter(None, (notice.labels.get("node", ""),)))
        if not names:
            return Outcome(status=Status.NO_RECIPIENT, message="it is about no node")
        turns = asyncio.Semaphore(_AT_ONCE)
        written: list[bool] = []

        async def write(name: str) -> None:
            async with turns:
                written.append(await self._write(name, notice))

        try:
            async with asyncio.timeout(self._timeout_s):
                errors = await asyncio.gather(
                    *(write(name) for name in names), return_exceptions=True
                )
        except TimeoutError:
            # What is written is not written again: the next try goes on from here.
            return Outcome(
                status=Status.RETRY,
                message=f"{len(written)} of {len(names)} nodes within {self._timeout_s:g} s",
            )
        for error in filter(None, errors):
            if not isinstance(error, KubernetesError):
                raise error
            return outcome_of_error(error)
        if not any(written):
            text = f"the cluster has no node {names[0]}"
            return Outcome(status=Status.NO_RECIPIENT, message=text)
        return Outcome(status=Status.DELIVERED, reference=reference or notice.key)

    async def _write(self, name: str, notice: Notice) -> bool:
        """Whether the cluster has the node. Raises KubernetesError."""
        status_is_due = "condition" in self._writes and self._status.is_due(name, notice)
        event_is_due = "events" in self._writes and self._events.is_due(name, notice)
        if not (status_is_due or event_is_due):
            return True
        node = await self._finder.node(name)
        if node is None:
            self._status.forget(name)
            return False
        if status_is_due:
            await self._status.write(name, node, notice)
        if event_is_due:
            await self._events.write(name, node, notice)
        return True

    async def _tried(self) -> Outcome:
        """Whether all that would be written may be, without writing anything."""
        try:
            node = await self._finder.any_node()
            if node is None:
                return Outcome(status=Status.REFUSED, message="the cluster has no nodes")
            if "condition" in self._writes:
                await self._status.try_write(node)
            if "events" in self._writes:
                await self._events.try_write(node)
        except KubernetesError as error:
            return outcome_of_error(error)
        return Outcome(status=Status.DELIVERED)

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.close()
