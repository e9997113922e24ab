"""Whether many nodes suffer by one cause: then no node is to blame, and none is quarantined."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from accelwatch.detection.evidence import Evidence, Subject
from accelwatch.detection.findings.finding import Scope
from accelwatch.detection.findings.node_heat import HEAT
from accelwatch.detection.findings.suspects import Accusation, Suspect
from accelwatch.detection.fusion.families import family_of, follows_from
from accelwatch.detection.fusion.strength import AGREE_S
from accelwatch.detection.tick import Tick

# More than a fifth of those who do the same work, three at least, within what their family says.
SHARE = 0.2
LEAST_NODES = 3

# What a job stands still for, so that all else of its nodes follows from it.
_AWAITED = ("storage", "fabric")


class Common(NamedTuple):
    """Nodes that suffer in the same families by one cause."""

    key: str
    scope: Scope
    # What they have in common: of `Family.shared`; empty where it is their job.
    shared: str
    families: frozenset[str]
    # Those of the families in which enough suffer now.
    many: frozenset[str]
    # The first to suffer is first.
    members: tuple[Suspect, ...]
    # How many of them are warm as a whole, and have been for as long as two families need to agree.
    warm: int = 0

    @property
    def follows(self) -> frozenset[str]:
        """Families in which its nodes differ by what they share, unless something is decisive."""
        return follows_from(self.shared)


class Suffering(NamedTuple):
    """Nodes of a tick by what is known of them."""

    accused: Sequence[Suspect]
    # Of no level: heat of a row comes slowly, and the first that is hot enough to be accused is no more
    # to blame than those that follow.
    hinted: Sequence[Suspect]
    # Warm as a whole, accused or not.
    warm: Sequence[Suspect]


class _Group(NamedTuple):
    """Who can be compared with whom, in one family."""

    key: str
    family: str
    # How many nodes it has.
    size: int


def first_seen(
    before: Mapping[Accusation, float], accused: Iterable[Suspect], names: Sequence[str], now: float
) -> dict[Accusation, float]:
    """Since when each node is accused in each family, Unix seconds; who is well again is forgotten."""
    return {
        (names[suspect.node], family): before.get((names[suspect.node], family), now)
        for suspect in accused
        for family in suspect.families
    }


def common_causes(
    tick: Tick,
    suffering: Suffering,
    since: Mapping[Accusation, float],
    shared_at: Mapping[str, Mapping[str, float]],
) -> list[Common]:
    """Groups of which enough nodes suffer, or did until five minutes ago; until half an hour of heat.

    One of a group at least is accused, or warm for two minutes.

    `shared_at` has by key and family when enough last did, Unix seconds: not all are well again at
    once. Who still suffers after that has another reason than the others had.
    """
    # By node, so that who is accused of heat, or hinted at, and is warm as well is there once.
    groups: dict[_Group, dict[int, Suspect]] = {}
    accused, hinted, warm = suffering
    now = tick.frame.now
    lasting = [each for each in warm if now - each.onset >= AGREE_S]
    # Who is accused of something else, such as of a low clock, is warm all the same.
    for suspect in [*accused, *lasting]:
        for group in _groups_of(tick, suspect):
            groups.setdefault(group, {}).setdefault(suspect.node, suspect)
    for suspect in hinted:
        for group in _groups_of(tick, suspect):
            if group in groups:
                groups[group].setdefault(suspect.node, suspect)
    by_key: dict[str, list[_Group]] = {}
    many = {group for group, members in groups.items() if _are_many(tick, group, members, since)}
    warm_rows = {suspect.node for suspect in lasting}
    for group in groups:
        at = shared_at.get(group.key, {}).get(group.family, -np.inf)
        # What is slow to come is slow to go.
        if group in many or now - at <= family_of(group.family).within_s:
            by_key.setdefault(group.key, []).append(group)
    return [
        _common(key, matching, groups, many, warm_rows) for key, matching in sorted(by_key.items())
    ]


def is_consequence(group: Common, common: Sequence[Common]) -> bool:
    """Whether a job's nodes differ since most of them wait for what they share."""
    waiting = {
        member.node for other in common if other.shared in _AWAITED for member in other.members
    }
    members = {member.node for member in group.members}
    return group.scope is Scope.JOB and 2 * len(members & waiting) > len(members)


def waited_for(tick: Tick, job: int, evidence: Sequence[Evidence]) -> str:
    """What enough nodes of a job wait for, of `Family.shared`; empty where that is nothing."""
    nodes = np.unique(tick.frame.node_of[tick.frame.job == job])
    waiting: dict[str, set[int]] = {}
    for item in evidence:
        if item.advice == "wait" and item.subject is Subject.NODE:
            shared = family_of(item.family).shared
            waiting.setdefault(shared, set()).update(np.intersect1d(nodes, item.rows).tolist())
    return next(
        (
            shared
            for shared in _AWAITED
            if len(waiting.get(shared, ())) > max(LEAST_NODES - 1, SHARE * len(nodes))
        ),
        "",
    )


def _groups_of(tick: Tick, suspect: Suspect) -> list[_Group]:
    """The groups that a suspect's accusations are compared in, each once."""
    matching: dict[_Group, None] = {}
    for piece in suspect.pieces:
        level = tick.devices if piece.subject is Subject.DEVICE else tick.nodes
        code = int(level.groups.code[piece.row])
        comparable = code >= 0 and bool(level.groups.comparable[code])
        shared = family_of(piece.family).shared
        if shared:
            # Nodes share fabric, storage and cooling whichever part of a job's work they do, and
            # without a job.
            nodes = len(tick.frame.names.nodes)
            matching[_Group(f"group/{shared}", piece.family, nodes)] = None
        elif comparable:
            job = int(level.groups.job[code])
            key = f"job/{tick.frame.names.jobs[job]}" if job >= 0 else "group/alike"
            matching[_Group(key, piece.family, int(level.groups.nodes[code]))] = None
    return list(matching)


def _are_many(
    tick: Tick, group: _Group, members: Iterable[int], since: Mapping[Accusation, float]
) -> bool:
    """Whether enough of its members, rows of nodes, came within the time, whichever it was."""
    names = tick.frame.names.nodes
    times = np.sort([since[names[node], group.family] for node in members])
    family = family_of(group.family)
    # For each the number of those that came up to `within_s` after it, itself among them.
    last = np.searchsorted(times, times + family.within_s, side="right")
    together = last - np.arange(len(times))
    most = int(together.max(initial=0))
    # Nodes fail once in months (1.2): three within half an hour do not by chance, and what they share is
    # named by the family. Of a job's nodes some may differ together by their part of its work.
    return most >= LEAST_NODES and (bool(family.shared) or most > SHARE * group.size)


def _common(
    key: str,
    matching: Sequence[_Group],
    groups: Mapping[_Group, Mapping[int, Suspect]],
    many: Set[_Group],
    warm: Set[int],
) -> Common:
    members = {node: member for group in matching for node, member in groups[group].items()}
    is_job = key.startswith("job/")
    return Common(
        key,
        Scope.JOB if is_job else Scope.GROUP,
        "" if is_job else family_of(matching[0].family).shared,
        frozenset(group.family for group in matching),
        frozenset(group.family for group in matching if group in many),
        tuple(
            sorted(members.values(), key=lambda member: (member.onset, -member.score, member.node))
        ),
        len(warm & members.keys()) if any(group.family == HEAT for group in matching) else 0,
    )
