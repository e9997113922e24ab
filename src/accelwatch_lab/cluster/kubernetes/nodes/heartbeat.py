"""How a kubelet says that its node lives: a Lease that it renews, and the condition Ready."""

import time

from accelwatch_lab.cluster.kubernetes.api import Api, ApiRefusalError, Object
from accelwatch_lab.cluster.kubernetes.nodes.events import now, now_micro

# Several in the grace that the lab's controllers give a node.
EVERY_S = 1.0
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
# Seconds; nobody judges by it but people.
_LEASE_S = 10


class Heartbeat:
    """Of one node."""

    def __init__(self, api: Api, node: str) -> None:
        self._api = api
        self._node = node
        self._next = 0.0

    def beat(self) -> None:
        """When it is time to. Raises ApiRefusalError, NoAnswerError."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_S
        self._renew()
        self._be_ready()

    def _renew(self) -> None:
        spec = {
            "holderIdentity": self._node,
            "leaseDurationSeconds": _LEASE_S,
            "renewTime": now_micro(),
        }
        try:
            self._api.merge(f"{_LEASES}/{self._node}", {"spec": spec})
        except ApiRefusalError as refusal:
            if refusal.status != 404:
                raise
            metadata = {"name": self._node, "namespace": "kube-node-lease"}
            self._api.create(_LEASES, {"metadata": metadata, "spec": spec})

    def _be_ready(self) -> None:
        """Conditions of others stay: the list is written whole, onto what was read."""
        path = f"/api/v1/nodes/{self._node}"
        node = self._api.find(path)
        if node is None or _is_ready(node):
            return
        others = [
            condition
            for condition in node["status"].get("conditions") or ()
            if condition["type"] != "Ready"
        ]
        at = now()
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
            "lastHeartbeatTime": at,
            "lastTransitionTime": at,
        }
        version = {"resourceVersion": node["metadata"]["resourceVersion"]}
        status = {"conditions": [*others, ready]}
        self._api.merge(f"{path}/status", {"metadata": version, "status": status})


def _is_ready(node: Object) -> bool:
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in node["status"].get("conditions") or ()
    )
