"""How things stand for an intent: its node, and what its kind needs besides."""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from accelwatch.action.intent import Intent, IntentKind, JobKey
from accelwatch.action.observed import HoldState, NodeObservation, Observed
from accelwatch_kubernetes.cache.cluster_cache import ClusterCache
from accelwatch_kubernetes.devices.claims import ResourceClaim
from accelwatch_kubernetes.devices.observed import with_quarantined_devices
from accelwatch_kubernetes.devices.own_keys import RULES
from accelwatch_kubernetes.devices.taint_rule import TaintRule, rules_of, rules_on
from accelwatch_kubernetes.marks.hold_state import observed_node
from accelwatch_kubernetes.objects.node import Node, node_of
from accelwatch_kubernetes.observed_context import NODE, SLURM
from accelwatch_kubernetes.readings.devices import device_jobs, read_claims, rules_by_node
from accelwatch_kubernetes.readings.node_jobs import JobsOfNodes
from accelwatch_kubernetes.readings.pods import pods_of_node
from accelwatch_kubernetes.rows import Access, Read
from accelwatch_kubernetes.workloads.kinds.slurm_pods import slurm_text
from accelwatch_kubernetes.workloads.owner_index import NodeJobs

_NO_JOBS = NodeJobs()


class Observer:
    """The read side; for one event loop."""

    def __init__(
        self, access: Access, cache: ClusterCache, readings: Mapping[IntentKind, Read]
    ) -> None:
        self._access = access
        self._cache = cache
        self._jobs = JobsOfNodes(access, cache)
        self._readings = readings

    async def observe_all(self) -> Sequence[NodeObservation]:
        """All nodes, as they are followed. Raises ActionUnavailableError."""
        rules = await rules_by_node(self._access)
        nodes = await self._cache.nodes()
        jobs = await self._jobs.by_node()
        claims = await read_claims(self._access) if rules else ()
        return [
            await self._with_devices(
                _with_jobs(node, jobs.get(node.name, _NO_JOBS)), rules.get(node.name, ()), claims
            )
            for node in nodes
        ]

    async def _with_devices(
        self, node: NodeObservation, rules: Sequence[TaintRule], claims: Sequence[ResourceClaim]
    ) -> NodeObservation:
        """For a poll of all nodes: by the pods that are followed, without a request per node."""
        if not rules:
            return node
        pods = partial(self._cache.pods_on, node.name)
        jobs = await device_jobs(self._access, rules, claims, pods, as_far_as_answered=True)
        return with_quarantined_devices(node, rules, jobs)

    async def _with_devices_now(
        self, node: NodeObservation, rules: Sequence[TaintRule]
    ) -> NodeObservation:
        if not rules:
            return node
        claims = await read_claims(self._access)
        pods = partial(pods_of_node, self._access, node.name)
        jobs = await device_jobs(self._access, rules, claims, pods, as_far_as_answered=False)
        return with_quarantined_devices(node, rules, jobs)

    async def observe(self, intent: Intent) -> Observed:
        """How things stand for an intent, read now. Raises ActionUnavailableError."""
        text = await self._access.nodes.text(intent.node)
        own = {NODE: text}
        if intent.kind is IntentKind.QUARANTINE:
            # What is followed will do: it is for people, and a thousand nodes are tainted at once.
            own[SLURM] = slurm_text(self._cache.latest_pods_on(intent.node))
        read = self._readings.get(intent.kind)
        node = self._observed_node(intent, node_of(text))
        if read is None:
            return Observed(time=self._access.clock.wall(), node=node, own=own)
        reading = await read(self._access, intent, own)
        rules = rules_on(
            rules_of(reading.own.get(RULES, "")), intent.node, self._access.options.hub
        )
        return Observed(
            time=self._access.clock.wall(),
            node=await self._with_devices_now(node, rules),
            job=reading.job,
            proven_dead=reading.proven_dead,
            own={**own, **reading.own},
        )

    def _observed_node(
        self, intent: Intent, node: Node | None, jobs: Sequence[JobKey] = ()
    ) -> NodeObservation:
        if node is None:
            return NodeObservation(name=intent.node, hold_state=HoldState.MISSING)
        return observed_node(node, self._access.options, jobs)


def _with_jobs(node: NodeObservation, jobs: NodeJobs) -> NodeObservation:
    if jobs is _NO_JOBS:
        return node
    return msgspec.structs.replace(
        node, jobs=jobs.jobs, restartable=jobs.restartable, owners=jobs.owners
    )
