"""Fourth pass: syntax tree to typed tree. Names, types and calls are checked, errors get a caret."""

import ast
from collections.abc import Mapping
from dataclasses import replace

from accelwatch.base.errors import ExpressionError
from accelwatch.expr.checking.calls import Bound, bind
from accelwatch.expr.checking.comparisons import NUMBERS, comparable, comparison
from accelwatch.expr.checking.event_calls import event
from accelwatch.expr.checking.group_calls import fold, groups_by_job, is_fold, peers
from accelwatch.expr.checking.tree import (
    Arithmetic,
    Constant,
    Invoke,
    Items,
    Logic,
    Node,
    Not,
    Reading,
    Truthy,
)
from accelwatch.expr.checking.typing_pass import end_column
from accelwatch.expr.checking.window_calls import is_window, window
from accelwatch.expr.syntax.complaint import complaint
from accelwatch.expr.syntax.parse import Parsed, column
from accelwatch.expr.vocabulary.events import EVENT_FUNCTIONS
from accelwatch.expr.vocabulary.functions import Function
from accelwatch.expr.vocabulary.kleene import INTEGER_LIMIT
from accelwatch.expr.vocabulary.names import Fault, NameTable, Type, did_you_mean
from accelwatch.expr.vocabulary.peers import FOLDS, GROUPS, PEERS
from accelwatch.expr.vocabulary.windows import WINDOWS

_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


