"""What incidents are filtered by: plain text, or a condition over their names and labels."""

from collections.abc import Callable, Iterable
from functools import cache

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.incidents.model.incident import IncidentState
from accelwatch.alerting.rules.document import Scope, Severity
from accelwatch.expr import MISSING, Key, Missing, NameTable, Type, Value, compile_condition
from accelwatch.fleet.picture.incidents import Keeps, status_of
from accelwatch.tui.local.filters import is_expression

_FIELDS = ("id", "severity", "state", "scope", "rule", "family", "title", "node", "vendor", "model")
_FURTHER = ("device", "job", "user", "rack", "group", "source", "confidence", "advice")
# Names that a condition knows beside the labels of nodes.
NAMES = (*_FIELDS, *_FURTHER)
_VALUES = {
    "severity": tuple(Severity),
    "state": tuple(IncidentState),
    "scope": tuple(Scope),
}


# By the set of labels, which changes only when targets do.
@cache
def _table(labels: frozenset[str]) -> NameTable:
    identity = dict.fromkeys((*sorted(labels), *NAMES), Type.STRING)
    return NameTable(identity=identity, rows={}, values=_VALUES)


def incident_filter(text: str, labels: Iterable[str]) -> Keeps | None:
    """What keeps an incident; None for an empty text. Raises ExpressionError."""
    text = text.strip()
    if not text:
        return None
    names = _table(frozenset(labels))
    if is_expression(text, names):
        condition = compile_condition(text, names)
        return lambda incident: condition.evaluate(_lookup(incident)) is True
    needle = text.lower()
    return lambda incident: any(
        needle in candidate.lower() for candidate in _searched_texts(incident)
    )


def labels_of(incidents: Iterable[IncidentDocument]) -> frozenset[str]:
    """The names of all labels."""
    return frozenset(name for incident in incidents for name in incident.labels)


def _lookup(incident: IncidentDocument) -> Callable[[Key], Value | Missing]:
    own = {
        "device": incident.device_name or incident.device,
        "job": incident.job or "+".join(incident.jobs),
        "user": "+".join(incident.users),
    }

    def value(key: Key) -> Value | Missing:
        name = str(key)
        if name in own:
            return own[name]
        if name in NAMES:
            text: str = getattr(incident, name)
            return text
        return incident.labels.get(name, MISSING)

    return value


def _searched_texts(incident: IncidentDocument) -> Iterable[str]:
    value = _lookup(incident)
    yield from (str(value(name)) for name in NAMES)
    yield status_of(incident)
    yield from (*incident.nodes, *incident.rules, *incident.labels.values())
