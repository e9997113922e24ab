"""The findings of a tick about a job that hangs, and who is to blame for it."""

from collections.abc import Sequence

import msgspec
import numpy as np

from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.findings.explaining import Tables, explained
from accelwatch.detection.findings.finding import Finding, Level, Scope
from accelwatch.detection.findings.reports import channels_of, greatest_of, signals_of
from accelwatch.detection.findings.sentences import group_sentence, hang_sentence
from accelwatch.detection.findings.suspects import Piece, Suspect
from accelwatch.detection.tick import Tick

# A job stops within seconds of what stops it, and a fault is known after two samples and two ticks at
# worst, which are two minutes at 30 s. Five are those in which nodes fail by one cause (4.1, step 6).
_STOPS_WITHIN_S = 300.0


def of_hang(tick: Tick, tables: Tables, job: int, pieces: Sequence[Piece], culprit: int) -> Finding:
    """The finding of a job that hangs; `culprit` is the row of the node that stopped first, else -1.

    The advice is the job's, and so for all of its nodes: `node` is whom to leave out of the restart.
    """
    frame, name = tick.frame, tick.frame.names.jobs[job]
    devices = np.flatnonzero(frame.job == job)
    rows = dict.fromkeys(frame.node_of[devices].tolist())
    first = "" if culprit < 0 else frame.names.nodes[culprit]
    nodes = tuple(dict.fromkeys([first, *(frame.names.nodes[row] for row in rows)]))
    onset = min((piece.since for piece in pieces), default=frame.now)
    advised = [piece.advice for piece in pieces if piece.advice]
    return Finding(
        key=f"job/{name}",
        level=Level.ALERT,
        scope=Scope.JOB,
        node=first,
        device="",
        job=name,
        nodes=tuple(node for node in nodes if node),
        family=greatest_of(pieces),
        channels=channels_of(pieces),
        advice=advised[0] if advised else "none",
        score=max((piece.score for piece in pieces), default=0.0),
        onset=onset,
        opened=frame.now,
        updated=frame.now,
        cleared=None,
        signals=signals_of(explained(tick, tables, pieces)),
        sentence=hang_sentence(name, first, len(devices), onset),
    )


def of_waiting(hang: Finding, shared: str) -> Finding:
    """The finding of a job that hangs because it waits for what it shares: no node is to blame."""
    return msgspec.structs.replace(
        hang,
        key=f"group/{shared}",
        scope=Scope.GROUP,
        node="",
        family=shared,
        advice="wait",
        sentence=group_sentence(len(hang.nodes), hang.job, shared, hang.onset),
    )


def culprit_of(
    tick: Tick, job: int, accused: Sequence[Suspect], evidence: Sequence[Evidence]
) -> int:
    """The row of the node for which a job hangs; -1 where none stands out.

    A device that does nothing while all others wait is known best. Of many nodes one always misses
    samples, so that one whose hardware broke as the job stopped goes before one that is silent.
    """
    of_job = set(tick.frame.node_of[tick.frame.job == job].tolist())
    named: list[tuple[bool, float, int]] = []
    stopped = tick.frame.now
    for item in evidence:
        if item.channel is not Channel.HANG:
            continue
        if item.subject is Subject.JOB:
            stopped = min([stopped, *item.since[item.rows == job].tolist()])
            continue
        of_node = item.subject is Subject.NODE
        nodes = item.rows if of_node else tick.frame.node_of[item.rows]
        named += [
            (of_node, -float(score), int(row)) for score, row in zip(item.score, nodes, strict=True)
        ]
    named = sorted(entry for entry in named if entry[2] in of_job)
    broken = sorted(
        (onset, suspect.node)
        for suspect in accused
        if suspect.node in of_job and (onset := _broken_at(suspect)) is not None
    )
    lately = [node for onset, node in broken if onset >= stopped - _STOPS_WITHIN_S]
    idle = [node for of_node, _, node in named if not of_node]
    others = [node for _, _, node in named]
    return next(iter([*idle, *lately, *others, *(node for _, node in broken)]), -1)


def _broken_at(suspect: Suspect) -> float | None:
    """Since when the hardware of a node is known to be broken, Unix seconds; None where it is not."""
    return min(
        (
            piece.since
            for piece in suspect.pieces
            if piece.weight is Weight.DECISIVE and piece.channel is not Channel.HANG
        ),
        default=None,
    )
