"""What a tick has to say about one node or several: a finding that would begin now."""

from collections.abc import Sequence

import numpy as np

from accelwatch.detection.evidence import Subject
from accelwatch.detection.findings.advice import advice_of
from accelwatch.detection.findings.common_cause import LEAST_NODES, Common
from accelwatch.detection.findings.explaining import Explained, Tables, explained
from accelwatch.detection.findings.finding import Finding, Level, Scope, Signal
from accelwatch.detection.findings.sentences import group_sentence, sentence
from accelwatch.detection.findings.suspects import Piece, Suspect, contributes, without
from accelwatch.detection.fusion.strength import ALONE, ALONE_S
from accelwatch.detection.tick import Tick

# What a job waits for when it is bad; a recorder that fails harms nobody.
_HARMFUL = frozenset({"storage", "fabric", "cooling"})


def of_node(tick: Tick, tables: Tables, suspect: Suspect) -> Finding:
    """Of a node, or of the only device of it that is to blame."""
    names = tick.frame.names
    node, job = names.nodes[suspect.node], _job_of(tick, suspect)
    only = suspect.devices[0] if len(suspect.devices) == 1 else None
    device = "" if only is None else names.devices[only]
    explanations = explained(tick, tables, suspect.pieces)
    who = node if only is None else f"{names.shown(only)} of {node}"
    now = tick.frame.now
    return Finding(
        key=f"node/{node}",
        level=suspect.level,
        scope=Scope.NODE if only is None else Scope.DEVICE,
        node=node,
        device=device,
        job=job,
        nodes=(node,),
        family=next(iter(suspect.families), ""),
        channels=channels_of(suspect.pieces),
        advice=advice_of(tick, tables, suspect),
        score=suspect.score,
        onset=suspect.onset,
        opened=now,
        updated=now,
        cleared=None,
        signals=signals_of(explanations),
        sentence=sentence(who, job, suspect.onset, explanations),
    )


def of_common(tick: Tick, tables: Tables, common: Common) -> Finding:
    """The finding of nodes that suffer by one cause: no node is quarantined."""
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
    now = tick.frame.now
    alert = any(_is_alert_by(member, common.families, now) for member in members)
    # As two families of one node that agree are an alert, so is the same of several whole nodes.
    alert = alert or common.warm >= LEAST_NODES or _harms_many(common, pieces, tick)
    return Finding(
        key=common.key,
        level=Level.ALERT if alert else Level.WATCH,
        scope=common.scope,
        node="",
        device="",
        job=job,
        nodes=nodes,
        family=greatest_of(pieces),
        channels=channels_of(pieces),
        advice=_shared_advice(common, pieces),
        score=max(member.score for member in members),
        onset=onset,
        opened=now,
        updated=now,
        cleared=None,
        signals=signals_of(explained(tick, tables, pieces)),
        sentence=group_sentence(len(nodes), job, common.shared, onset),
    )


def _is_alert_by(member: Suspect, families: frozenset[str], now: float) -> bool:
    """Whether a node would be no alert without what its group suffers: a fault of its own beside it says
    nothing of the group.
    """
    if member.level is not Level.ALERT:
        return False
    own = without(member, families, frozenset(), now)
    return own is None or own.level is not Level.ALERT


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
    """To wait for what is shared; a job may be restarted where all evidence advises it."""
    if common.scope is Scope.GROUP:
        return "wait"
    return "restart" if pieces and all(piece.advice == "restart" for piece in pieces) else "none"


def _job_of(tick: Tick, suspect: Suspect) -> str:
    """The job of the devices that are to blame, else of the node's; the first of several by name."""
    frame = tick.frame
    rows = list(suspect.devices) or np.flatnonzero(frame.node_of == suspect.node).tolist()
    jobs = sorted(
        frame.names.jobs[code] for code in {int(frame.job[row]) for row in rows} if code >= 0
    )
    return jobs[0] if jobs else ""


def channels_of(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """The channels that have a part in it."""
    return tuple(dict.fromkeys(str(piece.channel) for piece in pieces if contributes(piece)))


def greatest_of(pieces: Sequence[Piece]) -> str:
    """The family with the greatest share of the scores."""
    share: dict[str, float] = {}
    for piece in pieces:
        share[piece.family] = share.get(piece.family, 0.0) + piece.score
    return max(share, key=lambda family: (share[family], family), default="")


def signals_of(explanations: Sequence[Explained]) -> tuple[Signal, ...]:
    """What people are shown of it."""
    return tuple(each.signal for each in explanations)
