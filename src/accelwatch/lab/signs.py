"""By what each thing of a scenario is recognised in a look at the lab."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from accelwatch.lab.look import Look
from accelwatch.lab.scenarios import Seen
from accelwatch.lab.scheduler import NodeNow


class Place(NamedTuple):
    """What a phase is about."""

    node: str
    sick: Sequence[str]
    """Nodes with a fault now."""
    since: float
    """Unix seconds at which the phase began."""
    restarts: int
    """How often the job had been begun again by then."""
    written: int
    """The greatest restart count in its log by then."""


class Sign(NamedTuple):
    """When something was so, and a sentence about it."""

    at: float
    text: str


Recognise = Callable[[Look, Place], Sign | None]


def recognised(what: Seen, look: Look, place: Place) -> Sign | None:
    """The sign of a thing; None while it is not to be seen."""
    return _SIGNS[what](look, place)


def _incident(look: Look, place: Place) -> Sign | None:
    for one in look.incidents:
        at = _moment(one["opened"])
        if place.node in one["nodes"] and not one["group"] and at >= place.since - 1.0:
            return Sign(at, f"{one['id']} {one['rule']}: {one['title']} ({place.node})")
    return None


def _storm(look: Look, _: Place) -> Sign | None:
    for one in look.incidents:
        if len(one["nodes"]) > 1:
            return Sign(_moment(one["opened"]), f"{one['id']}: {one['title']}")
    return None


def _alert(look: Look, place: Place) -> Sign | None:
    for one in look.alerts:
        if one.time >= place.since:
            return Sign(one.time, f"{one.severity}, {one.kind}: {one.where}: {one.title}")
    return None


def _drained(look: Look, place: Place) -> Sign | None:
    node = look.nodes.get(place.node)
    if node is None or not node.ours:
        return None
    return _shown(look, place.node, node)


def _shown(look: Look, name: str, node: NodeNow) -> Sign:
    text = f"{look.scheduler} shows {name} {'+'.join(node.states)}: {node.reason}"
    return Sign(look.at, text)


def _fenced(look: Look, place: Place) -> Sign | None:
    node = look.nodes.get(place.node)
    if node is None or not node.ours or "DOWN" not in node.states:
        return None
    return _shown(look, place.node, node)


def _requeued(look: Look, place: Place) -> Sign | None:
    job = look.job
    if job is None or job.restarts <= place.restarts:
        return None
    return Sign(look.at, f"the job is begun again, for time {job.restarts}")


def _no_spare(look: Look, place: Place) -> Sign | None:
    return _noted(look, place, "no spare")


def _noted(look: Look, place: Place, words: str) -> Sign | None:
    """What the engine has written about it into an incident."""
    for one in look.incidents:
        for moment in one["timeline"]:
            at = _moment(moment["time"])
            if place.node in one["nodes"] and at >= place.since and words in moment["text"]:
                return Sign(at, moment["text"])
    return None


def _running(look: Look, place: Place) -> Sign | None:
    job = look.job
    if job is None or job.state != "RUNNING" or not set(place.sick).isdisjoint(job.nodes):
        return None
    if job.restarts <= place.written:
        return None
    return Sign(look.at, f"the job runs on {', '.join(job.nodes)}")


def _progress(look: Look, place: Place) -> Sign | None:
    done = [line for line in look.lines if line.what == "step"]
    for line in done:
        if line.restart > place.written:
            before = max((one.step for one in done if one.restart < line.restart), default=0)
            again = before - line.step + 1
            text = f"step {line.step}, the first after the checkpoint"
            return Sign(line.time, f"{text}; {again} of {before} steps are done again")
    return None


def _away(look: Look, _: Place) -> Sign | None:
    return Sign(look.at, look.frozen) if look.frozen else None


def _left_alone(look: Look, place: Place) -> Sign | None:
    sign = _noted(look, place, f"took {place.node} over")
    return None if sign is None else Sign(sign.at, f"{sign.text}: the hub leaves it alone")


def _quiet(look: Look, _: Place) -> Sign | None:
    return Sign(look.at, "nothing more was done meanwhile")


def _verified(look: Look, place: Place) -> Sign | None:
    remedy = look.remedies.get(place.node)
    if remedy is not None and remedy["stage"] not in ("releasing", "probation"):
        return None
    return Sign(look.at, f"{place.node} looks well for as long as the rule asks")


def _released(look: Look, place: Place) -> Sign | None:
    node = look.nodes.get(place.node)
    return None if node is None or node.out else Sign(look.at, f"{place.node} takes work again")


def _over(look: Look, _: Place) -> Sign | None:
    if look.remedies or not look.nodes or any(node.out for node in look.nodes.values()):
        return None
    return Sign(look.at, "nothing is being done any more, and every node takes work")


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


_SIGNS: Mapping[Seen, Recognise] = {
    Seen.INCIDENT: _incident,
    Seen.STORM: _storm,
    Seen.ALERT: _alert,
    Seen.DRAINED: _drained,
    Seen.FENCED: _fenced,
    Seen.REQUEUED: _requeued,
    Seen.NO_SPARE: _no_spare,
    Seen.RUNNING: _running,
    Seen.PROGRESS: _progress,
    Seen.AWAY: _away,
    Seen.HELD_BY_OTHER: _left_alone,
    Seen.QUIET: _quiet,
    Seen.VERIFIED: _verified,
    Seen.RELEASED: _released,
    Seen.OVER: _over,
}
