"""What a Slurm cluster's health checks say of nodes, by the reasons with which they drained them. Pure.

Slurm's HealthCheckProgram drains nodes itself, and says why in the reason: who wrote one is known by how
it begins. Never evidence are our own reasons, of the Slurm action and of `accelwatch check --slurm`, and
those of slurm-operator, which repeats a cordon of Kubernetes that may be ours: they would
prove themselves.
"""

from collections.abc import Iterable, Iterator

from accelwatch.fleet.evidence.problem import NodeReport, ReportedProblem
from accelwatch.fleet.evidence_settings import ReasonSetting
from accelwatch.fleet.targets.slurm.nodes import SlurmNode

OWN = "accelwatch"
NEVER = (OWN, "slurm-operator:")
_LONGEST_TEXT = 1000

REASONS: tuple[ReasonSetting, ...] = (
    # LBNL's Node Health Check, nhc: helpers/node-mark-offline.
    ReasonSetting(prefix="NHC:", source="nhc"),
    # nebius/soperator: its checks of nodes.
    ReasonSetting(prefix="[node_problem]", source="soperator"),
)


def reports_of(
    nodes: Iterable[SlurmNode], reasons: tuple[ReasonSetting, ...] = REASONS
) -> Iterator[NodeReport]:
    """All nodes, with what a health check says of those that are out."""
    for node in nodes:
        row = _row_of(node, reasons)
        problems = () if row is None else (_problem(node, row),)
        names = tuple(name for name in (node.hostname, node.address) if name)
        yield NodeReport(node=node.name, names=names, problems=problems)


def _row_of(node: SlurmNode, reasons: tuple[ReasonSetting, ...]) -> ReasonSetting | None:
    if not node.out or node.reason.lower().startswith(NEVER):
        return None
    return next((row for row in reasons if row.prefix and node.reason.startswith(row.prefix)), None)


def _problem(node: SlurmNode, row: ReasonSetting) -> ReportedProblem:
    return ReportedProblem(
        source=row.source,
        code=row.code,
        severity=row.severity,
        text=" ".join(node.reason.split())[:_LONGEST_TEXT],
        path="reason",
    )
