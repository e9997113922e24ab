"""Observations of a job that is to leave its nodes, and of a node that is to be fenced."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import Observed
from accelwatch_kubernetes.drain.job_view import (
    BAD_NODES,
    EVICTED,
    LINEAGE,
    PODS,
    VERDICTS,
)
from accelwatch_kubernetes.drain.verdicts import EvictionVerdict, Verdict, encoded
from accelwatch_kubernetes.marks.hold import HOLD, Hold
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.observed_context import NODE, OFF, ObservedContext, observed_context_of
from accelwatch_kubernetes.settings.options import KubernetesOptions
from accelwatch_kubernetes.workloads.lineage import lineage_of, lineage_text
from accelwatch_kubernetes.workloads.observed_job import observed_job
from support.kubernetes.nodes import NOW, OPTIONS, Object, node
from support.kubernetes.pods import listed, pod_of
from support.kubernetes.workloads import CREATED_S

KEY = JobKey("cluster", "ml/Job/trainer", CREATED_S)
OURS = "accelwatch.io/quarantine"


def held_node(
    name: str = "n1",
    *,
    ready: str = "True",
    since: float = NOW - 10.0,
    out_of_service: str = "",
    incident: str = "inc-1",
    boot: str = "",
    volumes: Sequence[str] = (),
    **more: Any,
) -> Object:
    """A node that we hold for an incident."""
    hold = Hold(
        incident=incident,
        token=3,
        by="accelwatch",
        since=since,
        uid=f"uid-of-{name}",
        taint=OURS,
        out_of_service=out_of_service or msgspec.UNSET,
    )
    taints = [{"key": OURS, "effect": "NoSchedule"}]
    if out_of_service:
        taints.append({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"})
    document = node(name, taints=taints, ready=ready, annotations={HOLD: hold.text()}, **more)
    if boot:
        document["status"]["nodeInfo"]["bootID"] = boot
    document["status"]["volumesAttached"] = [{"name": name, "devicePath": ""} for name in volumes]
    return document


def job_context(
    pods: Sequence[Object],
    chain: Sequence[Object],
    *,
    nodes: Sequence[Object] = (),
    verdicts: Mapping[str, tuple[EvictionVerdict, str]] = {},
    off: Sequence[str] = (),
    evicted: Sequence[str] = (),
    key: JobKey = KEY,
    options: KubernetesOptions = OPTIONS,
    proven_dead: bool = False,
    queued: Object | None = None,
) -> ObservedContext:
    """What is seen of a job with these pods; `verdicts` by the names of pods, all others are allowed."""
    nodes = nodes or [held_node()]
    lineage = lineage_text(
        [json.dumps(entry).encode() for entry in chain],
        b"" if queued is None else json.dumps(queued).encode(),
    )
    answers = []
    for document in pods:
        name, uid = document["metadata"]["name"], document["metadata"]["uid"]
        answer, text = verdicts.get(name, (EvictionVerdict.ALLOWED, ""))
        answers.append(Verdict(uid=uid, answer=answer, text=text))
    own = {
        NODE: json.dumps(nodes[0]),
        PODS: listed(*pods),
        LINEAGE: lineage if chain else "",
        BAD_NODES: msgspec.json.encode(msgspec.convert(list(nodes), list[Node])).decode(),
        OFF: ",".join(off),
        EVICTED: ",".join(evicted),
        VERDICTS: encoded(answers),
    }
    job = observed_job(key, lineage_of(own[LINEAGE]), [pod_of(document) for document in pods])
    observed = Observed(time=NOW, job=job, own=own, proven_dead=proven_dead)
    return observed_context_of(observed, options)


def fence_context(
    shown: Object | None,
    pods: Sequence[Object] = (),
    *,
    off: bool = False,
    answers_for: float = 0.0,
    options: KubernetesOptions = OPTIONS,
) -> ObservedContext:
    """What is seen of a node that is to be fenced."""
    own = {
        NODE: "" if shown is None else json.dumps(shown),
        PODS: listed(*pods),
        OFF: "n1" if off else "",
        "answers_for": str(answers_for),
    }
    return observed_context_of(Observed(time=NOW, own=own, proven_dead=off), options)
