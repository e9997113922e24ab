"""How controllers delete pods: with the reason in the condition DisruptionTarget."""

from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import PODS
from accelwatch_lab.cluster.kubernetes.api_server.objects.store import name_of
from accelwatch_lab.cluster.kubernetes.api_server.verbs import deleting

Object = dict[str, Any]


def delete_pod(
    cluster: Cluster, pod: Object, why: Object | None, grace_s: int | None = None
) -> None:
    """Begin a pod's deletion; `why` has reason and message of the condition, None writes none."""
    entry = cluster.store.get(PODS, *name_of(pod))
    if entry is None or entry.object["metadata"]["uid"] != pod["metadata"]["uid"]:
        return
    if why is not None:
        entry = cluster.evictor.disrupt(entry, why)
    deleting.delete(cluster.store, cluster.clock, PODS, entry, grace_s)
