"""Label and field selectors: of a request's query, and as objects have them."""

import re
from collections.abc import Callable
from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import (
    EVENTS,
    PODS,
    SLICES,
    Resource,
)
from accelwatch_lab.cluster.kubernetes.api_server.status import bad_request

Object = dict[str, Any]
Matches = Callable[[Object], bool]
_REQUIREMENT = re.compile(
    r"\s*(!)?\s*([^\s!=,()]+)\s*(?:(==|=|!=)\s*([^\s,()]*)|(?:\s(in|notin)\s*\(([^)]*)\)))?\s*"
)
# Fields that a resource can be selected by, beside metadata.name and metadata.namespace.
_FIELDS = {
    PODS.key: {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "status.phase"},
    SLICES.key: {"spec.nodeName", "spec.driver"},
    EVENTS.key: {
        *("involvedObject.kind", "involvedObject.name", "involvedObject.namespace"),
        *("involvedObject.uid", "reason", "type", "source", "reportingComponent"),
    },
}


def label_matcher(text: str) -> Matches:
    """Of `a=b,c!=d,e in (f, g),h,!i`. Raises RequestError."""
    matchers = [
        _label(requirement)
        for requirement in re.split(r",(?![^(]*\))", text)
        if requirement.strip()
    ]
    return lambda stored: all(
        matches(stored["metadata"].get("labels") or {}) for matches in matchers
    )


def _label(text: str) -> Callable[[dict[str, str]], bool]:
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        raise bad_request(f"unable to parse requirement: {text!r}")
    absent, key, operator, value, among, values = match.groups()
    choices = {choice.strip() for choice in (values or "").split(",")}
    if absent:
        return lambda labels: key not in labels
    if operator in ("=", "=="):
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    if among == "in":
        return lambda labels: labels.get(key) in choices
    if among == "notin":
        return lambda labels: labels.get(key) not in choices
    return lambda labels: key in labels


def field_matcher(resource: Resource, text: str) -> Matches:
    """Of `spec.nodeName=a,status.phase!=Running`. Raises RequestError."""
    requirements = [_field(resource, requirement) for requirement in text.split(",") if requirement]
    return lambda stored: all(
        (_value(stored, path) == value) is equal for path, value, equal in requirements
    )


def _field(resource: Resource, text: str) -> tuple[tuple[str, ...], str, bool]:
    path, operator, value = (group.strip() for group in re.split(r"(!=|==?)", text, maxsplit=1))
    allowed = {"metadata.name", "metadata.namespace", *_FIELDS.get(resource.key, ())}
    if path not in allowed:
        raise bad_request(f"field label not supported: {path}")
    return tuple(path.split(".")), value, operator != "!="


def _value(stored: Object, path: tuple[str, ...]) -> str:
    value: Any = stored
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return str(value or "")


def matches_selector(selector: Object | None, labels: dict[str, str]) -> bool:
    """Whether a LabelSelector selects an object with the labels; an empty one does, None does not."""
    if selector is None:
        return False
    if not (selector.get("matchLabels") or {}).items() <= labels.items():
        return False
    return all(_expression(each, labels) for each in selector.get("matchExpressions") or ())


def _expression(expression: Object, labels: dict[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels
