"""Compiled rules: conditions over one device, its past, its events and the groups that it belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from accelwatch.expr.checking.checked import Checker
from accelwatch.expr.checking.tree import Node
from accelwatch.expr.codegen import generate_rule
from accelwatch.expr.cost import Cost
from accelwatch.expr.environment import Environment, Inner
from accelwatch.expr.needs import Needs, needs
from accelwatch.expr.syntax.complaint import complaint
from accelwatch.expr.syntax.parse import parse
from accelwatch.expr.vocabulary.functions import FUNCTIONS, Function
from accelwatch.expr.vocabulary.kleene import MISSING, UNKNOWN, Missing, Truth, Value
from accelwatch.expr.vocabulary.names import NameTable, Type
from accelwatch.expr.vocabulary.rule_names import rule_names


@dataclass(slots=True)
class _Code:
    """The scalar code, made on demand: what is evaluated in columns needs none."""

    tree: Node
    run: Inner | None = None

    def generated(self) -> Inner:
        """Make it."""
        self.run = generate_rule(self.tree)
        return self.run


@dataclass(frozen=True, slots=True)
class RuleExpression:
    """An expression that may have windows, events, peers and folds."""

    text: str
    type: Type
    # What must be kept and gathered for it.
    needs: Needs
    tree: Node = field(repr=False, compare=False)
    # What evaluating it has cost; whoever evaluates it adds to it.
    cost: Cost = field(repr=False, compare=False)
    _code: "_Code" = field(repr=False, compare=False)

    def evaluate(self, environment: Environment) -> Truth:
        """True, False or UNKNOWN; raises ExpressionError if this is no condition.

        Other than that it raises nothing but what the environment raises.
        """
        result = (self._code.run or self._code.generated())(environment)
        if isinstance(result, bool):
            return result
        if self.type not in (Type.BOOL, Type.FLAG):
            raise complaint(self.text, 0, f"a condition is needed, but this is {self.type}")
        return UNKNOWN if result is None else result != 0

    def value(self, environment: Environment) -> Value | Missing:
        """The value in base units, MISSING where it is missing or unknown."""
        result = (self._code.run or self._code.generated())(environment)
        return MISSING if result is None else result


def compile_rule(
    text: str, names: NameTable | None = None, functions: Mapping[str, Function] = FUNCTIONS
) -> RuleExpression:
    """A condition of a rule; raises ExpressionError with a caret and, if it can, a suggestion."""
    return _compiled(text, _checker(text, names, functions).root_condition())


def compile_rule_value(
    text: str, names: NameTable | None = None, functions: Mapping[str, Function] = FUNCTIONS
) -> RuleExpression:
    """The same of any type, as for evidence that is shown."""
    return _compiled(text, _checker(text, names, functions).expression())


# One table for all rules; it depends on the catalogue alone.
@cache
def _names_of_a_device() -> NameTable:
    return rule_names()


def _checker(text: str, names: NameTable | None, functions: Mapping[str, Function]) -> Checker:
    return Checker(parse(text), names or _names_of_a_device(), functions, rule=True)


def _compiled(text: str, tree: Node) -> RuleExpression:
    return RuleExpression(
        text=text,
        type=tree.type,
        needs=needs(tree),
        tree=tree,
        cost=Cost(),
        _code=_Code(tree),
    )
