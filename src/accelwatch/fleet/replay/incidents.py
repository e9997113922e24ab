"""Incidents of a back-test as marks of the time line: one JSON object a line (docs/history.md)."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.fleet.picture.timeline import ALERT, LEVELS, Mark, Reason

MOST = 100_000
"""Marks that are kept; a back-test that finds more is of no use to a person."""


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


_decode = msgspec.json.Decoder(_Line).decode


def mark_of(line: bytes) -> Mark:
    """One line. Raises ValueError that says what is wrong with it."""
    try:
        told = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from error
    if told.level not in LEVELS:
        raise ValueError(f"level is alert, watch or info, not {told.level[:40]!r}")
    node = told.node or (told.nodes[0] if len(told.nodes) == 1 else "")
    several = f"{len(told.nodes)} nodes" if len(told.nodes) > 1 and not told.node else ""
    rules = tuple((told.rule or told.scope or "incident").split(","))
    return Mark(
        opened=told.opened,
        closed=told.closed,
        level=told.level,
        node=node or several,
        device=told.device or "",
        rule=rules[0],
        rules=rules,
        scope=told.scope or ("device" if told.device else "node"),
        job=told.job or "",
        nodes=told.nodes,
        advice=told.advice or "",
        reasons=told.explanation,
    )


def in_order(marks: Iterable[Mark]) -> list[Mark]:
    """By when they were opened, at most MOST."""
    return sorted(marks, key=lambda mark: (mark.opened, mark.node, mark.rule))[:MOST]


def read_marks(path: Path) -> list[Mark]:
    """The incidents of a file. Raises UsageError that names the file and the line."""
    marks: list[Mark] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    marks.append(_numbered(path, number, line))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return in_order(marks)


def _numbered(path: Path, number: int, line: bytes) -> Mark:
    try:
        return mark_of(line)
    except ValueError as error:
        made = "accelwatch rules backtest --format ndjson makes such a file"
        raise UsageError(f"{path}: line {number}: {error}; {made}") from error
