"""What is known of a kind of workload: one row of the table each."""

from collections.abc import Callable, Mapping

import msgspec

from accelwatch.action.observed import JobState
from accelwatch_kubernetes.objects.workload import Workload
from accelwatch_kubernetes.workloads.kinds.outcome import Evaluate, evaluate_unknown

# A number of an object. Pure.
Count = Callable[[Workload], int | None]


def _nothing(_workload: Workload) -> int | None:
    return None


def _no_limit(_workload: Workload) -> str:
    return ""


class Texts(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind does, for people; without full stops."""

    # On a NoSchedule taint of a node under it.
    taint: str
    eviction: str
    deletion: str
    no_execute: str
    # What counts as a failure, and when it is failed for good.
    failure: str
    # Whether and how we stop it and start it again.
    restart: str


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind. Paths are as in `Workload.value`."""

    # In the id of a job, `namespace/NAME/name`; Kubernetes' own name, or kubectl's where that is in use.
    name: str
    group: str
    kind: str
    plural: str
    # Those that are read, the newest first.
    versions: tuple[str, ...]
    texts: Texts
    evaluate: Evaluate
    # Whether all its pods run, or none gets on.
    is_gang: bool = False
    # Whether it only makes jobs, or is made for one: never a job of its own.
    is_job: bool = True
    # Where its flag is that ends all its pods without a failure, and its value then; empty where it
    # has none.
    suspend: str = ""
    suspended: bool = True
    # Types of conditions that hold once it has ended as it should, or before it should.
    finished: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    # Where its phase is, and what its phases mean; for kinds without such conditions.
    phase: str = ""
    phases: Mapping[str, JobState] = {}
    failed_phases: frozenset[str] = frozenset()
    # How many pods it has while it runs; None where it does not say.
    pods: Count = _nothing
    # How often it has started again; None where it does not count that.
    restarts: Count = _nothing
    # Why it is failed for good when all its pods start again, even after it was suspended; empty where
    # it is not.
    restart_limit: Callable[[Workload], str] = _no_limit

    @property
    def has_row(self) -> bool:
        """Whether it is in the table."""
        return bool(self.versions)

    @property
    def can_fail(self) -> bool:
        """Whether it may be failed for good."""
        return bool(self.failed or self.failed_phases)

    @property
    def resource(self) -> str:
        """As in a rule of RBAC, and as kubectl has it: `jobsets.jobset.x-k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str, name: str, version: str = "") -> str:
        """Of one object in the API; in the newest version that is read where none is given."""
        version = version or self.versions[0]
        prefix = f"/apis/{self.group}" if self.group else "/api"
        return f"{prefix}/{version}/namespaces/{namespace}/{self.plural}/{name}"

    def is_suspended(self, workload: Workload) -> bool:
        """Whether it is suspended."""
        return bool(self.suspend) and workload.value(self.suspend) is self.suspended

    def has_failed(self, workload: Workload) -> bool:
        """Whether it has ended before it should."""
        failed = bool(self.failed) and workload.condition(*self.failed) is not None
        return failed or (bool(self.phase) and workload.text(self.phase) in self.failed_phases)

    def is_finished(self, workload: Workload) -> bool:
        """Whether it has ended, as it should or not; its last pods may still be ending."""
        finished = bool(self.finished) and workload.condition(*self.finished) is not None
        return finished or self.has_failed(workload) or self.in_phase(workload) is JobState.FINISHED

    def in_phase(self, workload: Workload) -> JobState | None:
        """What its phase means; None for a kind without phases, and for a phase that is not known."""
        return self.phases.get(workload.text(self.phase)) if self.phase else None


_NO_ROW = "not known"
_UNKNOWN_TEXTS = Texts(
    taint=_NO_ROW,
    eviction=_NO_ROW,
    deletion=_NO_ROW,
    no_execute=_NO_ROW,
    failure=_NO_ROW,
    restart="not known: not asked",
)


def unknown_kind(name: str, group: str, kind: str) -> Kind:
    """Of a kind that has no row: kept by its name, never read."""
    return Kind(
        name=name,
        group=group,
        kind=kind,
        plural="",
        versions=(),
        texts=_UNKNOWN_TEXTS,
        evaluate=evaluate_unknown,
    )
