"""What the first passes remember, as it is in a snapshot: rows, groups by their names, stages."""

from collections.abc import Mapping

import msgspec
import numpy as np

from accelwatch.detection.arrays import Indices
from accelwatch.detection.baselines import repeats
from accelwatch.detection.baselines.state import (
    DetectorState,
    GroupKey,
    GroupMemory,
    LevelState,
    StageState,
)
from accelwatch.detection.baselines.state_arrays import Array, Moves, StateArrays
from accelwatch.detection.frame import Frame


class RowDocument(msgspec.Struct, frozen=True):
    """What is no array."""

    # Groups in the order of their arrays.
    device_groups: tuple[GroupKey, ...]
    node_groups: tuple[GroupKey, ...]
    # Of each node the job for which its stage holds.
    jobs: tuple[str, ...]


def document_of(state: DetectorState) -> RowDocument:
    """What belongs to `arrays_of`."""
    return RowDocument(state.devices.keys, state.nodes.keys, state.stages.job)


def arrays_of(state: DetectorState) -> StateArrays:
    """The arrays of rows, groups, stages and of pages that repeat."""
    stages = state.stages
    devices, nodes = (
        {f"rows.{name}": array for name, array in level.rows._asdict().items()}
        for level in (state.devices, state.nodes)
    )
    nodes |= {
        "stages.stage": stages.stage,
        "stages.proposed": stages.proposed,
        "stages.times": stages.times,
    }
    devices["stages.working"] = stages.working
    for kind, pages in state.repeats._asdict().items():
        nodes |= {f"repeats.{kind}.{name}": array for name, array in pages._asdict().items()}
    other: dict[str, Array] = {
        "now": np.array([state.now]),
        "stages.next_at": np.array([stages.next_at]),
    }
    for name, level in (("devices", state.devices), ("nodes", state.nodes)):
        other |= {f"{name}.groups.{key}": array for key, array in level.groups._asdict().items()}
        other[f"{name}.code"] = level.code
    return StateArrays(devices, nodes, other)


def fit(state: DetectorState, frame: Frame) -> None:
    """Have the rows of a frame, also of stages and of pages that repeat."""
    state.fit(frame)
    _fit_stages(state.stages, len(frame.node_of), len(frame.node_state))
    state.repeats = repeats.fitted(state.repeats, len(frame.node_state))


def restore(
    state: DetectorState, document: RowDocument, other: Mapping[str, Array], moves: Moves
) -> None:
    """What rows that have come belonged to; their arrays are moved by whoever has all of it.

    Raises KeyError, ValueError, IndexError.
    """
    stages = state.stages
    jobs = list(stages.job)
    for row in np.flatnonzero(moves.nodes >= 0).tolist():
        jobs[moves.nodes[row]] = document.jobs[row]
    stages.job = tuple(jobs)
    if np.isnan(state.now):
        state.now = float(other["now"].astype(np.float64)[0])
        stages.next_at = float(other["stages.next_at"].astype(np.float64)[0])
    _restore_groups(
        state.devices, document.device_groups, _of_level("devices", other), moves.devices
    )
    _restore_groups(state.nodes, document.node_groups, _of_level("nodes", other), moves.nodes)


def _of_level(name: str, other: Mapping[str, Array]) -> dict[str, Array]:
    prefix = f"{name}."
    return {key.removeprefix(prefix): other[key] for key in other if key.startswith(prefix)}


def _restore_groups(
    level: LevelState, keys: tuple[GroupKey, ...], saved: Mapping[str, Array], to: Indices
) -> None:
    """Have the groups of rows that have come, and these in them."""
    there = np.flatnonzero(to >= 0)
    code = saved["code"].astype(np.intp)[there]
    present = {key: position for position, key in enumerate(level.keys)}
    # A group that goes on without some of its members has a newer past of its own.
    missing = [int(each) for each in np.unique(code[code >= 0]) if keys[each] not in present]
    level.keys += tuple(keys[each] for each in missing)
    level.groups = GroupMemory(
        *(
            np.concatenate((now, saved[f"groups.{name}"][..., missing].astype(now.dtype)), axis=-1)
            for name, now in level.groups._asdict().items()
        )
    )
    positions = {key: position for position, key in enumerate(level.keys)}
    # The last is for rows that were in none.
    now_at = np.array([*(positions.get(key, -1) for key in keys), -1], dtype=np.intp)
    level.code[to[there]] = now_at[code]


def _fit_stages(stages: StageState, devices: int, nodes: int) -> None:
    more = nodes - len(stages.job)
    stages.job += ("",) * more
    stages.stage, stages.proposed, stages.times = (
        np.concatenate((before, np.full(more, fill, dtype=np.intp)))
        for before, fill in ((stages.stage, -1), (stages.proposed, -1), (stages.times, 0))
    )
    added = np.zeros(devices - len(stages.working), dtype=np.bool_)
    stages.working = np.concatenate((stages.working, added))
