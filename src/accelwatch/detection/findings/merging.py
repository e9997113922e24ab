"""From levels to findings: one for each cause, from its beginning to its end.

A node has one finding, whatever its devices and channels say. What enough nodes share is one finding of
their job or of what they have in common, and the members' own findings become part of it. A job that
hangs is one finding, which names the culprit. A finding that comes back within an hour is the same.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

import msgspec

from accelwatch.detection.evidence import Channel, Evidence
from accelwatch.detection.findings.common_cause import (
    Common,
    Suffering,
    common_causes,
    first_seen,
    is_consequence,
    waited_for,
)
from accelwatch.detection.findings.explaining import Tables
from accelwatch.detection.findings.finding import Finding
from accelwatch.detection.findings.hang_reports import culprit_of, of_hang, of_waiting
from accelwatch.detection.findings.node_heat import warm_nodes
from accelwatch.detection.findings.reports import of_common, of_node
from accelwatch.detection.findings.suspects import (
    Accusation,
    Piece,
    Suspect,
    hints,
    pieces_of_jobs,
    suspects,
    without,
)
from accelwatch.detection.findings.updates import LEVELS, updated
from accelwatch.detection.fusion.fuse import Fused
from accelwatch.detection.tick import Tick

# A finding with the key of one that ended less than this ago is that one.
COOLDOWN_S = 3600.0
# Channels whose evidence is decisive about a device or node.
_BY_HARDWARE = frozenset({Channel.HARD, Channel.LOG, Channel.STRUCTURAL})


class MergingState(NamedTuple):
    """What is kept between ticks."""

    # By key.
    open: Mapping[str, Finding]
    # Those that have ended within `COOLDOWN_S`, by key.
    recent: Mapping[str, Finding]
    # Since when a node is accused in a family, Unix seconds.
    accused: Mapping[Accusation, float]
    # Of each open finding of a group or job, by family: when enough nodes last suffered, Unix seconds.
    shared_at: Mapping[str, Mapping[str, float]]
    # Nodes that have not come yet after a restart: until then the findings of them do not end.
    awaited: Set[str] = frozenset()


def fresh() -> MergingState:
    """The state before the first tick."""
    return MergingState({}, {}, {}, {})


def merge(
    state: MergingState, tick: Tick, fused: Fused, evidence: Sequence[Evidence], tables: Tables
) -> tuple[MergingState, tuple[Finding, ...]]:
    """One tick: the state after it, and the findings that were opened, have changed or have ended."""
    now, names = tick.frame.now, tick.frame.names
    accused = suspects(tick.frame, fused, evidence)
    warm = warm_nodes(tick, tables, state.accused)
    hinted = hints(tick.frame, evidence, accused) if accused or warm else []
    since = first_seen(state.accused, [*accused, *hinted, *warm], names.nodes, now)
    common = common_causes(tick, Suffering(accused, hinted, warm), since, state.shared_at)
    hangs = pieces_of_jobs(evidence, fused.jobs)
    blamed = {names.nodes[suspect.node] for suspect in accused}

    reports = {
        group.key: of_common(tick, tables, group)
        for group in common
        if not is_consequence(group, common)
    }
    # A job whose nodes have all changed because it hangs has one finding, and that is the hang.
    reports |= {each.key: each for each in _hang_reports(tick, tables, hangs, accused, evidence)}
    shared = frozenset().union(*(each.nodes for each in state.open.values() if not each.node))
    for suspect in accused:
        is_shared = names.nodes[suspect.node] in shared
        own = _unexplained(tick, suspect, common, frozenset(hangs), is_shared=is_shared)
        if own is not None:
            report = of_node(tick, tables, own)
            reports[report.key] = report

    # A level that has not ended yet makes no new accusation: it only keeps open what it was raised for.
    calm = {names.nodes[suspect.node] for suspect in accused if not suspect.families}
    calm |= state.awaited
    lasting = {key for key, finding in state.open.items() if calm & set(finding.nodes)}
    stopped = {names.jobs[job] for job, pieces in hangs.items() if not pieces}
    lasting |= {
        key
        for key, finding in state.open.items()
        if finding.job in stopped and Channel.HANG in finding.channels
    }
    # Broken hardware does not become part of the hang that it has caused.
    lasting |= {
        key
        for key, finding in state.open.items()
        if hangs and _BY_HARDWARE & set(finding.channels) and finding.node in blamed
    }
    changed, after = _apply(state, reports, lasting, now)
    shared_at = {key: dict(state.shared_at.get(key, {})) for key in after.open}
    for group in common:
        if group.key in shared_at:
            shared_at[group.key] |= dict.fromkeys(group.many, now)
    shared_at = {key: families for key, families in shared_at.items() if families}
    return after._replace(accused=since, shared_at=shared_at, awaited=state.awaited), changed


def _hang_reports(
    tick: Tick,
    tables: Tables,
    hangs: Mapping[int, Sequence[Piece]],
    accused: Sequence[Suspect],
    evidence: Sequence[Evidence],
) -> list[Finding]:
    reports = []
    for job, pieces in hangs.items():
        if not pieces:
            continue
        shared = waited_for(tick, job, evidence)
        culprit = -1 if shared else culprit_of(tick, job, accused, evidence)
        report = of_hang(tick, tables, job, pieces, culprit)
        reports.append(of_waiting(report, shared) if shared else report)
    return reports


def _unexplained(
    tick: Tick,
    suspect: Suspect,
    common: Sequence[Common],
    hanging: frozenset[int],
    *,
    is_shared: bool,
) -> Suspect | None:
    """What a node stands accused of now that no group explains; None for nothing.

    The level of a node in the finding of a group (`is_shared`) may be that of what it shares, also when
    nothing is read of that any more: it is judged by what is said of it now.
    """
    explained: frozenset[str] = frozenset()
    follows: frozenset[str] = frozenset()
    for group in common:
        if any(member.node == suspect.node for member in group.members):
            explained |= group.families
            follows |= group.follows
    if not suspect.families:
        return None
    if explained or is_shared:
        remaining = without(suspect, explained, follows, tick.frame.now)
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
    state: MergingState, reports: Mapping[str, Finding], lasting: Set[str], now: float
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
            if LEVELS[report.level] < LEVELS[before.level]:
                continue
            del recent[key]
        after = report if before is None else updated(before, report, now)
        open_now[key] = after
        if before is None or after.updated != before.updated or before.cleared is not None:
            changed.append(after)
    for key in state.open.keys() - reports.keys() - lasting:
        finished = msgspec.structs.replace(open_now.pop(key), updated=now, cleared=now)
        recent[key] = finished
        changed.append(finished)
    changed.sort(key=lambda finding: finding.key)
    return tuple(changed), MergingState(open_now, recent, {}, {})
