"""Compiled expressions: the one way from text to something that can be evaluated."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from accelwatch.expr.as_read import as_read, as_written
from accelwatch.expr.checking.checked import Checker
from accelwatch.expr.checking.tree import Node, Reading, walk
from accelwatch.expr.codegen import Run, generate
from accelwatch.expr.syntax.complaint import PointedError, complaint
from accelwatch.expr.syntax.parse import parse
from accelwatch.expr.vocabulary.functions import FUNCTIONS, Function
from accelwatch.expr.vocabulary.kleene import MISSING, UNKNOWN, Key, Lookup, Missing, Truth, Value
from accelwatch.expr.vocabulary.names import NameTable, Type


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression over the readings of one device. Safe to share between threads."""

    text: str
    type: Type
    # Every identity field and series that it may look up.
    names: frozenset[Key]
    # What it consists of, for those who evaluate it over many devices at once.
    tree: Node = field(repr=False, compare=False)
    _run: Run = field(repr=False, compare=False)

    def evaluate(self, lookup: Lookup) -> Truth:
        """True, False or UNKNOWN; raises ExpressionError if this is no condition.

        Other than that it raises nothing but what `lookup` raises.
        """
        result = self._run(lookup)
        if result is True or result is False:
            return result
        if self.type not in (Type.BOOL, Type.FLAG):
            raise complaint(self.text, 0, f"a condition is needed, but this is {self.type}")
        return UNKNOWN if result is None else result != 0

    def value(self, lookup: Lookup) -> Value | Missing:
        """The value in base units, MISSING where it is missing or unknown."""
        result = self._run(lookup)
        return MISSING if result is None else result


def compile_expression(
    text: str, names: NameTable, functions: Mapping[str, Function] = FUNCTIONS
) -> Expression:
    """An expression of any type; raises ExpressionError with a caret and, if it can, a suggestion."""
    return _compiled(text, Checker(parse(text), names, functions).expression())


def compile_condition(
    text: str, names: NameTable, functions: Mapping[str, Function] = FUNCTIONS
) -> Expression:
    """A filter: a condition, words of the screen (`as_read`) included; raises ExpressionError."""
    meant = as_read(text, names)
    try:
        return _compiled(meant, Checker(parse(meant), names, functions).root_condition())
    except PointedError as error:
        raise error.within(text, as_written(text, names, error.column)) from None


def _compiled(text: str, node: Node) -> Expression:
    keys = frozenset(
        key for reading in walk(node) if isinstance(reading, Reading) for key in reading.keys
    )
    return Expression(text=text, type=node.type, names=keys, tree=node, _run=generate(node))
