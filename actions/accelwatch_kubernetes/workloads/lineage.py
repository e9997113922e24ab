"""A job with all that its pods belong to, as JSON in an observation's `own` and read again. Pure."""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch_kubernetes.objects.metadata import OwnerReference
from accelwatch_kubernetes.objects.workload import Workload
from accelwatch_kubernetes.workloads.kinds.kind import Kind
from accelwatch_kubernetes.workloads.kinds.table import kind_of_workload

# Label of a job that waits in one of Kueue's queues, or of bare pods that do.
QUEUE = "kueue.x-k8s.io/queue-name"
# Of a workload, or of what owns it: its user wants it started again when it dies of itself.
RETRY = "accelwatch.io/retry"
# Of a workload, or of what owns it: who submitted it; its namespace where it is not there.
USER = "accelwatch.io/user"


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """What a job's pods belong to."""

    # From the nearest owner of a pod to the topmost; a pod that nobody owns is its own.
    chain: tuple[Workload, ...] = ()
    # Kueue's Workload of the job; None where no queue has it, or it could not be read.
    queued: Workload | None = None

    @property
    def job(self) -> Workload | None:
        """The topmost job of a kind that has a row, else the topmost; None for one that is gone.

        What only makes jobs, as a CronJob does, is none.
        """
        jobs = [workload for workload in self.chain if kind_of_workload(workload).is_job]
        in_table = [workload for workload in jobs if kind_of_workload(workload).has_row]
        candidates = in_table or jobs
        return candidates[-1] if candidates else None

    @property
    def kind(self) -> Kind | None:
        """The row of the job's kind."""
        return None if self.job is None else kind_of_workload(self.job)

    @property
    def queue(self) -> str:
        """Name of Kueue's queue; empty where it is in none."""
        names = (workload.metadata.labels.get(QUEUE, "") for workload in reversed(self.chain))
        return next(filter(None, names), "")

    @property
    def has_topology(self) -> bool:
        """Whether Kueue has assigned its pods to nodes (topology-aware scheduling)."""
        if self.queued is None:
            return False
        assignments = self.queued.items("status.admission.podSetAssignments")
        return any(entry.get("topologyAssignment") for entry in assignments)

    @property
    def user(self) -> str:
        """Who submitted it: by its annotation, else its namespace."""
        return annotated(self.chain, USER) or (self.job.metadata.namespace if self.job else "")

    @property
    def is_retried(self) -> bool:
        """Whether its user wants it started again when it dies of itself."""
        return annotated(self.chain, RETRY) == "true"

    def key(self, cluster: str) -> JobKey | None:
        """By which the job is known; None for one that is gone."""
        return None if self.job is None else key_of(cluster, self.job)


def annotated(chain: Sequence[Workload], name: str) -> str:
    """An annotation of the topmost that has it; empty where none has."""
    values = (workload.metadata.annotations.get(name, "") for workload in reversed(chain))
    return next(filter(None, values), "")


def key_of(cluster: str, workload: Workload) -> JobKey:
    """The key of an object that is a job: `namespace/kind/name`, and when it was made."""
    name = kind_of_workload(workload).name
    metadata = workload.metadata
    return JobKey(cluster, f"{metadata.namespace}/{name}/{metadata.name}", metadata.created)


class JobName(msgspec.Struct, frozen=True):
    """What the id of a job consists of."""

    namespace: str
    kind: str
    name: str


def name_of(key: JobKey) -> JobName | None:
    """The object of a key; None for a key of another scheduler."""
    components = key.id.split("/")
    return JobName(*components) if len(components) == 3 and all(components) else None


_DECODER = msgspec.json.Decoder(Lineage)


# An observation is parsed several times: to propose, to decide and to report.
@lru_cache(maxsize=256)
def lineage_of(text: str) -> Lineage:
    """What `lineage_text` wrote; an empty text is a job that is gone. Raises ValueError."""
    return _DECODER.decode(text) if text else Lineage()


def stub_of(reference: OwnerReference, namespace: str) -> bytes:
    """An owner of which only the reference is known: of a kind without a row, or not to be read."""
    document = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "metadata": {"name": reference.name, "namespace": namespace, "uid": reference.uid},
    }
    return msgspec.json.encode(document)


def lineage_text(chain: Sequence[bytes], queued: bytes = b"") -> str:
    """The objects of a job, as the API server sent them, as one JSON text."""
    document = {"chain": [msgspec.Raw(entry) for entry in chain]}
    if queued:
        return msgspec.json.encode(document | {"queued": msgspec.Raw(queued)}).decode()
    return msgspec.json.encode(document).decode()
