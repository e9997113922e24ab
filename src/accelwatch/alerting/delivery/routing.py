"""Which sinks are notified of an incident, from when on, and how often again. Pure."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from accelwatch.alerting.delivery.formatting.own_problem import is_own
from accelwatch.alerting.delivery.messages.cadence import Cadence, Plan
from accelwatch.alerting.delivery.messages.quiet_hours import after_quiet_hours
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Matcher, matchers
from accelwatch.alerting.rules.document import Severity
from accelwatch.base.errors import UsageError
from accelwatch.config.alerts import Alerts, Route

# A key of the section `alerts`, and what is wrong.
Mistake = tuple[str, str]


class _Path(msgspec.Struct, frozen=True):
    """A route that was read."""

    route: Route
    sinks: tuple[str, ...]
    matchers: tuple[Matcher, ...]

    def matches(self, incident: Incident) -> bool:
        """Whether an incident goes this way."""
        if incident.severity.weight < Severity(self.route.min_severity).weight:
            return False
        labels = incident.labels()
        return all(matcher.matches(labels) for matcher in self.matchers)


class Routes:
    """All routes of a configuration without mistakes."""

    def __init__(self, alerts: Alerts) -> None:
        self.sinks = tuple(sink.name for sink in alerts.sinks)
        self._paths = [
            _Path(route, route.sinks or self.sinks, _matchers(route.match))
            for route in alerts.routes or (Route(),)
        ]

    def plans(self, incident: Incident, now: float) -> dict[str, Plan]:
        """The plan of each sink that is to know of it; of several routes the earliest counts."""
        if is_own(incident):
            return dict.fromkeys(self.sinks, Plan(now))
        plans: dict[str, Plan] = {}
        for path in self._paths:
            if not path.matches(incident):
                continue
            route = path.route
            due = max(now, incident.opened + route.after_s)
            cadence = Cadence(remind_s=route.remind_s, quiet=route.quiet)
            plan = Plan(after_quiet_hours(route.quiet, incident.severity, due), (cadence,))
            for sink in path.sinks:
                plans[sink] = _earlier(plans.get(sink), plan)
        return plans


def _earlier(plan: Plan | None, other: Plan) -> Plan:
    if plan is None:
        return other
    cadences = dict.fromkeys((*plan.cadences, *other.cadences))
    return Plan(min(plan.due, other.due), tuple(cadences))


def _matchers(texts: Iterable[str]) -> tuple[Matcher, ...]:
    return tuple(matcher for text in texts for matcher in matchers(text))


def mistakes_in(alerts: Alerts) -> Iterator[Mistake]:
    """What does not fit together in routes and names of sinks."""
    names = [sink.name for sink in alerts.sinks]
    for number, name in enumerate(names):
        if not name:
            yield f"sinks[{number}].name", "is missing"
        elif name in names[:number]:
            yield f"sinks[{number}].name", f"there are two sinks {name!r}"
    for number, route in enumerate(alerts.routes):
        for key, text in _mistakes_of(route, names):
            yield f"routes[{number}].{key}", text
    if alerts.external_url and not alerts.external_url.startswith(("http://", "https://")):
        yield "external_url", "expected http://HOST:PORT or https://HOST"
    if alerts.routes and not names:
        yield "routes", "there are no sinks for them"


def _mistakes_of(route: Route, names: Sequence[str]) -> Iterator[Mistake]:
    for name in route.sinks:
        if name not in names:
            yield "sinks", f"there is no sink {name!r}; there are {', '.join(names) or 'none'}"
    try:
        _matchers(route.match)
    except UsageError as error:
        yield "match", str(error)
    quiet_hours = route.quiet
    if bool(quiet_hours.start) != bool(quiet_hours.end):
        yield "quiet", "from and to are both needed"
    elif quiet_hours.start and quiet_hours.start == quiet_hours.end:
        yield "quiet", "from and to are the same; leave the route out instead"
