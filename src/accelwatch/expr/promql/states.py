"""State and health of a device, told as 0 or 1 and as counts by state of each vendor."""

from functools import reduce

from accelwatch.expr.promql.place import DEVICE, Place
from accelwatch.expr.promql.query import (
    PromqlError,
    Query,
    Truth,
    called,
    joined,
    quoted,
    without,
)
from accelwatch.expr.promql.wanted import Wanted


def standing(name: str, wanted: Wanted, place: Place) -> Truth:
    """Whether `state` or `health` of a device is one of some words. Raises PromqlError."""
    if place.scope != DEVICE:
        raise PromqlError(f"agents do not expose {name} of a {place.scope}")
    if name == "health":
        selected = Query(place.select("health", wanted.matcher("state", fits=True)))
        true = place.stripped(joined(selected, "==", Query("1")), ("state",))
        return Truth(true, without(place.everybody, true))
    if wanted.pattern:
        raise PromqlError("a pattern on state")
    known = [_STATES.get(word) for word in wanted.words]
    for word, made in zip(wanted.words, known, strict=True):
        if made is None:
            place.note(_untold(word))
    states = [made(place) for made in known if made is not None]
    if not states:
        raise PromqlError(_untold(wanted.words[0]))
    true = reduce(lambda one, other: joined(one, "or", other), states)
    return Truth(true, without(place.everybody, true))


def _down(place: Place) -> Query:
    down = joined(Query(place.select("device_up")), "==", Query("0"))
    asleep = joined(Query(place.select("device_suspended")), "==", Query("1"))
    return without(down, asleep)


def _counted(states: str) -> Query:
    family = f"accel_devices{{state{'=~' if '|' in states else '='}{quoted(states)}}}"
    return joined(called("sum without (state) ", family), ">", Query("0"))


def _only(place: Place, state: str, others: str) -> Query:
    """Devices that are down where those of the vendor that are down all have one state."""
    beside = "ignoring (device, uuid)"
    there = joined(_down(place), "and", _counted(state), beside)
    return joined(there, "unless", _counted(others), beside)


def _lost(place: Place) -> Query:
    # As our own reader of this text has it: where a vendor's devices have several states, lost.
    place.note(
        "where devices of a vendor on a node are down for several reasons, all count as lost"
    )
    beside = "ignoring (device, uuid)"
    return joined(_down(place), "and", _counted("lost"), beside)


def _unresponsive(place: Place) -> Query:
    return _only(place, "unresponsive", "lost|excluded")


def _excluded(place: Place) -> Query:
    return _only(place, "excluded", "lost|unresponsive")


def _suspended(place: Place) -> Query:
    return joined(Query(place.select("device_suspended")), "==", Query("1"))


_STATES = {
    "lost": _lost,
    "unresponsive": _unresponsive,
    "excluded": _excluded,
    "suspended": _suspended,
}
_UNTOLD = {
    "missing": "that a device is missing is known to a hub, not to its agent",
    "unreachable": "that a node does not answer is known to a hub; in Prometheus, up is 0",
    "stale": "that a node does not answer is known to a hub; in Prometheus, up is 0",
}


def _untold(state: str) -> str:
    return _UNTOLD.get(state, f"agents do not expose the state {state}")
