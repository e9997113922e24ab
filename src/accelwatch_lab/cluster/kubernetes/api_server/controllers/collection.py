"""The garbage collector: what belonged to objects that are gone goes too."""

from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.verbs import deleting


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
