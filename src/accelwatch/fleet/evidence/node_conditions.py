"""The reports of other tools on a node by its conditions, taints and labels. Pure.

The condition counts, never an event about it: an event is of one time, and may be over.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from accelwatch.fleet.evidence.node_objects import Condition, ConditionedNode, Taint
from accelwatch.fleet.evidence.problem import NodeReport, ReportedProblem
from accelwatch.fleet.evidence.tools import (
    CONDITIONS,
    LABELS,
    NVSENTINEL,
    NVSENTINEL_REASON,
    TAINTS,
    ConditionRow,
    LabelRow,
    TaintRow,
    is_own,
)

# A message longer than this is cut: it is for people.
_LONGEST_TEXT = 1000
_LONGEST_CODE = 100
# Devices of a node that one condition may name.
_MOST_DEVICES = 64
# Entities of NVSentinel's messages, the best name of a device first.
_ENTITIES = (r"\bGPU_UUID:(\S+)", r"\bPCI:(\S+)", r"\bGPU:(\d+)\b")


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """The rows in force."""

    conditions: tuple[ConditionRow, ...] = CONDITIONS
    taints: tuple[TaintRow, ...] = TAINTS
    labels: tuple[LabelRow, ...] = LABELS
    # Condition types and taint keys that are not evidence here.
    ignored: frozenset[str] = frozenset()


def report_of(node: ConditionedNode, tools: Tools) -> NodeReport:
    """All that other tools say of it. Never what we have set ourselves."""
    conditions = [
        (condition, row)
        for condition in node.status.conditions or ()
        if (row := _row_of(condition, tools)) is not None
    ]
    problems = [
        problem
        for condition, row in conditions
        if condition.status == row.bad
        for problem in _of_condition(condition, row)
    ]
    problems += _of_taints(node.spec.taints or (), tools)
    problems += _of_labels(node.metadata.labels, tools)
    unknown = (condition for condition, _ in conditions if condition.status == "Unknown")
    return NodeReport(
        node=node.metadata.name,
        names=tuple(address.address for address in node.status.addresses or () if address.address),
        problems=tuple(problems),
        undecided=frozenset(_path(condition) for condition in unknown),
    )


def _row_of(condition: Condition, tools: Tools) -> ConditionRow | None:
    """The last row wins: a site's own ones stand behind ours."""
    if is_own(condition.type) or condition.type in tools.ignored:
        return None
    rows = [row for row in tools.conditions if row.type == condition.type]
    if rows:
        return rows[-1]
    if condition.reason == f"{condition.type}{NVSENTINEL_REASON}":
        return ConditionRow(type=condition.type, source=NVSENTINEL)
    return None


def _of_condition(condition: Condition, row: ConditionRow) -> Iterator[ReportedProblem]:
    """One of each device that the message names, else one of the node."""
    devices = _devices_in(condition.message) if row.source == NVSENTINEL else {}
    for device, text in (devices or {"": condition.message}).items():
        yield ReportedProblem(
            source=row.source,
            code=condition.type[:_LONGEST_CODE],
            severity=row.severity,
            text=_text(condition.reason, text),
            device=device,
            since=_seconds(condition.last_transition_time),
            path=_path(condition),
        )


def _path(condition: Condition) -> str:
    return f"condition {condition.type}"


def _devices_in(message: str) -> dict[str, str]:
    """Device to what NVSentinel says of it: parts with semicolons, entities as `GPU:0`."""
    devices: dict[str, str] = {}
    for segment in message.split(";"):
        matches = (re.search(pattern, segment) for pattern in _ENTITIES)
        match = next((match for match in matches if match), None)
        if match is not None and len(devices) < _MOST_DEVICES:
            devices.setdefault(match[1], segment.strip())
    return devices


def _of_taints(taints: Sequence[Taint], tools: Tools) -> Iterator[ReportedProblem]:
    for taint in taints:
        if is_own(taint.key) or taint.key in tools.ignored:
            continue
        for row in tools.taints:
            if row.key == taint.key and row.value in ("", taint.value):
                yield ReportedProblem(
                    source=row.source,
                    code=row.code or taint.key[:_LONGEST_CODE],
                    severity=row.severity,
                    text=f"taint {taint.key}={taint.value}:{taint.effect}"[:_LONGEST_TEXT],
                    since=_seconds(taint.time_added),
                    path=f"taint {taint.key}:{taint.effect}",
                )
                break


def _of_labels(labels: dict[str, str], tools: Tools) -> Iterator[ReportedProblem]:
    for row in tools.labels:
        for name, value in sorted(labels.items()):
            index = name.removeprefix(row.prefix).removesuffix(row.suffix)
            if (
                value == row.bad
                and name == f"{row.prefix}{index}{row.suffix}"
                and index.isdecimal()
            ):
                yield ReportedProblem(
                    source=row.source,
                    code=row.code,
                    severity=row.severity,
                    text=f"label {name}={value}",
                    device=index,
                    path=f"label {name}",
                )


def _text(reason: str, message: str) -> str:
    joined = ": ".join(text for text in (reason, message) if text)
    return " ".join(joined.split())[:_LONGEST_TEXT]


def _seconds(text: str | None) -> float | None:
    """Unix seconds of the API server's times; None for what is no time."""
    try:
        return None if not text else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
