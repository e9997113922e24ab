"""What was concluded, as it is in a snapshot: levels of rows and jobs, the budget, findings."""

from collections.abc import Mapping, Set

import msgspec
import numpy as np

from accelwatch.detection.baselines.state_arrays import Array, Arrays, StateArrays
from accelwatch.detection.findings.finding import Finding
from accelwatch.detection.findings.merging import MergingState
from accelwatch.detection.frame import Frame
from accelwatch.detection.fusion import row_levels
from accelwatch.detection.fusion.budget import Budget
from accelwatch.detection.fusion.families import FAMILIES
from accelwatch.detection.fusion.fuse import FusionState
from accelwatch.detection.fusion.row_levels import RowLevels

# Whose past a row is, by numbers of this process only.
_GENERATION = "generation"


class Findings(msgspec.Struct, frozen=True):
    """What merging keeps, and the jobs that have a level."""

    open: list[Finding]
    recent: list[Finding]
    # Node, family, since when in Unix seconds.
    accused: list[tuple[str, str, float]]
    shared_at: dict[str, dict[str, float]]
    # In the order of the arrays of jobs.
    jobs: tuple[str, ...]


def document_of(merging: MergingState, jobs: tuple[str, ...]) -> Findings:
    """Open and ended findings."""
    return Findings(
        list(merging.open.values()),
        list(merging.recent.values()),
        [(node, family, since) for (node, family), since in merging.accused.items()],
        {key: dict(families) for key, families in merging.shared_at.items()},
        jobs,
    )


def arrays_of(state: FusionState) -> StateArrays:
    """The arrays of a fusion."""
    other = {f"jobs.{name}": column for name, column in _columns(state.jobs).items()}
    other |= {"budget.factor": state.budget.factor, "budget.at": np.array([state.budget.at])}
    return StateArrays(_columns(state.devices), _columns(state.nodes), other)


def fitted(state: FusionState, frame: Frame) -> FusionState:
    """With the rows of a frame."""
    return state._replace(
        devices=row_levels.resized(state.devices, frame.device_generation),
        nodes=row_levels.resized(state.nodes, frame.node_generation),
    )


def fusion_of(findings: Findings, other: Mapping[str, Array]) -> FusionState:
    """A fusion with the jobs and the budget that were saved, and no rows yet.

    Raises KeyError, ValueError.
    """
    jobs = row_levels.empty(len(findings.jobs))
    for name, column in _columns(jobs).items():
        column[:] = other[f"jobs.{name}"]
    factor = other["budget.factor"].astype(np.float64)
    if factor.shape != (len(FAMILIES),):
        raise ValueError("the families are others")
    budget = Budget(factor, float(other["budget.at"].astype(np.float64)[0]))
    none = row_levels.empty(0)
    return FusionState(none, none, jobs, findings.jobs, budget)


def merging_of(findings: Findings) -> MergingState:
    """Findings as they were; who is accused follows as nodes come."""
    return MergingState(
        {finding.key: finding for finding in findings.open},
        {finding.key: finding for finding in findings.recent},
        {},
        findings.shared_at,
    )


def with_accused(state: MergingState, findings: Findings, nodes: Set[str]) -> MergingState:
    """Of nodes that have come it is known again since when they are accused."""
    accused = {(node, family): since for node, family, since in findings.accused if node in nodes}
    return state._replace(accused={**accused, **state.accused})


def _columns(levels: RowLevels) -> Arrays:
    columns: Arrays = dict(row_levels.columns(levels))
    del columns[_GENERATION]
    return columns
