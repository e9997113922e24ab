"""`accelwatch rules explain detector`: what the detector holds of a node, as lines for people."""

from collections.abc import Iterator, Sequence

from accelwatch.alerting.rules.finding_evidence import value_text
from accelwatch.cli.table_lines import columns
from accelwatch.detection.status.documents import (
    EvidenceStatus,
    FamilyStatus,
    RowStatus,
    SignalStatus,
    Threshold,
)
from accelwatch.fleet.documents.detector import DetectorPage
from accelwatch.schema.display import counted, duration

_FAMILIES = (
    "FAMILY",
    "SCORE",
    "LASTED",
    "WATCH FROM",
    "AGREES FROM",
    "ALERT FROM",
    "Z",
    "REPORTED BY",
)
_SIGNALS = ("SIGNAL", "VALUE", "PEERS", "QUARTILES", "USUAL HERE", "Z")
_NOTHING = "-"


def lines_of(page: DetectorPage) -> Iterator[str]:
    """Findings, then each row with its families and signals."""
    yield f"the detector on {page.entity}, at {page.time}, every {duration(page.interval_s)}"
    for finding in page.findings:
        yield f"{finding.level} since {finding.onset} ({finding.scope}): {finding.sentence}"
    if not page.findings:
        yield "no finding"
    for row in page.rows:
        yield ""
        yield f"{row.subject} {row.name}: {_level(row)}"
        yield from (f"  {text}" for text in _group_lines(row))
        yield from (f"  {line}" for line in columns([_FAMILIES, *map(_family, row.families)]))
        yield f"  nothing from: {', '.join(row.quiet_channels) or 'none'}"
        if row.signals:
            yield from (f"  {line}" for line in columns([_SIGNALS, *map(_signal, row.signals)]))


def _level(row: RowStatus) -> str:
    if row.ends_below is None:
        return "no level"
    return f"{row.level}, ends after 5 min with a score below {row.ends_below:.1f}"


def _group_lines(row: RowStatus) -> Iterator[str]:
    """With whom it is compared, and what keeps it from being judged."""
    group = row.group
    if group is None:
        return
    fragments = (
        f"job {group.job}" if group.job else "no job",
        f"stage {group.stage}" if group.stage else "",
        group.model,
    )
    what = ", ".join(fragment for fragment in fragments if fragment)
    peers = f"{counted(group.members - 1, 'peer')} on {counted(group.nodes, 'node')}"
    if group.comparable:
        yield f"compared with {peers}: {what}"
    else:
        yield f"no peers, since {group.reason}: {what}"
    learned = ", ".join(
        f"{duration(seconds)} {phase}" for phase, seconds in row.learned_s.items() if seconds
    )
    yield f"phase {row.phase}; own past learned: {learned or 'nothing yet'}"
    if row.on_hold:
        left = "" if row.hold_left_s is None else f" for {duration(row.hold_left_s)} more"
        yield f"on hold{left}: its group changes its phase, and numbers count for nothing"
    if row.maintenance:
        yield "in maintenance: nothing is found of it"
    if row.silent:
        age = "ever" if row.sample_age_s is None else f"for {duration(row.sample_age_s)}"
        yield f"no sample {age}"


def _family(family: FamilyStatus) -> Sequence[str]:
    factor = "" if family.factor == 1.0 else f" (x {family.factor:.2f})"
    score = f"{family.score:.1f}" if family.evidence else _NOTHING
    enough = f" ({family.enough_for})" if family.enough_for else ""
    return (
        family.family,
        f"{score}{enough}",
        duration(family.lasted_s) if family.evidence else _NOTHING,
        _threshold(family.watch) + factor,
        _threshold(family.agree),
        _threshold(family.alert),
        _z(family.z),
        "; ".join(map(_reported, family.evidence)) or _NOTHING,
    )


def _reported(evidence: EvidenceStatus) -> str:
    """`peer power_watts`, `log xid_79 of nvidia:GPU-1 (decisive)`."""
    of = f" of {evidence.device}" if evidence.device else ""
    cause = f" {evidence.cause}" if evidence.cause else ""
    weight = "" if evidence.weight == "statistical" else f" ({evidence.weight})"
    return f"{evidence.channel}{cause}{of}{weight}"


def _threshold(threshold: Threshold) -> str:
    return f"{threshold.score:.1f} for {duration(threshold.lasted_s)}"


def _z(z: float | None) -> str:
    return _NOTHING if z is None else f"{z:+.1f}"


def _signal(signal: SignalStatus) -> Sequence[str]:
    low, high = signal.low, signal.high
    quartiles = _NOTHING
    if low is not None and high is not None:
        quartiles = f"{_shown(signal.name, low)} to {_shown(signal.name, high)}"
    numbers = (signal.value, signal.expected)
    value, expected = (_shown(signal.name, number) for number in numbers)
    return signal.name, value, expected, quartiles, _shown(signal.name, signal.usual), _z(signal.z)


def _shown(name: str, value: float | None) -> str:
    return _NOTHING if value is None else value_text(name, value)
