"""Whom a tick accuses, by node: a few out of many, so from here on plain objects serve."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.findings.finding import Level
from accelwatch.detection.frame import Frame
from accelwatch.detection.fusion.families import family_of
from accelwatch.detection.fusion.fuse import Conclusions, Fused
from accelwatch.detection.fusion.row_levels import ALERTED, NONE
from accelwatch.detection.fusion.strength import AGREE, ALONE, MOST_SCORE, is_lifted, pending_s

# A node by its name, and a family.
Accusation = tuple[str, str]


class Piece(NamedTuple):
    """What one channel says of one row."""

    channel: Channel
    weight: Weight
    family: str
    subject: Subject
    row: int
    score: float
    # Unix seconds.
    since: float
    # Index in the signals of its subject; -1 for none.
    signal: int
    advice: str
    cause: str


class Suspect(NamedTuple):
    """A node that stands accused, itself or by its devices."""

    node: int
    # Rows of the devices that are to blame; none where it is the node itself.
    devices: tuple[int, ...]
    level: Level
    score: float
    # Unix seconds.
    onset: float
    # The strongest first; none where a level only has not ended yet.
    pieces: tuple[Piece, ...]

    @property
    def families(self) -> tuple[str, ...]:
        """Families that have a part in it, that of the strongest first."""
        return tuple(dict.fromkeys(piece.family for piece in self.pieces if contributes(piece)))

    @property
    def is_decisive(self) -> bool:
        """Whether anything is enough alone."""
        return any(piece.weight is Weight.DECISIVE for piece in self.pieces)


def suspects(frame: Frame, fused: Fused, evidence: Sequence[Evidence]) -> list[Suspect]:
    """Nodes with a level, in the order of their rows."""
    accused_devices = np.flatnonzero(fused.devices.level > NONE)
    accused_nodes = fused.nodes.level > NONE
    concerned = accused_nodes.copy()
    concerned[frame.node_of[accused_devices]] = True
    by_node: dict[int, list[Piece]] = {}
    of_accused, of_concerned = fused.devices.level > NONE, concerned[frame.node_of]
    for item in evidence:
        # What devices say of their host is of use although none of them is to blame.
        mask = of_concerned if is_lifted(item) else of_accused
        for piece in _pieces([item], Subject.DEVICE, mask):
            by_node.setdefault(int(frame.node_of[piece.row]), []).append(piece)
    for piece in _pieces(evidence, Subject.NODE, concerned):
        by_node.setdefault(piece.row, []).append(piece)
    devices: dict[int, list[int]] = {}
    for row in accused_devices.tolist():
        devices.setdefault(int(frame.node_of[row]), []).append(row)
    return [
        _suspect(node, devices.get(node, []), by_node.get(node, []), frame, fused)
        for node in np.flatnonzero(concerned).tolist()
    ]


def hints(frame: Frame, evidence: Sequence[Evidence], accused: Sequence[Suspect]) -> list[Suspect]:
    """Nodes without a level that differ in what many share: enough to excuse others only."""
    levelled = {suspect.node for suspect in accused}
    by_node: dict[int, list[Piece]] = {}
    # What only confirms says too little of a node that nothing accuses.
    shared = [
        item
        for item in evidence
        if family_of(item.family).shared and item.weight is not Weight.CONFIRMING
    ]
    everyone = {
        Subject.DEVICE: np.ones(len(frame.node_of), dtype=np.bool_),
        Subject.NODE: np.ones(len(frame.node_state), dtype=np.bool_),
    }
    for subject, mask in everyone.items():
        for piece in _pieces(shared, subject, mask):
            node = int(frame.node_of[piece.row]) if subject is Subject.DEVICE else piece.row
            if node not in levelled and piece.score >= AGREE:
                by_node.setdefault(node, []).append(piece)
    return [
        Suspect(
            node,
            (),
            Level.WATCH,
            max(piece.score for piece in pieces),
            min(piece.since for piece in pieces),
            strongest(pieces),
        )
        for node, pieces in by_node.items()
    ]


def _suspect(
    node: int, devices: list[int], pieces: list[Piece], frame: Frame, fused: Fused
) -> Suspect:
    own = int(fused.nodes.level[node])
    of_devices = max((int(fused.devices.level[row]) for row in devices), default=NONE)
    # A node that merely feels what its device does is not to blame, nor are devices of a bad node.
    blamed = [row for row in devices if fused.devices.level[row] == of_devices]
    # Nor are those that only differ since another device of the node has failed.
    failed = {
        piece.row
        for piece in pieces
        if piece.subject is Subject.DEVICE and piece.weight is Weight.DECISIVE
    }
    blamed = sorted(failed & set(blamed)) or blamed
    if own > of_devices or (own == of_devices and not _is_explained(fused, node, blamed)):
        blamed = []
    scores = [float(fused.devices.score[row]) for row in devices]
    onsets = [float(fused.devices.onset[row]) for row in devices]
    onset = min([float(fused.nodes.onset[node]), *onsets])
    return Suspect(
        node,
        tuple(blamed),
        Level.ALERT if max(own, of_devices) == ALERTED else Level.WATCH,
        max([float(fused.nodes.score[node]), *scores]),
        onset if np.isfinite(onset) else frame.now,
        strongest(pieces),
    )


def _is_explained(fused: Fused, node: int, devices: list[int]) -> bool:
    """Whether a device is to blame beyond doubt and its node is not."""
    return bool(fused.devices.decisive[devices].any()) and not bool(fused.nodes.decisive[node])


def contributes(piece: Piece) -> bool:
    """Whether a piece is more than noise beside what accuses: it would keep a level from ending."""
    return piece.weight is Weight.DECISIVE or piece.score >= AGREE / 2


def strongest(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The strongest first: what is decisive, then by score; equal ones in the order of the channels."""
    return tuple(
        sorted(pieces, key=lambda piece: (piece.weight is not Weight.DECISIVE, -piece.score))
    )


