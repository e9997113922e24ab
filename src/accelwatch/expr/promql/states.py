"""State and health of a device, exported as 0 or 1 and as counts by state of each vendor."""

from functools import reduce

from accelwatch.expr.promql.query import (
    PromqlError,
    Query,
    Truth,
    called,
    joined,
    quoted,
    without,
)
from accelwatch.expr.promql.query_context import DEVICE, QueryContext
from accelwatch.expr.promql.text_match import TextMatch


def state_condition(name: str, text_match: TextMatch, context: QueryContext) -> Truth:
    """Whether `state` or `health` of a device is one of some words. Raises PromqlError."""
    if context.scope != DEVICE:
        raise PromqlError(f"agents do not expose {name} of a {context.scope}")
    if name == "health":
        selected = Query(context.select("health", text_match.matcher("state", fits=True)))
        true = context.stripped(joined(selected, "==", Query("1")), ("state",))
        return Truth(true, without(context.everybody, true))
    if text_match.pattern:
        raise PromqlError("a pattern on state")
    builders = [_STATES.get(state) for state in text_match.values]
    for state, made in zip(text_match.values, builders, strict=True):
        if made is None:
            context.note(_why_not_exposed(state))
    states = [made(context) for made in builders if made is not None]
    if not states:
        raise PromqlError(_why_not_exposed(text_match.values[0]))
    true = reduce(lambda first, other: joined(first, "or", other), states)
    return Truth(true, without(context.everybody, true))


def _down(context: QueryContext) -> Query:
    down = joined(Query(context.select("device_up")), "==", Query("0"))
    asleep = joined(Query(context.select("device_suspended")), "==", Query("1"))
    return without(down, asleep)


def _counted(states: str) -> Query:
    family = f"accel_devices{{state{'=~' if '|' in states else '='}{quoted(states)}}}"
    return joined(called("sum without (state) ", family), ">", Query("0"))


def _only(context: QueryContext, state: str, others: str) -> Query:
    """Devices that are down where those of the vendor that are down all have one state."""
    beside = "ignoring (device, uuid)"
    there = joined(_down(context), "and", _counted(state), beside)
    return joined(there, "unless", _counted(others), beside)


def _lost(context: QueryContext) -> Query:
    # As our own reader of this text has it: where a vendor's devices have several states, lost.
    context.note(
        "where devices of a vendor on a node are down for several reasons, all count as lost"
    )
    beside = "ignoring (device, uuid)"
    return joined(_down(context), "and", _counted("lost"), beside)


def _unresponsive(context: QueryContext) -> Query:
    return _only(context, "unresponsive", "lost|excluded")


def _excluded(context: QueryContext) -> Query:
    return _only(context, "excluded", "lost|unresponsive")


def _suspended(context: QueryContext) -> Query:
    return joined(Query(context.select("device_suspended")), "==", Query("1"))


_STATES = {
    "lost": _lost,
    "unresponsive": _unresponsive,
    "excluded": _excluded,
    "suspended": _suspended,
}
_NOT_EXPOSED = {
    "missing": "that a device is missing is known to a hub, not to its agent",
    "unreachable": "that a node does not answer is known to a hub; in Prometheus, up is 0",
    "stale": "that a node does not answer is known to a hub; in Prometheus, up is 0",
}


def _why_not_exposed(state: str) -> str:
    return _NOT_EXPOSED.get(state, f"agents do not expose the state {state}")
