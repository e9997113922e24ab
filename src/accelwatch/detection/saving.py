"""Fusion and merging as parts of a snapshot."""

from collections.abc import Mapping

import msgspec
import numpy as np

from accelwatch.detection import standing as standings
from accelwatch.detection.budget import Budget
from accelwatch.detection.families import FAMILIES
from accelwatch.detection.finding import Finding
from accelwatch.detection.fusion import FusionState
from accelwatch.detection.merging import MergingState
from accelwatch.detection.snapshot import Array
from accelwatch.detection.standing import Standing

_SUBJECTS = ("devices", "nodes", "jobs")


class _Merging(msgspec.Struct, frozen=True):
    open: list[Finding]
    ended: list[Finding]
    accused: list[tuple[str, str, float]]
    families: dict[str, list[str]]


def arrays_of(state: FusionState) -> dict[str, Array]:
    """The arrays of a fusion, by name."""
    found: dict[str, Array] = {
        f"{subject}.{name}": column
        for subject, standing in zip(_SUBJECTS, state[:3], strict=True)
        for name, column in standings.columns(standing).items()
    }
    found["job_names"] = np.array(state.job_names, dtype=np.str_)
    found["budget.factor"] = state.budget.factor
    found["budget.at"] = np.array([state.budget.at])
    return found


def fusion_of(arrays: Mapping[str, Array]) -> FusionState | None:
    """The fusion that `arrays_of` gave; None where arrays are missing or do not fit one another."""
    found = {name: np.asarray(array) for name, array in arrays.items()}
    try:
        devices, nodes, jobs = (_standing(found, subject) for subject in _SUBJECTS)
        names = tuple(map(str, found["job_names"].tolist()))
        factor, at = found["budget.factor"].astype(np.float64), float(found["budget.at"][0])
    except (KeyError, ValueError, IndexError):
        return None
    if len(names) != len(jobs.level) or factor.shape != (len(FAMILIES),):
        return None
    return FusionState(devices, nodes, jobs, names, Budget(factor, at))


def _standing(found: Mapping[str, Array], subject: str) -> Standing:
    """Raises KeyError and ValueError."""
    empty = standings.empty(len(found[f"{subject}.level"]))
    for name, column in standings.columns(empty).items():
        saved = found[f"{subject}.{name}"]
        if saved.shape != column.shape:
            raise ValueError(f"{subject}.{name} does not fit")
        column[:] = saved.astype(column.dtype)
    return empty


def document_of(state: MergingState) -> bytes:
    """Open and ended findings as JSON."""
    return msgspec.json.encode(
        _Merging(
            list(state.open.values()),
            list(state.ended.values()),
            [(node, family, since) for (node, family), since in state.accused.items()],
            {key: sorted(families) for key, families in state.families.items()},
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
        {finding.key: finding for finding in saved.ended},
        {(node, family): since for node, family, since in saved.accused},
        {key: frozenset(families) for key, families in saved.families.items()},
    )
