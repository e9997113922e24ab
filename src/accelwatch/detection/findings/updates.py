"""A finding that goes on, and what a tick says of it: what of it changes."""

import msgspec

from accelwatch.detection.evidence import Channel
from accelwatch.detection.findings.advice import worse
from accelwatch.detection.findings.finding import Finding, Level, Scope

# The greater the worse.
LEVELS = {Level.WATCH: 0, Level.ALERT: 1}
_WIDTH = {Scope.DEVICE: 0, Scope.NODE: 1, Scope.JOB: 2, Scope.GROUP: 2}


def updated(before: Finding, report: Finding, now: float) -> Finding:
    """The finding with what the tick says of it; `updated` is of now only where that is news.

    Level and scope only grow, and nobody who was concerned is dropped: people have acted on it. Nobody
    acts on a look: an alert that comes of it is about whom it is about.
    """
    level = max(before.level, report.level, key=LEVELS.__getitem__)
    wider = _WIDTH[report.scope] > _WIDTH[before.scope]
    # A device and another one of the same node: it is the node.
    other = before.scope is report.scope is Scope.DEVICE and before.device != report.device
    rises = level is not before.level
    device = report.device if rises else before.device or report.device
    scope = Scope.NODE if other else before.scope
    if rises or wider:
        scope = report.scope
    channels = tuple(dict.fromkeys((*before.channels, *report.channels)))
    nodes = tuple(dict.fromkeys((*report.nodes, *before.nodes)))
    # The worst that was advised stays: what helps against it helps against the rest. But what numbers
    # alone advised is over when the log says that it was the application.
    advice = report.advice if rises else worse(before.advice, report.advice)
    by_numbers = before.advice == "exclude" and Channel.HARD not in channels
    if by_numbers and report.advice == "restart":
        advice = report.advice
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
        device=device if scope is Scope.DEVICE else "",
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
