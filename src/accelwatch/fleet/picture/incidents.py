"""Incidents in the order in which they are shown, members below their group, and what each is called."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.incidents.model.incident import IncidentState
from accelwatch.alerting.rules.document import Scope, Severity
from accelwatch.base.errors import WireError
from accelwatch.fleet.wire import IncidentNow
from accelwatch.schema.natural_order import natural
from accelwatch.schema.timestamps import unix_seconds

SORTS = ("worst", "newest", "where", "title", "rule", "job")
TITLES = {
    "worst": "worst first",
    "newest": "age",
    "where": "node and device",
    "title": "title",
    "rule": "rule",
    "job": "job",
}
# How an incident stands, in a word.
OPEN, MUTED, OVER = "open", "muted", "over"
_WEIGHTS: Mapping[str, int] = {severity.value: severity.weight for severity in Severity}
_STATES = (OPEN, MUTED, OVER)

Keeps = Callable[[IncidentDocument], bool]


class IncidentRow(msgspec.Struct, frozen=True, gc=False):
    """An incident on the list."""

    entry: IncidentNow
    # How many of its members are known here; 0 of one that is no group.
    members: int = 0
    # Whether it stands below its group.
    member: bool = False

    @property
    def incident(self) -> IncidentDocument:
        """What is known of it."""
        return self.entry.incident


def status_of(incident: IncidentDocument) -> str:
    """`open`, `muted` or `over`."""
    if incident.state == IncidentState.CLOSED:
        return OVER
    return OPEN if incident.muted_by is None else MUTED


def seconds_of(text: str | None) -> float:
    """A moment of a document as Unix seconds; 0 for one that is not there or makes no sense."""
    try:
        return unix_seconds(text) if text else 0.0
    except WireError:
        return 0.0


def about(incident: IncidentDocument) -> str:
    """What it is about where that is no device or node: `rack=r7`, `job 4711`; else empty."""
    if incident.group:
        return incident.group
    if incident.node:
        return ""
    return f"rack {incident.rack}" if incident.scope == Scope.RACK else f"job {incident.job}"


def location_of(incident: IncidentDocument) -> str:
    """Where it is, in few words."""
    named = ", ".join(incident.nodes[:4])
    what = about(incident)
    if not what:
        return f"{incident.node} {incident.device_name or incident.device}".strip()
    return f"{what}: {named}" if named else what


def entity_of(incident: IncidentDocument) -> str:
    """By what the hub finds its entity to explain a rule: `n12/nvidia3`; empty of a group."""
    if incident.group:
        return ""
    match incident.scope:
        case Scope.JOB:
            return f"job:{incident.job}"
        case Scope.RACK:
            return f"rack:{incident.rack}"
        case Scope.DEVICE:
            return f"{incident.node}/{incident.device_name or incident.device}"
    return incident.node


def above(incident: IncidentDocument) -> str:
    """Id of the incident that it stands below: its group, else what leads its cause; or empty."""
    return incident.group_incident or incident.follows


def listed(
    incidents: Iterable[IncidentNow],
    *,
    keeps: Keeps | None = None,
    over: bool = True,
    unfolded: Collection[str] = (),
    sort: str = "worst",
    descending: bool = True,
) -> list[IncidentRow]:
    """What is shown: groups once, their members below those that are unfolded.

    With a filter a member that it keeps stands by itself where its group is not kept.
    """
    shown = [
        entry
        for entry in incidents
        if (over or entry.incident.state == IncidentState.OPEN)
        and (keeps is None or keeps(entry.incident))
    ]
    members: dict[str, list[IncidentNow]] = {}
    by_id = {entry.incident.id: entry.incident for entry in shown}
    single: list[IncidentNow] = []
    for entry in shown:
        top = by_id.get(above(entry.incident))
        # What leads its cause may be a member of a group itself.
        top = top and by_id.get(above(top), top)
        if top is None:
            single.append(entry)
        else:
            members.setdefault(top.id, []).append(entry)
    rows: list[IncidentRow] = []
    for entry in ordered(single, sort, descending=descending):
        own = members.get(entry.incident.id, [])
        rows.append(IncidentRow(entry, members=len(own)))
        if entry.incident.id in unfolded:
            rows += [IncidentRow(member, member=True) for member in ordered(own, "worst")]
    return rows


def ordered(
    incidents: Sequence[IncidentNow], sort: str, *, descending: bool = True
) -> list[IncidentNow]:
    """By a column, the newest first among equals; a name that is empty comes last either way."""
    newest = sorted(incidents, key=lambda entry: seconds_of(entry.incident.since), reverse=True)
    if sort == "newest":
        return newest if descending else newest[::-1]
    if sort == "worst":
        worst = sorted(newest, key=_rank)
        return worst if descending else worst[::-1]
    name = _NAMES[sort]
    named = [entry for entry in newest if name(entry.incident)]
    named.sort(key=lambda entry: natural(name(entry.incident)), reverse=descending)
    return [*named, *(entry for entry in newest if not name(entry.incident))]


def _rank(entry: IncidentNow) -> tuple[int, int]:
    incident = entry.incident
    return _STATES.index(status_of(incident)), -_WEIGHTS.get(incident.severity, 0)


_NAMES: Mapping[str, Callable[[IncidentDocument], str]] = {
    "where": location_of,
    "title": lambda incident: incident.title,
    "rule": lambda incident: incident.rule,
    "job": lambda incident: incident.job or ",".join(incident.jobs),
}
