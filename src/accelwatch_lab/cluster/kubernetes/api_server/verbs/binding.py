"""The binding of a pod to a node, as a scheduler requests it."""

from typing import Any

import msgspec

from accelwatch_lab.cluster.kubernetes.api_server import status
from accelwatch_lab.cluster.kubernetes.api_server.call import Call
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import PODS
from accelwatch_lab.cluster.kubernetes.api_server.objects.store import Entry, Store
from accelwatch_lab.cluster.kubernetes.api_server.objects.times import Clock

Object = dict[str, Any]


class _Target(msgspec.Struct):
    name: str


def bind(store: Store, clock: Clock, call: Call, entry: Entry) -> Object:
    """Bind a pod to a node, as its scheduler requests. Raises RequestError."""
    pod = entry.object
    target = msgspec.convert(call.object().get("target"), _Target).name
    if pod["spec"].get("nodeName"):
        message = f'pod {call.name} is already assigned to node "{pod["spec"]["nodeName"]}"'
        conflict = f'Operation cannot be fulfilled on pods/binding "{call.name}": {message}'
        raise status.RequestError(409, "Conflict", conflict, name=call.name, kind="pods/binding")
    store.put(PODS, scheduled(pod, target, clock.text()))
    return status.success(code=201)


def scheduled(pod: Object, node: str, now: str) -> Object:
    """The pod on a node."""
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    conditions = [
        *(
            each
            for each in pod.get("status", {}).get("conditions", ())
            if each["type"] != "PodScheduled"
        ),
        condition | {"lastTransitionTime": now},
    ]
    return {
        **pod,
        "spec": {**pod["spec"], "nodeName": node},
        "status": {**pod.get("status", {}), "conditions": conditions},
    }
