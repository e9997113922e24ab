"""Incidents in the order in which they are shown, members below their group, and what each is called."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.incidents.incident import IncidentState
from accelwatch.alerting.rules.document import Scope, Severity
from accelwatch.base.errors import WireError
from accelwatch.fleet.wire import IncidentNow
from accelwatch.schema.moments import unix_seconds
from accelwatch.schema.natural_order import natural

SORTS = ("worst", "newest", "where", "title", "rule", "job")
TITLES = {
    "worst": "worst first",
    "newest": "age",
    "where": "node and device",
    "title": "title",
    "rule": "rule",
    "job": "job",
}
OPEN, MUTED, OVER = "open", "muted", "over"
"""How an incident stands, in a word."""
_WEIGHTS: Mapping[str, int] = {severity.value: severity.weight for severity in Severity}
_STANDINGS = (OPEN, MUTED, OVER)

Keeps = Callable[[IncidentDocument], bool]


class IncidentRow(msgspec.Struct, frozen=True, gc=False):
    """An incident on the list."""

    told: IncidentNow
    members: int = 0
    """How many of its members are known here; 0 of one that is no group."""
    member: bool = False
    """Whether it stands below its group."""

    @property
    def incident(self) -> IncidentDocument:
        """What is known of it."""
        return self.told.incident


def standing(incident: IncidentDocument) -> str:
    """`open`, `muted` (nobody is told of it) or `over`."""
    if incident.state == IncidentState.CLOSED:
        return OVER
    return OPEN if incident.muted_by is None else MUTED


def moment(text: str | None) -> float:
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


def place_of(incident: IncidentDocument) -> str:
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
    return incident.part_of or incident.follows


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
        told
        for told in incidents
        if (over or told.incident.state == IncidentState.OPEN)
        and (keeps is None or keeps(told.incident))
    ]
    members: dict[str, list[IncidentNow]] = {}
    by_id = {told.incident.id: told.incident for told in shown}
    single: list[IncidentNow] = []
    for told in shown:
        top = by_id.get(above(told.incident))
        # What leads its cause may be a member of a group itself.
        top = top and by_id.get(above(top), top)
        if top is None:
            single.append(told)
        else:
            members.setdefault(top.id, []).append(told)
    rows: list[IncidentRow] = []
    for told in ordered(single, sort, descending=descending):
        own = members.get(told.incident.id, [])
        rows.append(IncidentRow(told, members=len(own)))
        if told.incident.id in unfolded:
            rows += [IncidentRow(one, member=True) for one in ordered(own, "worst")]
    return rows


def ordered(
    incidents: Sequence[IncidentNow], sort: str, *, descending: bool = True
) -> list[IncidentNow]:
    """By a column, the newest first among equals; a name that is empty comes last either way."""
    newest = sorted(incidents, key=lambda told: moment(told.incident.since), reverse=True)
    if sort == "newest":
        return newest if descending else newest[::-1]
    if sort == "worst":
        worst = sorted(newest, key=_rank)
        return worst if descending else worst[::-1]
    name = _NAMES[sort]
    named = [told for told in newest if name(told.incident)]
    named.sort(key=lambda told: natural(name(told.incident)), reverse=descending)
    return [*named, *(told for told in newest if not name(told.incident))]


def _rank(told: IncidentNow) -> tuple[int, int]:
    incident = told.incident
    return _STANDINGS.index(standing(incident)), -_WEIGHTS.get(incident.severity, 0)


_NAMES: Mapping[str, Callable[[IncidentDocument], str]] = {
    "where": place_of,
    "title": lambda incident: incident.title,
    "rule": lambda incident: incident.rule,
    "job": lambda incident: incident.job or ",".join(incident.jobs),
}