class Checker:
    """Turns the nodes of one parsed expression into typed nodes."""

    def __init__(
        self,
        parsed: Parsed,
        names: NameTable,
        functions: Mapping[str, Function],
        *,
        rule: bool = False,
    ) -> None:
        """`rule` says whether windows, events, peers and folds may be used."""
        self.parsed = parsed
        self.names = names
        self.of_job = groups_by_job(parsed)
        self._functions = functions
        self._rule = rule
        # The fold or peer function whose operand is being typed.
        self._inside = ""

    def expression(self) -> Node:
        """The whole expression, of any type but a list; raises ExpressionError."""
        node = self.typed(self.parsed.tree)
        if node.type is Type.LIST:
            raise self.refusal(self.parsed.tree, "a list is only allowed after in")
        return node

    def root_condition(self) -> Node:
        """The whole expression, which must be a condition; raises ExpressionError."""
        return self.condition(self.parsed.tree)

    def refusal(
        self, node: ast.expr | ast.keyword, message: str, hint: str = ""
    ) -> ExpressionError:
        """An error that points at a node."""
        return complaint(self.parsed.text, column(node), message, hint)

    def typed(self, node: ast.expr) -> Node:
        """A part of any type, with its span in the text."""
        return replace(self._node(node), span=(column(node), end_column(node)))

    def inside(self, enclosing: str, node: ast.expr, *, condition: bool) -> Node:
        """A part that is evaluated for every member of a group."""
        before, self._inside = self._inside, enclosing
        try:
            return self.condition(node) if condition else self.number(node)
        finally:
            self._inside = before

    def predicate(self, names: NameTable, sources: list[ast.expr]) -> Node:
        """Conditions on an event, joined by and."""
        of_event = Checker(self.parsed, names, self._functions)
        conditions = tuple(of_event.condition(source) for source in sources)
        return conditions[0] if len(conditions) == 1 else Logic("and", conditions)

    def _node(self, node: ast.expr) -> Node:
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._name(node)
            case ast.BoolOp():
                operator = "and" if isinstance(node.op, ast.And) else "or"
                return Logic(operator, tuple(self.condition(value) for value in node.values))
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                left, right = self.number(node.left), self.number(node.right)
                return Arithmetic(_ARITHMETIC[type(node.op)], left, right)
            case ast.Compare():
                return comparison(self, node)
            case ast.Call():
                return self._call(node)
            case ast.List() | ast.Tuple():
                return self._items(node)
        raise self.refusal(node, "this is not part of the language")

    def _constant(self, node: ast.Constant) -> Node:
        value = node.value
        if isinstance(value, bool):
            return Constant(value, Type.BOOL)
        if isinstance(value, str):
            return Constant(self.parsed.string(node), Type.STRING)
        if isinstance(value, int) and value < INTEGER_LIMIT:
            return Constant(value, Type.NUMBER)
        if isinstance(value, float) and value < float("inf"):
            return Constant(value, Type.NUMBER)
        raise self.refusal(node, "this number is too large")

    def _name(self, node: ast.expr) -> Node:
        labels: list[str] = []
        inner = node
        while not isinstance(inner, ast.Name):
            if isinstance(inner, ast.Attribute):
                labels.append(inner.attr)
            elif isinstance(inner, ast.Subscript):
                labels.append(self._subscript(inner))
            else:
                raise self.refusal(
                    inner, "labels belong to a name, as in temperature_celsius.memory"
                )
            inner = inner.value
        if self._rule and inner.id in GROUPS and labels[:1] and labels[0] in FOLDS:
            hint = f"write {inner.id}.{labels[0]}(...)"
            raise self.refusal(node, f"{inner.id}.{labels[0]} folds a condition", hint)
        resolved = self.names.resolve(inner.id, tuple(reversed(labels)))
        if isinstance(resolved, Fault):
            raise self._unknown(inner, resolved)
        return Reading(resolved.keys, resolved.type)

    def _unknown(self, node: ast.Name, fault: Fault) -> ExpressionError:
        names = self.names.bare_names
        if node.id in self._functions or node.id in self._rule_functions():
            return self.refusal(node, f"{node.id} is a function", f"write {node.id}(...)")
        if node.id not in names and not fault.hint:
            hint = did_you_mean(node.id, ("True", "False", *self._functions))
            return self.refusal(node, fault.message, hint)
        return self.refusal(node, fault.message, fault.hint)

    def _subscript(self, node: ast.Subscript) -> str:
        index = node.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            return self.parsed.string(index)
        if isinstance(index, ast.Constant) and type(index.value) is int:
            return str(index.value)
        raise self.refusal(
            index, 'a label in [] is a string or a number, as in fan_speed_ratio["0"]'
        )

    def _unary(self, node: ast.UnaryOp) -> Node:
        if isinstance(node.op, ast.Not):
            return Not(self.condition(node.operand))
        operand = self.number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return operand
        if isinstance(operand, Constant) and not isinstance(operand.value, str):
            return Constant(-operand.value, Type.NUMBER)
        return Arithmetic("-", Constant(0, Type.NUMBER), operand)

    def number(self, node: ast.expr) -> Node:
        """A part that is a number or a flag."""
        typed = self.typed(node)
        if typed.type not in NUMBERS:
            raise self.refusal(node, f"a number is needed here, but this is {typed.type}")
        return typed

    def condition(self, node: ast.expr) -> Node:
        """A part that is a condition; a flag is made one."""
        typed = self.typed(node)
        if typed.type is Type.FLAG:
            return Truthy(typed, span=typed.span)
        if typed.type is not Type.BOOL:
            hint = "compare it with a value, as in temperature_celsius > 85"
            raise self.refusal(node, f"a condition is needed here, but this is {typed.type}", hint)
        return typed

    def _items(self, node: ast.List | ast.Tuple) -> Node:
        elements = tuple(self.typed(element) for element in node.elts)
        if not elements:
            raise self.refusal(node, "the list is empty")
        first = elements[0].type
        for element, source in zip(elements, node.elts, strict=True):
            if element.type is Type.LIST:
                raise self.refusal(source, "a list is only allowed after in")
            if not comparable(first, element.type):
                message = f"elements of a list are of one type, but this is {element.type}"
                raise self.refusal(source, f"{message} and the first is {first}")
        return Items(elements, first)

    def _call(self, node: ast.Call) -> Node:
        called = node.func
        if is_fold(node) and isinstance(called, ast.Attribute):
            assert isinstance(called.value, ast.Name)
            return self._fold(node, called.value.id, called.attr)
        if not isinstance(called, ast.Name):
            raise self.refusal(called, "only a function can be called")
        if called.id in EVENT_FUNCTIONS or called.id in PEERS or is_window(self, node, called.id):
            return self._of_rule(node, called.id)
        function = self._functions.get(called.id)
        if function is None:
            raise self._unknown_function(called)
        bound = bind(self.parsed.text, node, function, self.typed)
        return _folded(bound, function)

    def _unknown_function(self, called: ast.Name) -> ExpressionError:
        name = called.id
        if name in self.names.bare_names:
            return self.refusal(called, f"{name} is not a function", f"write {name}")
        candidates = (*self._functions, *self._rule_functions(), *self.names.bare_names)
        return self.refusal(called, f"unknown function {name}", did_you_mean(name, candidates))

    def _rule_functions(self) -> tuple[str, ...]:
        return (*WINDOWS, *EVENT_FUNCTIONS, *PEERS) if self._rule else ()

    def _of_rule(self, node: ast.Call, name: str) -> Node:
        """A call of a window, or about events or peers."""
        if not self._rule:
            over = " over time" if name in self._functions else ""
            raise self.refusal(node, f"{name}{over} can be used only in a rule")
        if name in EVENT_FUNCTIONS:
            return event(self, node, name)
        if name not in PEERS:
            return window(self, node, name)
        self._refuse_within_group(node, name)
        return peers(self, node, name)

    def _fold(self, node: ast.Call, group: str, name: str) -> Node:
        if group not in GROUPS and name not in FOLDS:
            raise self.refusal(node.func, "only a function can be called")
        if not self._rule:
            raise self.refusal(node, f"{group}.{name} can be used only in a rule")
        self._refuse_within_group(node, f"{group}.{name}")
        return fold(self, node, group, name)

    def _refuse_within_group(self, node: ast.Call, name: str) -> None:
        """A fold stands in nothing else over a group; peers may stand in a fold."""
        enclosing = self._inside
        if enclosing and (enclosing in PEERS or name not in PEERS):
            message = f"{name} cannot stand in {enclosing}: one goes over a group at a time"
            raise self.refusal(node, message)


def _folded(bound: Bound, function: Function) -> Node:
    """The call, or its result where all that it depends on is constant."""
    values = [node.value for node in bound.arguments if isinstance(node, Constant)]
    if len(values) == len(bound.arguments):
        value = bound.implementation(*values)
        if value is not None:
            return Constant(value, function.result)
    return Invoke(
        bound.implementation, bound.arguments, function.result, function.name, bound.constants
    )
