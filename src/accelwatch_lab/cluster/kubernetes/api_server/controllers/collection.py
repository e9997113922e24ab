"""Garbage: what belonged to objects that are gone, and terminating pods of nodes out of service."""

from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.controllers.deletion import delete_pod
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import NODES, PODS
from accelwatch_lab.cluster.kubernetes.api_server.verbs import deleting
from accelwatch_lab.cluster.kubernetes.api_server.verbs.eviction import is_ready

Object = dict[str, Any]
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_WHY = {"reason": "DeletionByPodGC", "message": "PodGC: node out-of-service"}


class GarbageCollector:
    """Of one server."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._version = 0

    def round(self) -> None:
        """Begin the deletion of all whose owners are gone."""
        store = self._cluster.store
        if store.version == self._version:
            return
        self._version = store.version
        resources = self._cluster.registry.all()
        entries = [(resource, entry) for resource in resources for entry in store.entries(resource)]
        uids = {entry.object["metadata"]["uid"] for _, entry in entries}
        for resource, entry in entries:
            metadata = entry.object["metadata"]
            owners = metadata.get("ownerReferences") or ()
            orphaned = owners and not any(owner["uid"] in uids for owner in owners)
            if orphaned and "deletionTimestamp" not in metadata:
                deleting.delete(store, self._cluster.clock, resource, entry, None)


class PodCollector:
    """Removes pods of nodes out of service without their kubelet; the real one runs each 20 seconds."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def round(self) -> None:
        """Remove what nobody will end, where the node is not ready either."""
        store = self._cluster.store
        nodes = {
            node["metadata"]["name"]
            for node in store.objects(NODES)
            if not is_ready(node) and _is_out_of_service(node)
        }
        for pod in store.objects(PODS) if nodes else ():
            if pod["spec"].get("nodeName") in nodes and "deletionTimestamp" in pod["metadata"]:
                self._remove(pod)

    def _remove(self, pod: Object) -> None:
        if pod["status"].get("phase") not in ("Succeeded", "Failed"):
            pod = {**pod, "status": {**pod["status"], "phase": "Failed"}}
            self._cluster.store.put(PODS, pod)
        delete_pod(self._cluster, pod, _WHY, 0)


def _is_out_of_service(node: Object) -> bool:
    return any(taint["key"] == _OUT_OF_SERVICE for taint in node["spec"].get("taints") or ())
