"""What is read of a job that is moved, cancelled, followed or restored."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.kit.effects import Reading
from accelwatch.action.observed import HoldState
from accelwatch_kubernetes.drain.job_view import (
    BAD_NODES,
    CLAIMS,
    EVICTED,
    EVICTED_POD,
    LINEAGE,
    PODS,
    VERDICTS,
)
from accelwatch_kubernetes.drain.leaving import leaving
from accelwatch_kubernetes.drain.verdicts import encoded
from accelwatch_kubernetes.marks.hold_state import hold_state_of
from accelwatch_kubernetes.objects.node import Node, node_of
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.observed_context import NODE, OFF
from accelwatch_kubernetes.readings.devices import claims_of_device
from accelwatch_kubernetes.readings.evictions import verdicts
from accelwatch_kubernetes.readings.pods import lineage_of_job, pods_of_job, pods_text
from accelwatch_kubernetes.rows import Access
from accelwatch_kubernetes.workloads.checkpoints import with_checkpoints
from accelwatch_kubernetes.workloads.consequences import consequences
from accelwatch_kubernetes.workloads.kinds.outcome import Cause, Departure
from accelwatch_kubernetes.workloads.lineage import lineage_of
from accelwatch_kubernetes.workloads.observed_job import observed_job

# Where the job may start again from one.
_WITH_CHECKPOINTS = (IntentKind.MOVE_JOB, IntentKind.FOLLOW_JOB)


async def read_job(access: Access, intent: Intent, _: Mapping[str, str]) -> Reading:
    """The job and its pods. Raises ActionUnavailableError."""
    reading, _pods = await _job(access, intent)
    return reading


async def _job(access: Access, intent: Intent) -> tuple[Reading, list[Pod]]:
    if intent.job is None:
        return Reading(), []
    pods = await pods_of_job(access, intent.job)
    # Those that have to leave first: what becomes of them decides. One that is terminating may be of an
    # earlier job of the same name.
    first = sorted(
        pods, key=lambda pod: (pod.is_over, pod.is_terminating, pod.node not in intent.avoided)
    )
    lineage = await lineage_of_job(access, intent.job, first)
    job = observed_job(intent.job, lineage_of(lineage), pods)
    if intent.kind in _WITH_CHECKPOINTS:
        searched = await access.checkpoints.search(intent.job)
        job = with_checkpoints(job, searched, access.options.checkpoints)
    return Reading(own={PODS: pods_text(pods), LINEAGE: lineage}, job=job), pods


async def read_move(access: Access, intent: Intent, own: Mapping[str, str]) -> Reading:
    """The job, the bad nodes that it is on, and what the server says to its next eviction."""
    reading, pods = await _job(access, intent)
    live = [pod for pod in pods if not pod.is_over and pod.node in intent.avoided]
    nodes = await _nodes(access, intent, own, live)
    silent = [node for node in nodes if node.ready is False]
    off = await _without_power(access, silent)
    evicted = [
        key.removeprefix(EVICTED_POD) for key in intent.original if key.startswith(EVICTED_POD)
    ]
    by_namespace = await claims_of_device(access, intent.node, intent.device, live)
    # All pods of a job are in one namespace.
    claims = next(iter(by_namespace.values()), {})
    texts = {
        CLAIMS: msgspec.json.encode(claims).decode(),
        BAD_NODES: msgspec.json.encode(nodes).decode(),
        OFF: ",".join(sorted(off)),
        EVICTED: ",".join(sorted(evicted)),
    }
    if set(off) >= {node.name for node in silent} or intent.fenced_by_job:
        candidates = _candidates(access, intent, reading, pods, live=live, claims=claims)
        texts[VERDICTS] = encoded(await verdicts(access, candidates, all_of_them=False))
    return Reading(
        own={**reading.own, **texts},
        job=reading.job,
        proven_dead=bool(silent) and set(off) >= {node.name for node in silent},
    )


def _candidates(
    access: Access,
    intent: Intent,
    reading: Reading,
    pods: Sequence[Pod],
    *,
    live: Sequence[Pod],
    claims: Mapping[str, frozenset[str]],
) -> list[Pod]:
    """The pods whose evictions could be next: none where an eviction is not the way."""
    candidates = [
        pod
        for pod in live
        if not pod.is_terminating
        and leaving(pod, access.options, intent.device, claims).stay is None
    ]
    if not candidates:
        return []
    departure = Departure(cause=Cause.EVICTION, pods=tuple(candidates))
    effect = consequences(lineage_of(reading.own[LINEAGE]), departure, pods)
    return [] if effect.refusal or effect.prefers_restart else candidates


async def _nodes(
    access: Access, intent: Intent, own: Mapping[str, str], live: Sequence[Pod]
) -> list[Node]:
    """The nodes that the job is on and may not be."""
    names = sorted({pod.node for pod in live} - {intent.node})
    shown = await asyncio.gather(*map(access.nodes.node, names))
    return [node for node in (node_of(own.get(NODE, "")), *shown) if node is not None]


async def _without_power(access: Access, silent: Sequence[Node]) -> list[str]:
    """Those of some nodes that the site's command says to be off; only of those that we hold."""
    ours = [node.name for node in silent if hold_state_of(node, access.options) is HoldState.OURS]
    off = await asyncio.gather(*map(access.power.is_off, ours))
    return [name for name, is_off in zip(ours, off, strict=True) if is_off]
