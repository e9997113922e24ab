"""The table of kinds: one row each; a new kind is a row."""

from accelwatch_kubernetes.objects.workload import Workload, group_of
from accelwatch_kubernetes.workloads.kinds.batch_kinds import BATCH_KINDS
from accelwatch_kubernetes.workloads.kinds.core_kinds import CORE_KINDS
from accelwatch_kubernetes.workloads.kinds.kind import Kind, unknown_kind
from accelwatch_kubernetes.workloads.kinds.slurm_pods import SLURM_KINDS

KINDS: tuple[Kind, ...] = (*CORE_KINDS, *BATCH_KINDS, *SLURM_KINDS)
_BY_GROUP = {(kind.group, kind.kind): kind for kind in KINDS}
_BY_NAME = {kind.name: kind for kind in KINDS}


def kind_of(api_version: str, kind: str) -> Kind:
    """The row of a kind, whatever version of it is named; one that is not known is kept by its name."""
    group = group_of(api_version)
    row = _BY_GROUP.get((group, kind))
    if row is not None:
        return row
    return unknown_kind(f"{kind}.{group}" if kind in _BY_NAME and group else kind, group, kind)


def kind_of_workload(workload: Workload) -> Kind:
    """The row of an object's kind."""
    return kind_of(workload.api_version, workload.kind)


def kind_named(name: str) -> Kind | None:
    """The row with a name, as it is in the id of a job; None for a kind that is not known."""
    return _BY_NAME.get(name)
