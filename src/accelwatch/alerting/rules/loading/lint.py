"""What is valid and hardly meant: a number that is never reached, an `auto` that needs approval, an
event of a test that matches nothing."""

from collections.abc import Iterator

from accelwatch.alerting.rules.document import Mode
from accelwatch.alerting.rules.loading.case_events import incomplete_events
from accelwatch.alerting.rules.rule import Rule
from accelwatch.expr.checking.tree import Comparison, Constant, Node, Peers, Reading, Window, walk
from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Kind
from accelwatch.schema.series import path_of
from accelwatch.schema.values.plausible import bounds

# Windows whose result is a value like any other.
_OF_VALUES = frozenset({WindowKind.AVG, WindowKind.MIN, WindowKind.MAX, WindowKind.QUANTILE})
_MOST_PERCENT = 100.0


def doubts(rule: Rule) -> list[str]:
    """A line for each comparison with what a quantity cannot be, for a mode that does not hold, and for
    an event of a test that matches nothing for want of a field.
    """
    expressions = {
        "select": rule.select,
        "when": rule.when,
        "confirm": rule.confirm,
        "clear": rule.clear,
    }
    lines = [
        f"{rule.origin}: {rule.id}: {name}: {doubt}"
        for name, expression in expressions.items()
        if expression is not None
        for doubt in _of_tree(expression.tree)
    ]
    acts = rule.action is not None and rule.action.quarantine is not None
    if acts and rule.mode is Mode.AUTO and not rule.confidence.suffices(rule.act_on):
        doubt = (
            "mode: its confidence is low, so a person has to approve each time; write `act_on: low`, or "
            "`confidence: high` into the rule itself, to have it act without"
        )
        lines.append(f"{rule.origin}: {rule.id}: {doubt}")
    lines += [f"{rule.origin}: {rule.id}: {doubt}" for doubt in incomplete_events(rule)]
    return lines


def _of_tree(tree: Node) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, Comparison):
            for operand, other in zip(node.operands, node.operands[1:], strict=False):
                sides = ((operand, other), (other, operand))
                yield from (text for side in sides if (text := _of_sides(*side)))


def _of_sides(measured: Node, limit: Node) -> str:
    key = _quantity(measured)
    if key is None or not isinstance(limit, Constant) or isinstance(limit.value, bool | str):
        return ""
    value = float(limit.value)
    low, high = bounds(key[0])
    row = by_key()[key[0]]
    if low <= value <= high or row.kind is not Kind.GAUGE:
        return ""
    if row.unit == "ratio":
        hint = f": for {value:g} % write {value / 100:g}" if 0 < value <= _MOST_PERCENT else ""
        return f"{path_of(key)} is between 0 and 1, never {value:g}{hint}"
    return f"{path_of(key)} is between {low:g} and {high:g} {row.unit}, never {value:g}"


def _quantity(node: Node) -> tuple[str, ...] | None:
    """The series that a side of a comparison is a value of; None of any other."""
    match node:
        case Reading(keys=(tuple() as series, *_)):
            return series
        case Window(kind=kind, reading=Reading(keys=(tuple() as series, *_))):
            return series if kind in _OF_VALUES else None
        case Peers(kind="median", operand=operand):
            return _quantity(operand)
    return None
