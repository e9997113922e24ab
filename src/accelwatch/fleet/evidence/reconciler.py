"""Makes the board say what the reports of one cluster say: begins, keeps and ends evidence.

It compares states and receives no changes, so what ended while the hub was away, or while the API server
was, ends with the first complete report.
"""

import logging
from collections.abc import Callable, Iterable, Iterator

from accelwatch.base.slices import LongWork
from accelwatch.fleet.evidence.damping import Damping
from accelwatch.fleet.evidence.intake import EvidenceIntake
from accelwatch.fleet.evidence.problem import NodeReport, ReportedProblem
from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.state.evidence.board import MAX_ACTIVE, ReceivedAlert
from accelwatch.fleet.state.location import Location, locate
from accelwatch.schema.event import PUSHED, SEVERITY, Category, ErrorEvent

logger = logging.getLogger(__name__)

# Half the board: whoever pushes must find room whatever a cluster's conditions do.
MOST_OF_A_CLUSTER = MAX_ACTIVE // 2
KUBERNETES, SLURM = "kubernetes", "slurm"
# Between the fields of a key; a text of the API has no such character.
_SEPARATOR = "\x1f"
_FIELDS = 6
# The share of its time after which evidence is kept longer, so that not every look is a write.
_RENEWED_AT = 0.5
_BY_DEVICE = Evidence(node_labels=("node",), device_labels=("device",))


def key_of(origin: str, cluster: str, node: str, problem: ReportedProblem) -> str:
    """By what its end is known; the same for as long as the tool says the same of the same thing."""
    fields = (problem.source, origin, cluster, node, problem.path, problem.device)
    return _SEPARATOR.join(fields)


def origin_of(key: str) -> tuple[str, str]:
    """Where it was read, `kubernetes` or `slurm`, and of which cluster; empty for what was pushed."""
    fields = key.split(_SEPARATOR)
    if len(fields) != _FIELDS or fields[1] not in (KUBERNETES, SLURM):
        return "", ""
    return fields[1], fields[2]


class Reconciler:
    """Evidence of one cluster; the loop's thread only."""

    def __init__(
        self, intake: EvidenceIntake, settings: Callable[[], Evidence], origin: str, cluster: str
    ) -> None:
        """`origin` is `kubernetes` or `slurm`."""
        self._intake = intake
        self._settings = settings
        self._origin = origin
        self._cluster = cluster
        self._damping = Damping()
        self._complaint = ""
        # Nodes of the latest reports that the hub does not know.
        self.unplaced: tuple[str, ...] = ()

    async def reconcile(self, reports: Iterable[NodeReport]) -> None:
        """`reports` are of all nodes of the cluster; a node that is not there has no problems."""
        board = self._intake.fleet.evidence
        wall, now = self._intake.fleet.clock.wall(), self._intake.fleet.clock.monotonic()
        self._damping.forget_calm(now)
        reported = list(reports)
        problems = {
            key_of(self._origin, self._cluster, report.node, problem): (report, problem)
            for report in reported
            for problem in report.problems
        }
        undecided = {(report.node, path) for report in reported for path in report.undecided}
        active = {alert.key: alert for alert in board.all() if self._is_own(alert.key)}
        changed = self._resolve(active, problems, undecided, now)
        changed |= await self._activate(active, problems, wall, now)
        if changed:
            await self._intake.written()

    @property
    def waiting(self) -> bool:
        """Whether something is there that counts only once it has lasted."""
        return bool(self._damping.waiting())

    def _is_own(self, key: str) -> bool:
        return origin_of(key) == (self._origin, self._cluster)

    def _resolve(
        self,
        active: dict[str, ReceivedAlert],
        problems: dict[str, tuple[NodeReport, ReportedProblem]],
        undecided: set[tuple[str, str]],
        now: float,
    ) -> bool:
        resolved = [key for key in active if key not in problems and _path_of(key) not in undecided]
        for key in resolved:
            self._intake.resolve(key)
            self._damping.resolved(key, now)
        for key in self._damping.waiting():
            # It went before it counted.
            if key not in problems:
                self._damping.resolved(key, now)
        return bool(resolved)

    async def _activate(
        self,
        active: dict[str, ReceivedAlert],
        problems: dict[str, tuple[NodeReport, ReportedProblem]],
        wall: float,
        now: float,
    ) -> bool:
        """Begin what is new and keep what is not; whether anything has changed."""
        changed, count, refused = False, sum(key in problems for key in active), 0
        unplaced: dict[str, None] = {}
        named = self._nodes_by_name()
        # Of thousands of problems each costs a tenth of a millisecond; streams and pages go on between.
        work = LongWork()
        for key, (report, problem) in problems.items():
            await work.yield_control()
            keep_s = self._settings().keep_s
            before = active.get(key)
            if before is not None and before.until - wall > keep_s * _RENEWED_AT:
                continue
            if before is None and count >= MOST_OF_A_CLUSTER:
                refused += 1
                continue
            location = self._locate(report, problem, named)
            if location is None:
                unplaced[report.node] = None
            elif before is None and not self._damping.counts(key, now):
                continue
            elif self._intake.activate(
                location, self._event(problem, key, wall), key, wall + keep_s
            ):
                changed, count = True, count + (before is None)
            else:
                refused += 1
        self.unplaced = tuple(unplaced)
        self._complain(refused)
        return changed

    def _locate(
        self, report: NodeReport, problem: ReportedProblem, named: dict[str, str]
    ) -> Location | None:
        """The node as the hub calls it; the device where it is known there."""
        names = (name for name in (report.node, *report.names) if name in named)
        node = next((named[name] for name in names), "")
        if not node:
            return None
        return locate(self._intake.fleet, {"node": node, "device": problem.device}, _BY_DEVICE)

    def _nodes_by_name(self) -> dict[str, str]:
        """Name or host of a target to the node; a name counts before a host."""
        nodes = self._intake.fleet.nodes
        hosts = {
            source.target.host: node.name
            for node in nodes.values()
            for source in node.sources.values()
        }
        return {**hosts, **{name: name for name in nodes}}

    def _event(self, problem: ReportedProblem, key: str, wall: float) -> ErrorEvent:
        times = self._damping.times(key)
        again = f" (came and went {times} times lately)" if times > 1 else ""
        since = wall if problem.since is None else min(problem.since, wall)
        return ErrorEvent(
            code=f"evidence_{problem.code}",
            category=Category.OTHER,
            time=since,
            text=f"{problem.text or problem.code}{again}",
            source=PUSHED,
            subject=problem.source,
            detail={SEVERITY: problem.severity, "by": f"{self._origin} {self._cluster}"},
        )

    def _complain(self, refused: int) -> None:
        """Say in one line what is folded or dropped, whenever it is something else."""
        flapping = len(self._damping.flapping)
        texts = [
            f"conditions of nodes come and go, count={flapping}" if flapping else "",
            f"no room for evidence, count={refused}" if refused else "",
            f"nodes that the hub does not follow, first={self.unplaced[0]}"
            if self.unplaced
            else "",
        ]
        # Without the counts, which differ at every look of a cluster that flaps.
        kinds = ",".join(text.partition(",")[0] for text in texts if text)
        if kinds and kinds != self._complaint:
            text = "; ".join(text for text in texts if text)
            logger.warning("evidence of %s %s: %s", self._origin, self._cluster, text)
        self._complaint = kinds


def _path_of(key: str) -> tuple[str, str]:
    fields = key.split(_SEPARATOR)
    return fields[3], fields[4]


def left_over(
    alerts: Iterable[ReceivedAlert], configured: Iterable[tuple[str, str]]
) -> Iterator[str]:
    """Keys of evidence read from clusters that are configured no more: nobody would ever end it."""
    present = {*configured, ("", "")}
    return (alert.key for alert in alerts if origin_of(alert.key) not in present)
