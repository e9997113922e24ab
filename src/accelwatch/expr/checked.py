"""Fourth pass: syntax tree to typed tree. Names, types and calls are checked, errors get a caret."""

import ast
from collections.abc import Mapping

from accelwatch.errors import ExpressionError
from accelwatch.expr.calls import Bound, bind
from accelwatch.expr.complaint import complaint
from accelwatch.expr.functions import Function
from accelwatch.expr.kleene import INTEGER_LIMIT
from accelwatch.expr.names import Fault, NameTable, Type, did_you_mean
from accelwatch.expr.parse import Parsed, column
from accelwatch.expr.tree import (
    Arithmetic,
    Comparison,
    Constant,
    Invoke,
    Items,
    Logic,
    Node,
    Not,
    Reading,
    Truthy,
)

_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}

_COMPARISON: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}

_NUMBERS = frozenset({Type.NUMBER, Type.FLAG})
_CONDITIONS = frozenset({Type.BOOL, Type.FLAG})


class Checker:
    """Turns the nodes of one parsed expression into typed nodes."""

    def __init__(self, parsed: Parsed, names: NameTable, functions: Mapping[str, Function]) -> None:
        self._parsed = parsed
        self._names = names
        self._functions = functions

    def expression(self) -> Node:
        """The whole expression, of any type but a list; raises ExpressionError."""
        node = self._node(self._parsed.tree)
        if node.type is Type.LIST:
            raise self._refusal(self._parsed.tree, "a list can only stand after in")
        return node

    def condition(self) -> Node:
        """The whole expression, which must be a condition; raises ExpressionError."""
        return self._condition(self._parsed.tree)

    def _refusal(self, node: ast.expr, message: str, hint: str = "") -> ExpressionError:
        return complaint(self._parsed.text, column(node), message, hint)

    def _node(self, node: ast.expr) -> Node:
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._name(node)
            case ast.BoolOp():
                operator = "and" if isinstance(node.op, ast.And) else "or"
                return Logic(operator, tuple(self._condition(value) for value in node.values))
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                left, right = self._number(node.left), self._number(node.right)
                return Arithmetic(_ARITHMETIC[type(node.op)], left, right)
            case ast.Compare():
                return self._comparison(node)
            case ast.Call():
                return self._call(node)
            case ast.List() | ast.Tuple():
                return self._items(node)
        raise self._refusal(node, "this is not part of the language")

    def _constant(self, node: ast.Constant) -> Node:
        value = node.value
        if isinstance(value, bool):
            return Constant(value, Type.BOOL)
        if isinstance(value, str):
            return Constant(self._parsed.string(node), Type.STRING)
        if isinstance(value, int) and value < INTEGER_LIMIT:
            return Constant(value, Type.NUMBER)
        if isinstance(value, float) and value < float("inf"):
            return Constant(value, Type.NUMBER)
        raise self._refusal(node, "this number is too large")

    def _name(self, node: ast.expr) -> Node:
        labels: list[str] = []
        inner = node
        while not isinstance(inner, ast.Name):
            if isinstance(inner, ast.Attribute):
                labels.append(inner.attr)
            elif isinstance(inner, ast.Subscript):
                labels.append(self._subscript(inner))
            else:
                raise self._refusal(
                    inner, "labels belong to a name, as in temperature_celsius.memory"
                )
            inner = inner.value
        found = self._names.resolve(inner.id, tuple(reversed(labels)))
        if isinstance(found, Fault):
            raise self._unknown(inner, found)
        return Reading(found.keys, found.type)

    def _unknown(self, node: ast.Name, fault: Fault) -> ExpressionError:
        known = self._names.known
        if node.id in self._functions:
            return self._refusal(node, f"{node.id} is a function", f"write {node.id}(...)")
        if node.id not in known and not fault.hint:
            hint = did_you_mean(node.id, ("True", "False", *self._functions))
            return self._refusal(node, fault.message, hint)
        return self._refusal(node, fault.message, fault.hint)

    def _subscript(self, node: ast.Subscript) -> str:
        index = node.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            return self._parsed.string(index)
        if isinstance(index, ast.Constant) and type(index.value) is int:
            return str(index.value)
        raise self._refusal(
            index, 'a label in [] is a string or a number, as in fan_speed_ratio["0"]'
        )

    def _unary(self, node: ast.UnaryOp) -> Node:
        if isinstance(node.op, ast.Not):
            return Not(self._condition(node.operand))
        operand = self._number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return operand
        if isinstance(operand, Constant) and not isinstance(operand.value, str):
            return Constant(-operand.value, Type.NUMBER)
        return Arithmetic("-", Constant(0, Type.NUMBER), operand)

    def _number(self, node: ast.expr) -> Node:
        typed = self._node(node)
        if typed.type not in _NUMBERS:
            raise self._refusal(node, f"a number is needed here, but this is {typed.type}")
        return typed

    def _condition(self, node: ast.expr) -> Node:
        typed = self._node(node)
        if typed.type is Type.FLAG:
            return Truthy(typed)
        if typed.type is not Type.BOOL:
            hint = "compare it with a value, as in temperature_celsius > 85"
            raise self._refusal(node, f"a condition is needed here, but this is {typed.type}", hint)
        return typed

    def _comparison(self, node: ast.Compare) -> Node:
        sources = (node.left, *node.comparators)
        operands = tuple(self._node(source) for source in sources)
        operators = tuple(_COMPARISON[type(op)] for op in node.ops)
        for place, operator in enumerate(operators):
            left, right = operands[place], operands[place + 1]
            if left.type is Type.LIST:
                raise self._refusal(sources[place], "a list can only stand after in")
            if operator in ("in", "not in"):
                self._check_membership(sources[place + 1], left, right)
            else:
                self._check_pair(sources[place + 1], operator, left, right)
            self._check_words(sources[place + 1], left, right)
            if operator in ("==", "!="):
                self._check_words(sources[place], right, left)
        return Comparison(operators, operands)

    def _check_membership(self, source: ast.expr, left: Node, right: Node) -> None:
        if isinstance(right, Items):
            if not _comparable(left.type, right.element_type):
                message = f"{left.type} cannot be in a list whose elements are {_plural(right)}"
                raise self._refusal(source, message)
        elif not (left.type is Type.STRING and right.type is Type.STRING):
            message = f"after in stands a list or text, but this is {right.type}"
            raise self._refusal(source, message, 'write for example vendor in ("amd", "intel")')

    def _check_pair(self, source: ast.expr, operator: str, left: Node, right: Node) -> None:
        if not _comparable(left.type, right.type):
            raise self._refusal(source, f"{left.type} cannot be compared with {right.type}")
        if operator not in ("==", "!=") and not {left.type, right.type} <= _NUMBERS:
            hint = "write version_lt(a, b) to compare versions" if left.type is Type.STRING else ""
            raise self._refusal(
                source, f"{operator} compares numbers, but this is {right.type}", hint
            )

    def _check_words(self, source: ast.expr, named: Node, compared: Node) -> None:
        """Refuse a word that the named field can never be, as in state == "okay"."""
        if not (isinstance(named, Reading) and isinstance(named.keys[0], str)):
            return
        elements = compared.elements if isinstance(compared, Items) else (compared,)
        places = source.elts if isinstance(source, ast.List | ast.Tuple) else [source]
        for element, place in zip(elements, places, strict=True):
            if isinstance(element, Constant) and isinstance(element.value, str):
                fault = self._names.wrong_word(named.keys[0], element.value)
                if fault is not None:
                    raise self._refusal(place, fault.message, fault.hint)

    def _items(self, node: ast.List | ast.Tuple) -> Node:
        elements = tuple(self._node(element) for element in node.elts)
        if not elements:
            raise self._refusal(node, "the list is empty")
        first = elements[0].type
        for element, source in zip(elements, node.elts, strict=True):
            if element.type is Type.LIST:
                raise self._refusal(source, "a list can only stand after in")
            if not _comparable(first, element.type):
                message = f"elements of a list are of one type, but this is {element.type}"
                raise self._refusal(source, f"{message} and the first is {first}")
        return Items(elements, first)

    def _call(self, node: ast.Call) -> Node:
        if not isinstance(node.func, ast.Name):
            raise self._refusal(node.func, "only a function can be called")
        function = self._functions.get(node.func.id)
        if function is None:
            name = node.func.id
            if name in self._names.known:
                raise self._refusal(node.func, f"{name} is not a function", f"write {name}")
            hint = did_you_mean(name, (*self._functions, *self._names.known))
            raise self._refusal(node.func, f"unknown function {name}", hint)
        bound = bind(self._parsed.text, node, function, self._node)
        return _folded(bound, function.result)


def _folded(bound: Bound, result: Type) -> Node:
    """The call, or its result where all that it depends on is constant."""
    values = [node.value for node in bound.arguments if isinstance(node, Constant)]
    if len(values) == len(bound.arguments):
        value = bound.implementation(*values)
        if value is not None:
            return Constant(value, result)
    return Invoke(bound.implementation, bound.arguments, result)


def _comparable(left: Type, right: Type) -> bool:
    if left is right:
        return left is not Type.LIST
    return {left, right} <= _NUMBERS or {left, right} == _CONDITIONS


def _plural(items: Items) -> str:
    return {"a number": "numbers", "a flag": "flags", "a condition": "conditions"}.get(
        items.element_type, "text"
    )
