"""Functions over groups: peers by their median, and conditions folded over the members."""

from collections.abc import Callable

from accelwatch.expr.checking.tree import Fold, Node, Peers
from accelwatch.expr.promql.query import PromqlError, Query, Truth, called, constant, joined
from accelwatch.expr.promql.query_context import Group, QueryContext
from accelwatch.expr.vocabulary.peers import LEAST_PEERS, LEAST_SCALE, LEAST_WITH_VALUE, MAD_SCALE

Number = Callable[[Node, QueryContext], Query]
Condition = Callable[[Node, QueryContext], Truth]


def peers(node: Peers, context: QueryContext, number: Number) -> Query:
    """The median of the group, or how far from it a device is. Raises PromqlError."""
    context.note("a device is compared with a group that it is itself part of, also a small one")
    group = Group(node.by, context)
    members = Group(node.by, group.members)
    values = number(node.operand, group.members)
    if values.scalar is not None:
        raise PromqlError("a number that is the same for all peers")
    several = joined(group.folded("count", values), ">=", constant(LEAST_PEERS + 1))
    level = joined(group.folded("quantile 0.5", values, numbers=True), "and", several)
    if node.kind == "median":
        return group.number(level)
    apart = joined(values, "-", members.number(level))
    deviation = group.folded("quantile 0.5", called("abs", apart.text), numbers=True)
    spread = joined(constant(MAD_SCALE), "*", deviation)
    floor = joined(constant(LEAST_SCALE), "*", called("abs", level.text))
    scale = joined(joined(spread, ">=", floor), "or", floor)
    own = number(node.operand, context)
    away = joined(own, "-", group.number(level))
    nonzero = joined(scale, ">", constant(0))
    return joined(joined(away, "/", group.number(nonzero)), "or", joined(away, "==", constant(0)))


def condition_of(node: Fold, context: QueryContext, condition: Condition) -> Truth:
    """Whether a condition is true of one member, or of all. Raises PromqlError."""
    group = Group(node.by, context)
    assert node.operand is not None, "only counts have no condition"
    inner = condition(node.operand, group.members)
    if inner.true is None and inner.false is None:
        return inner
    if node.kind == "all":
        inner = inner.opposite
    some = None if inner.true is None else group.folded("count", inner.true)
    none = None
    if inner.false is not None:
        none = joined(group.folded("count", inner.false), "==", group.everybody)
    truth = Truth(group.set(some), group.set(none))
    return truth.opposite if node.kind == "all" else truth


def number_of(node: Fold, context: QueryContext, condition: Condition) -> Query:
    """Of how many members, or which share, a condition is true. Raises PromqlError."""
    group = Group(node.by, context)
    if node.operand is None:
        return group.number(group.everybody)
    operand = node.operand
    inner = context.remarks.require_complete(lambda: condition(operand, group.members))
    if inner.true is None and inner.false is None:
        raise PromqlError("a condition that is never known")
    truths = _as_numbers(inner)
    enough = joined(constant(LEAST_WITH_VALUE), "*", group.everybody)
    sufficient = joined(group.folded("count", truths, numbers=True), ">=", enough)
    folding = "avg" if node.kind == "share" else "sum"
    return group.number(joined(group.folded(folding, truths, numbers=True), "and", sufficient))


def _as_numbers(truth: Truth) -> Query:
    """1 where it is true, 0 where it is false."""
    nothing = None if truth.false is None else joined(truth.false, "*", constant(0))
    if truth.true is None:
        assert nothing is not None, "something is known"
        return nothing
    names = joined(joined(truth.true, "*", constant(0)), "+", constant(1))
    return names if nothing is None else joined(names, "or", nothing)
