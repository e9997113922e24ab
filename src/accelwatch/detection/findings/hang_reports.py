"""The findings of a tick about a job that hangs, and who is to blame for it."""

from collections.abc import Sequence

import msgspec
import numpy as np

from accelwatch.detection.evidence import Channel, Evidence, Subject
from accelwatch.detection.findings.explaining import Tables, explained
from accelwatch.detection.findings.finding import Finding, Level, Scope
from accelwatch.detection.findings.reports import channels_of, greatest_of, signals_of
from accelwatch.detection.findings.sentences import group_sentence, hang_sentence
from accelwatch.detection.findings.suspects import Piece, Suspect
from accelwatch.detection.tick import Tick


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
    """The row of the node for which a job hangs; -1 where none stands out."""
    rows = set(tick.frame.node_of[tick.frame.job == job].tolist())
    named: list[tuple[float, int]] = []
    for item in evidence:
        if item.channel is Channel.HANG and item.subject is not Subject.JOB:
            of_device = item.subject is Subject.DEVICE
            nodes = tick.frame.node_of[item.rows] if of_device else item.rows
            named += [
                (-float(score), int(row)) for score, row in zip(item.score, nodes, strict=True)
            ]
    in_job = sorted(entry for entry in named if entry[1] in rows)
    if in_job:
        return in_job[0][1]
    broken = [suspect for suspect in accused if suspect.node in rows and suspect.is_decisive]
    return min(broken, key=lambda suspect: (suspect.onset, suspect.node)).node if broken else -1
