"""From levels to findings: one for each cause, from its beginning to its end.

A node has one finding, whatever its devices and channels say. What enough nodes share is one finding of
their job or of what they have in common, and the members' own findings become part of it. A job that
hangs is one finding, which names the culprit. A finding that comes back within an hour is the same.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

import msgspec

from accelwatch.detection.common_cause import Accusation, Common, common_causes, first_seen
from accelwatch.detection.evidence import Channel, Evidence
from accelwatch.detection.explaining import Tables
from accelwatch.detection.finding import Finding, Level, Scope
from accelwatch.detection.fusion import Fused
from accelwatch.detection.reports import Report, culprit_of, of_common, of_hang, of_node
from accelwatch.detection.suspects import Suspect, pieces_of_jobs, suspects, without, worse
from accelwatch.detection.tick import Tick

# A finding with the key of one that ended less than this ago is that one.
COOLDOWN_S = 3600.0
# Channels whose evidence is decisive about a device or node.
_BY_HARDWARE = frozenset({Channel.HARD, Channel.LOG, Channel.STRUCTURAL})
_RANK = {Level.WATCH: 0, Level.ALERT: 1}
_WIDTH = {Scope.DEVICE: 0, Scope.NODE: 1, Scope.JOB: 2, Scope.GROUP: 2}


class MergingState(NamedTuple):
    """What is kept between ticks."""

    # By key.
    open: Mapping[str, Finding]
    # Those that have ended within `COOLDOWN_S`, by key.
    recent: Mapping[str, Finding]
    # Since when a node is accused in a family, Unix seconds.
    accused: Mapping[Accusation, float]
    # The families of each open finding of a group or job.
    families: Mapping[str, frozenset[str]]


def fresh() -> MergingState:
    """The state before the first tick."""
    return MergingState({}, {}, {}, {})


def merge(
    state: MergingState, tick: Tick, fused: Fused, evidence: Sequence[Evidence], tables: Tables
) -> tuple[MergingState, tuple[Finding, ...]]:
    """One tick: the state after it, and the findings that were opened, have changed or have ended."""
    now, names = tick.frame.now, tick.frame.names
    accused = suspects(tick.frame, fused, evidence)
    since = first_seen(state.accused, accused, names.nodes, now)
    common = common_causes(tick, accused, since, state.families)
    hangs = pieces_of_jobs(evidence, fused.jobs)
    blamed = {names.nodes[suspect.node] for suspect in accused}

    reports: dict[str, Report] = {}
    for group in common:
        reports[group.key] = of_common(tick, tables, group)
    for job, pieces in hangs.items():
        culprit = culprit_of(tick, job, accused, evidence)
        report = of_hang(tick, tables, job, pieces, culprit)
        # A job whose nodes have all changed because it hangs has one finding, and that is the hang.
        reports[report.key] = report
    for suspect in accused:
        own = _unexplained(tick, suspect, common, frozenset(hangs))
        if own is not None:
            report = of_node(tick, tables, own)
            reports[report.key] = report

    # A level that has not ended yet accuses nobody anew: it only keeps open what it was raised for.
    calm = {names.nodes[suspect.node] for suspect in accused if not suspect.families}
    lasting = {key for key, finding in state.open.items() if calm & set(finding.nodes)}
    # Broken hardware does not become part of the hang that it has caused.
    lasting |= {
        key
        for key, finding in state.open.items()
        if hangs and _BY_HARDWARE & set(finding.channels) and finding.node in blamed
    }
    changed, after = _apply(state, reports, lasting, now)
    families = {key: state.families.get(key, frozenset()) for key in after.open}
    families |= {group.key: group.families for group in common}
    families = {key: some for key, some in families.items() if some}
    return after._replace(accused=since, families=families), changed


def _unexplained(
    tick: Tick, suspect: Suspect, common: Sequence[Common], hanging: frozenset[int]
) -> Suspect | None:
    """What a node stands accused of now that no group explains; None for nothing."""
    explained: frozenset[str] = frozenset()
    for group in common:
        if any(member.node == suspect.node for member in group.members):
            explained |= group.families
    if not suspect.families:
        return None
    if explained:
        remaining = without(suspect, explained)
        if remaining is None:
            return None
        suspect = remaining
    jobs = set(tick.frame.job[tick.frame.node_of == suspect.node].tolist())
    if not jobs & hanging:
        return suspect
    # That power and traffic differ when a job hangs is the hang, and so is who caused it; a fault of the
    # hardware is more.
    pieces = tuple(piece for piece in suspect.pieces if piece.channel is not Channel.HANG)
    own = suspect._replace(pieces=pieces)
    return own if own.is_decisive else None


def _apply(
    state: MergingState, reports: Mapping[str, Report], lasting: Set[str], now: float
) -> tuple[tuple[Finding, ...], MergingState]:
    open_now = dict(state.open)
    recent = {
        key: finding
        for key, finding in state.recent.items()
        if finding.cleared is not None and now - finding.cleared < COOLDOWN_S
    }
    changed: list[Finding] = []
    for key, report in reports.items():
        before = open_now.get(key) or recent.get(key)
        if before is not None and before.cleared is not None:
            # What was an alert an hour ago does not come back for a look.
            if _RANK[report.level] < _RANK[before.level]:
                continue
            del recent[key]
        after = _opened(report, now) if before is None else _updated(before, report, now)
        open_now[key] = after
        if before is None or after.updated != before.updated or before.cleared is not None:
            changed.append(after)
    for key in state.open.keys() - reports.keys() - lasting:
        finished = msgspec.structs.replace(open_now.pop(key), updated=now, cleared=now)
        recent[key] = finished
        changed.append(finished)
    changed.sort(key=lambda finding: finding.key)
    return tuple(changed), MergingState(open_now, recent, {}, {})


def _opened(report: Report, now: float) -> Finding:
    return Finding(
        key=report.key,
        level=report.level,
        scope=report.scope,
        node=report.node,
        device=report.device,
        job=report.job,
        nodes=report.nodes,
        family=report.family,
        channels=report.channels,
        advice=report.advice,
        score=report.score,
        onset=report.onset,
        opened=now,
        updated=now,
        cleared=None,
        signals=report.signals,
        sentence=report.sentence,
    )


def _updated(before: Finding, report: Report, now: float) -> Finding:
    """The finding with what the tick says of it; `updated` is of now only where that is news.

    Level and scope only grow, and nobody who was concerned is dropped: people have acted on it.
    """
    level = max(before.level, report.level, key=_RANK.__getitem__)
    wider = _WIDTH[report.scope] > _WIDTH[before.scope]
    # A device and another one of the same node: it is the node.
    other = before.scope is report.scope is Scope.DEVICE and before.device != report.device
    scope = Scope.NODE if other else (report.scope if wider else before.scope)
    channels = tuple(dict.fromkeys((*before.channels, *report.channels)))
    nodes = tuple(dict.fromkeys((*report.nodes, *before.nodes)))
    rises = level is not before.level
    # The worst that was advised stays: what helps against it helps against the rest.
    advice = report.advice if rises else worse(before.advice, report.advice)
    changes = (
        rises
        or scope is not before.scope
        or advice != before.advice
        or set(nodes) != set(before.nodes)
        or set(channels) != set(before.channels)
        or bool(report.node and not before.node)
        or before.cleared is not None
    )
    if not changes:
        return msgspec.structs.replace(before, score=report.score)
    signals = report.signals or before.signals
    return msgspec.structs.replace(
        before,
        level=level,
        scope=scope,
        node=before.node or report.node,
        device=before.device or report.device if scope is Scope.DEVICE else "",
        job=report.job or before.job,
        nodes=nodes,
        family=report.family or before.family,
        channels=channels,
        advice=advice,
        score=report.score,
        onset=min(before.onset, report.onset),
        updated=now,
        cleared=None,
        signals=signals,
        sentence=report.sentence if report.signals else before.sentence,
    )
