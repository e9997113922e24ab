"""Incidents of a back-test as marks of the time line: one JSON object a line (docs/history.md)."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import UsageError
from accelwatch.fleet.picture.timeline import ALERT, LEVELS, Marker, Reason

# Marks that are kept; a back-test that finds more is of no use to a person.
MOST = 100_000


class _Line(msgspec.Struct, frozen=True):
    """What is needed of a line."""

    opened: float
    closed: float | None = None
    level: str = ALERT
    node: str | None = None
    device: str | None = None
    job: str | None = None
    rule: str | None = None
    scope: str | None = None
    nodes: tuple[str, ...] = ()
    advice: str | None = None
    explanation: tuple[Reason, ...] = ()
    sentence: str | None = None


_decode = msgspec.json.Decoder(_Line).decode


def parse_marker(line: bytes) -> Marker:
    """One line. Raises ValueError that says what is wrong with it."""
    try:
        record = _decode(line)
    except DECODE_ERRORS as error:
        raise ValueError(str(error)) from error
    if record.level not in LEVELS:
        raise ValueError(f"level is alert, watch or info, not {record.level[:40]!r}")
    node = record.node or (record.nodes[0] if len(record.nodes) == 1 else "")
    several = f"{len(record.nodes)} nodes" if len(record.nodes) > 1 and not record.node else ""
    rules = tuple((record.rule or record.scope or "incident").split(","))
    return Marker(
        opened=record.opened,
        closed=record.closed,
        level=record.level,
        node=node or several,
        device=record.device or "",
        rule=rules[0],
        rules=rules,
        scope=record.scope or ("device" if record.device else "node"),
        job=record.job or "",
        nodes=record.nodes,
        advice=record.advice or "",
        reasons=record.explanation,
        sentence=record.sentence or "",
    )


def in_order(markers: Iterable[Marker]) -> list[Marker]:
    """By when they were opened, at most MOST."""
    return sorted(markers, key=lambda marker: (marker.opened, marker.node, marker.rule))[:MOST]


def read_markers(path: Path) -> list[Marker]:
    """The incidents of a file. Raises UsageError that names the file and the line."""
    markers: list[Marker] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    markers.append(_numbered(path, number, line))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return in_order(markers)


def _numbered(path: Path, number: int, line: bytes) -> Marker:
    try:
        return parse_marker(line)
    except ValueError as error:
        made = "accelwatch rules backtest --format ndjson makes such a file"
        raise UsageError(f"{path}: line {number}: {error}; {made}") from error
