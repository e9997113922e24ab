"""Fusion and merging as parts of a snapshot."""

from collections.abc import Mapping

import msgspec
import numpy as np

from accelwatch.detection import row_levels
from accelwatch.detection.budget import Budget
from accelwatch.detection.families import FAMILIES
from accelwatch.detection.finding import Finding
from accelwatch.detection.fusion import FusionState
from accelwatch.detection.merging import MergingState
from accelwatch.detection.row_levels import RowLevels
from accelwatch.detection.snapshot import Array

_SUBJECTS = ("devices", "nodes", "jobs")


class _Merging(msgspec.Struct, frozen=True):
    open: list[Finding]
    recent: list[Finding]
    accused: list[tuple[str, str, float]]
    shared_at: dict[str, dict[str, float]]


def arrays_of(state: FusionState) -> dict[str, Array]:
    """The arrays of a fusion, by name."""
    saved_arrays: dict[str, Array] = {
        f"{subject}.{name}": column
        for subject, levels in zip(_SUBJECTS, state[:3], strict=True)
        for name, column in row_levels.columns(levels).items()
    }
    saved_arrays["job_names"] = np.array(state.job_names, dtype=np.str_)
    saved_arrays["budget.factor"] = state.budget.factor
    saved_arrays["budget.at"] = np.array([state.budget.at])
    return saved_arrays


def fusion_of(arrays: Mapping[str, Array]) -> FusionState | None:
    """The fusion that `arrays_of` gave; None where arrays are missing or do not fit one another."""
    saved_arrays = {name: np.asarray(array) for name, array in arrays.items()}
    try:
        devices, nodes, jobs = (_row_levels(saved_arrays, subject) for subject in _SUBJECTS)
        names = tuple(map(str, saved_arrays["job_names"].tolist()))
        factor, at = (
            saved_arrays["budget.factor"].astype(np.float64),
            float(saved_arrays["budget.at"][0]),
        )
    except (KeyError, ValueError, IndexError):
        return None
    if len(names) != len(jobs.level) or factor.shape != (len(FAMILIES),):
        return None
    return FusionState(devices, nodes, jobs, names, Budget(factor, at))


def _row_levels(saved_arrays: Mapping[str, Array], subject: str) -> RowLevels:
    """Raises KeyError and ValueError."""
    empty = row_levels.empty(len(saved_arrays[f"{subject}.level"]))
    for name, column in row_levels.columns(empty).items():
        saved = saved_arrays[f"{subject}.{name}"]
        if saved.shape != column.shape:
            raise ValueError(f"{subject}.{name} does not fit")
        column[:] = saved.astype(column.dtype)
    return empty


def document_of(state: MergingState) -> bytes:
    """Open and ended findings as JSON."""
    return msgspec.json.encode(
        _Merging(
            list(state.open.values()),
            list(state.recent.values()),
            [(node, family, since) for (node, family), since in state.accused.items()],
            {key: dict(families) for key, families in state.shared_at.items()},
        )
    )


def merging_of(document: bytes) -> MergingState | None:
    """The state that `document_of` gave; None for anything else."""
    try:
        saved = msgspec.json.decode(document, type=_Merging)
    except msgspec.MsgspecError:
        return None
    return MergingState(
        {finding.key: finding for finding in saved.open},
        {finding.key: finding for finding in saved.recent},
        {(node, family): since for node, family, since in saved.accused},
        saved.shared_at,
    )