def pieces_of_jobs(evidence: Sequence[Evidence], jobs: Conclusions) -> dict[int, tuple[Piece, ...]]:
    """The evidence on jobs that have a level, by the code of the job."""
    by_job: dict[int, list[Piece]] = {row: [] for row in np.flatnonzero(jobs.level > NONE).tolist()}
    for piece in _pieces(evidence, Subject.JOB, jobs.level > NONE):
        by_job[piece.row].append(piece)
    return {job: strongest(pieces) for job, pieces in by_job.items()}


def without(
    suspect: Suspect,
    families: frozenset[str],
    follows: frozenset[str],
    now: float,
) -> Suspect | None:
    """What is left of a suspect when some families have another cause; None where that is nothing.

    What is decisive in families that only follow from that cause is left.
    """
    pieces = tuple(
        piece
        for piece in suspect.pieces
        if piece.family not in families
        and (piece.family not in follows or piece.weight is Weight.DECISIVE)
    )
    strong = [piece for piece in pieces if piece.score >= AGREE]
    decisive = any(piece.weight is Weight.DECISIVE for piece in pieces)
    if not strong and not decisive:
        return None
    independent = {_cause_of(piece) for piece in strong}
    enough = decisive or len(independent) > 1 or any(_is_enough(piece, now) for piece in strong)
    level = Level.ALERT if enough else Level.WATCH
    return suspect._replace(pieces=pieces, level=min(level, suspect.level, key=_rank))


def _cause_of(piece: Piece) -> str:
    """Its family; families of work are one."""
    family = family_of(piece.family)
    return "work" if family.of_work else family.name


def _is_enough(piece: Piece, now: float) -> bool:
    """Whether a piece is an alert without any other, as in fusion."""
    lasts = piece.score >= ALONE and now - piece.since >= pending_s(family_of(piece.family))
    return piece.weight is Weight.STATISTICAL and lasts


def _rank(level: Level) -> int:
    return 1 if level is Level.ALERT else 0


def _pieces(evidence: Sequence[Evidence], subject: Subject, mask: Bools) -> Iterable[Piece]:
    for item in evidence:
        if item.subject is not subject or item.channel is Channel.PRIOR:
            continue
        for at in np.flatnonzero(mask[item.rows]).tolist():
            yield Piece(
                item.channel,
                item.weight,
                item.family,
                item.subject,
                int(item.rows[at]),
                min(float(item.score[at]), MOST_SCORE),
                float(item.since[at]),
                int(item.signal[at]),
                item.advice,
                item.cause,
            )
