"""What a tick has to say about one node, one group or one job that hangs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.detection.common_cause import LEAST_NODES, Common
from accelwatch.detection.evidence import Channel, Evidence, Subject
from accelwatch.detection.explaining import Explained, Tables, explained
from accelwatch.detection.finding import Level, Scope, Signal
from accelwatch.detection.sentences import group_sentence, hang_sentence, sentence
from accelwatch.detection.strength import ALONE, ALONE_S
from accelwatch.detection.suspects import Piece, Suspect, advice_of, contributes
from accelwatch.detection.tick import Tick

# What a job waits for when it is bad; a recorder that fails harms nobody.
_HARMFUL = frozenset({"storage", "fabric", "cooling"})


class Report(NamedTuple):
    """A finding without its past; fields are those of `Finding`."""

    key: str
    level: Level
    scope: Scope
    node: str
    device: str
    job: str
    nodes: tuple[str, ...]
    family: str
    channels: tuple[str, ...]
    advice: str
    score: float
    # Unix seconds.
    onset: float
    signals: tuple[Signal, ...]
    sentence: str


def of_node(tick: Tick, tables: Tables, suspect: Suspect) -> Report:
    """Of a node, or of the only device of it that is to blame."""
    names = tick.frame.names
    node, job = names.nodes[suspect.node], _job_of(tick, suspect)
    only = suspect.devices[0] if len(suspect.devices) == 1 else None
    device = "" if only is None else names.devices[only]
    explanations = explained(tick, tables, suspect.pieces)
    who = f"{device} of {node}" if device else node
    return Report(
        f"node/{node}",
        suspect.level,
        Scope.NODE if only is None else Scope.DEVICE,
        node,
        device,
        job,
        (node,),
        next(iter(suspect.families), ""),
        _channels(suspect.pieces),
        advice_of(suspect),
        suspect.score,
        suspect.onset,
        _signals(explanations),
        sentence(who, job, suspect.onset, explanations),
    )


def of_common(tick: Tick, tables: Tables, common: Common) -> Report:
    """Of nodes that suffer by one cause: nobody is to be taken out."""
    names, members = tick.frame.names, common.members
    nodes = tuple(names.nodes[member.node] for member in members)
    pieces = [
        piece for member in members for piece in member.pieces if piece.family in common.families
    ]
    jobs = {_job_of(tick, member) for member in members}
    job = next(iter(jobs)) if len(jobs) == 1 else ""
    if common.scope is Scope.JOB:
        job = common.key.removeprefix("job/")
    onset = members[0].onset
    alert = any(member.level is Level.ALERT for member in members)
    alert = alert or _harms_many(common, pieces, tick)
    return Report(
        common.key,
        Level.ALERT if alert else Level.WATCH,
        common.scope,
        "",
        "",
        job,
        nodes,
        _greatest(pieces),
        _channels(pieces),
        _shared_advice(common, pieces),
        max(member.score for member in members),
        onset,
        _signals(explained(tick, tables, pieces)),
        group_sentence(len(nodes), job, common.shared, onset),
    )


def _harms_many(common: Common, pieces: Sequence[Piece], tick: Tick) -> bool:
    """Whether what is shared is bad enough for as many as make a group: chance has no hand in that, so
    that it needs no ten minutes, as it does for one of them.
    """
    if common.shared not in _HARMFUL:
        return False
    lasting = (
        piece
        for piece in pieces
        if piece.score >= ALONE and tick.frame.now - piece.since >= ALONE_S
    )
    node_of = tick.frame.node_of
    nodes = {
        int(node_of[piece.row]) if piece.subject is Subject.DEVICE else piece.row
        for piece in lasting
    }
    return len(nodes) >= LEAST_NODES


def _shared_advice(common: Common, pieces: Sequence[Piece]) -> str:
    """To wait for what is shared; a job may be told to start again where everything says so."""
    if common.scope is Scope.GROUP:
        return "wait"
    return "restart" if pieces and all(piece.advice == "restart" for piece in pieces) else "none"


def of_hang(tick: Tick, tables: Tables, job: int, pieces: Sequence[Piece], culprit: int) -> Report:
    """Of a job that hangs; `culprit` is the row of the node that stopped first, -1 for unknown.

    The advice is the job's, and so for all of its nodes: `node` is whom to leave out of the restart.
    """
    frame, name = tick.frame, tick.frame.names.jobs[job]
    devices = np.flatnonzero(frame.job == job)
    rows = dict.fromkeys(frame.node_of[devices].tolist())
    first = "" if culprit < 0 else frame.names.nodes[culprit]
    nodes = tuple(dict.fromkeys([first, *(frame.names.nodes[row] for row in rows)]))
    onset = min((piece.since for piece in pieces), default=frame.now)
    advised = [piece.advice for piece in pieces if piece.advice]
    return Report(
        f"job/{name}",
        Level.ALERT,
        Scope.JOB,
        first,
        "",
        name,
        tuple(node for node in nodes if node),
        _greatest(pieces),
        _channels(pieces),
        advised[0] if advised else "none",
        max((piece.score for piece in pieces), default=0.0),
        onset,
        _signals(explained(tick, tables, pieces)),
        hang_sentence(name, first, len(devices), onset),
    )


def of_waiting(hang: Report, shared: str) -> Report:
    """Of a job that hangs since it waits for what it shares: nobody is to blame."""
    return hang._replace(
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
    """The row of the node for which a job hangs; -1 where nobody stands out."""
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


def _job_of(tick: Tick, suspect: Suspect) -> str:
    """The job of the devices that are to blame, else of the node's; the first of several by name."""
    frame = tick.frame
    rows = list(suspect.devices) or np.flatnonzero(frame.node_of == suspect.node).tolist()
    jobs = sorted(
        frame.names.jobs[code] for code in {int(frame.job[row]) for row in rows} if code >= 0
    )
    return jobs[0] if jobs else ""


def _channels(pieces: Sequence[Piece]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(piece.channel) for piece in pieces if contributes(piece)))


def _greatest(pieces: Sequence[Piece]) -> str:
    """The family with the greatest share of the scores."""
    share: dict[str, float] = {}
    for piece in pieces:
        share[piece.family] = share.get(piece.family, 0.0) + piece.score
    return max(share, key=lambda family: (share[family], family), default="")


def _signals(explanations: Sequence[Explained]) -> tuple[Signal, ...]:
    return tuple(each.signal for each in explanations)
