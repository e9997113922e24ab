"""What one server knows and how it behaves: objects, users, faults, its log."""

from pathlib import Path

from accelwatch_lab.cluster.kubernetes.api_server.access import Access
from accelwatch_lab.cluster.kubernetes.api_server.faults import Fault
from accelwatch_lab.cluster.kubernetes.api_server.objects.defaults import with_defaults
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import NAMESPACES, Registry
from accelwatch_lab.cluster.kubernetes.api_server.objects.store import Store
from accelwatch_lab.cluster.kubernetes.api_server.objects.times import Clock
from accelwatch_lab.cluster.kubernetes.api_server.request_log import LoggedRequest
from accelwatch_lab.cluster.kubernetes.api_server.verbs.eviction import Evictor
from accelwatch_lab.cluster.kubernetes.api_server.verbs.reading import Reader
from accelwatch_lab.cluster.kubernetes.api_server.verbs.watching import Watcher
from accelwatch_lab.cluster.kubernetes.api_server.verbs.writing import Writer
from accelwatch_lab.cluster.served_api.fault_rules import FaultRules
from accelwatch_lab.cluster.served_api.request_log import RequestLog

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
# The real server sends one about each minute.
_BOOKMARK_S = 60.0
# kube-controller-manager's --node-monitor-grace-period.
NODE_GRACE_S = 50.0


class Cluster:
    """Of one server; nobody is known to it at first."""

    def __init__(self, log_file: Path | None = None, node_grace_s: float = NODE_GRACE_S) -> None:
        """`node_grace_s`: how long a Ready node may be silent."""
        self.node_grace_s = node_grace_s
        self.clock = Clock()
        self.registry = Registry()
        self.store = Store()
        self.log = RequestLog[LoggedRequest](log_file)
        self.faults = FaultRules[Fault]()
        self.access = Access(self.store, self.clock)
        self.reader = Reader(self.store)
        self.watcher = Watcher(self.store, self.reader, _BOOKMARK_S)
        self.writer = Writer(self.store, self.reader, self.clock, self.registry)
        self.evictor = Evictor(self.store, self.reader, self.clock)
        for name in _NAMESPACES:
            self._add_namespace(name)

    def compact(self) -> None:
        """Forget what has been: watches and lists in pages that go on are answered 410."""
        self.store.compact()
        self.reader.forget_lists()

    def _add_namespace(self, name: str) -> None:
        now = self.clock.text()
        metadata = {"name": name, "uid": f"namespace-{name}", "creationTimestamp": now}
        created = {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}
        self.store.put(NAMESPACES, with_defaults(NAMESPACES, created, now))
