"""Where a condition is true among some rows, computed no further than needed.

Of an `and` the cheapest part comes first; as soon as it is true of nobody, the others are left alone.
Most conditions are true of nobody most of the time, and windows and peers are what costs.
"""

from collections.abc import Callable

import numpy as np

from accelwatch.expr.checking.tree import Fold, Invoke, Logic, Node, Peers, Window, walk
from accelwatch.expr.vocabulary.names import Type
from accelwatch.fleet.rules.vectors.static import of_text
from accelwatch.fleet.rules.vectors.tick import Condition, Tick
from accelwatch.fleet.rules.vectors.vector import Generator
from accelwatch.fleet.table.belief import Bools

# Those of some rows on which a condition is true.
Narrowing = Callable[[Tick, Bools], Bools]

# Windows that read every bucket.
_SLOW_KINDS = frozenset({"delta", "quantile"})


def narrowing(generator: Generator, node: Node, condition: Condition) -> Narrowing:
    """That of a tree; `condition` is the same condition as `generator` has made it."""
    if node.type is Type.BOOL and isinstance(node, Logic) and not of_text(node):
        # The sort is stable: what costs alike stays in the order of the rule.
        operands = sorted(node.operands, key=_cost)
        narrowings = [
            narrowing(generator, operand, generator.condition(operand)) for operand in operands
        ]
        return _every(narrowings) if node.operator == "and" else _some(narrowings)
    return lambda tick, rows: rows & condition(tick).true


def _every(narrowings: list[Narrowing]) -> Narrowing:
    def every(tick: Tick, rows: Bools) -> Bools:
        for narrow in narrowings:
            if not np.count_nonzero(rows):  # several times as fast as any()
                break
            rows = narrow(tick, rows)
        return rows

    return every


def _some(narrowings: list[Narrowing]) -> Narrowing:
    def some(tick: Tick, rows: Bools) -> Bools:
        true = narrowings[0](tick, rows)
        for narrow in narrowings[1:]:
            true = true | narrow(tick, rows)
        return true

    return some


def _cost(node: Node) -> int:
    """About how long a condition runs, by what it reads."""
    return sum(_cost_of(child) for child in walk(node))


def _cost_of(node: Node) -> int:
    match node:
        case Window(kind=kind):
            return 100 if kind in _SLOW_KINDS else 20
        case Peers():
            return 20
        case Fold():
            return 5
        case Invoke():
            return 2
    return 0 if node.type is Type.STRING else 1
