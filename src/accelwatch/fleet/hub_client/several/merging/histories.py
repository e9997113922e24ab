"""Histories of several hubs: added where they are of the same steps, and graphs by the picture's names.
Pure."""

from collections.abc import Sequence

import msgspec

from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.hub_client.several.names.incident_ids import with_hub
from accelwatch.fleet.hub_client.several.names.shared_nodes import Ownership
from accelwatch.fleet.picture.model import RecentHistory

_LOAD, _DEVICES, _SILENT = "utilization_ratio", "devices", "devices_not_answering"
_Step = float | None


def added_histories(histories: Sequence[RecentHistory]) -> RecentHistory | None:
    """What all hubs come to, step by step from the newest back; None where their steps differ.

    A step that one hub does not know is not known of all.
    """
    first = histories[0]
    if any(history.step_s != first.step_s for history in histories):
        return None
    names = {name for history in histories for name in history.values}
    count = max(
        (len(steps) for history in histories for steps in history.values.values()), default=0
    )
    lines = {name: [_line(history, name, count) for history in histories] for name in names}
    weights = [_answering(history, count) for history in histories]
    values = {
        name: _means(lines[name], weights) if name == _LOAD else _sums(lines[name])
        for name in names
    }
    return RecentHistory(
        step_s=first.step_s, end=max(history.end for history in histories), values=values
    )


def _line(history: RecentHistory, name: str, count: int) -> list[_Step]:
    steps = list(history.values.get(name, ()))
    return [None] * (count - len(steps)) + steps


def _answering(history: RecentHistory, count: int) -> list[_Step]:
    return [
        None if devices is None else devices - (silent or 0.0)
        for devices, silent in zip(
            _line(history, _DEVICES, count), _line(history, _SILENT, count), strict=True
        )
    ]


def _sums(lines: Sequence[Sequence[_Step]]) -> list[_Step]:
    sums: list[_Step] = []
    for steps in zip(*lines, strict=True):
        numbers = [step for step in steps if step is not None]
        sums.append(sum(numbers) if len(numbers) == len(steps) else None)
    return sums


def _means(lines: Sequence[Sequence[_Step]], weights: Sequence[Sequence[_Step]]) -> list[_Step]:
    means: list[_Step] = []
    for steps, counts in zip(zip(*lines, strict=True), zip(*weights, strict=True), strict=True):
        # A hub without an answering device has no load, and does not lower that of others.
        weighted = [(step, count) for step, count in zip(steps, counts, strict=True) if count != 0]
        defined = [
            (step, count) for step, count in weighted if step is not None and count is not None
        ]
        total = sum(count for _, count in defined)
        is_complete = len(defined) == len(weighted) and total > 0
        means.append(sum(step * count for step, count in defined) / total if is_complete else None)
    return means


def graphs_in(graphs: IncidentGraphs, hub: int, owner: Ownership) -> IncidentGraphs:
    """Graphs of an incident of a hub by its id in the picture."""
    return msgspec.structs.replace(graphs, id=with_hub(graphs.id, owner.hubs[hub]))
