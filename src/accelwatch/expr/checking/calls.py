"""Checks the arguments of a call against the row of its function."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from accelwatch.expr.checking.tree import Constant, Node
from accelwatch.expr.syntax.complaint import complaint
from accelwatch.expr.syntax.parse import column
from accelwatch.expr.vocabulary.functions import Function, Implementation, Parameter
from accelwatch.expr.vocabulary.kleene import Value
from accelwatch.expr.vocabulary.names import Type, did_you_mean


@dataclass(frozen=True, slots=True)
class Bound:
    """What to call, and the nodes whose values are its arguments."""

    implementation: Implementation
    arguments: tuple[Node, ...]
    # What is fixed, by name.
    constants: tuple[tuple[str, Value], ...] = ()


def bind(text: str, call: ast.Call, function: Function, typed: Callable[[ast.expr], Node]) -> Bound:
    """Match the arguments of `call` to the parameters; raises ExpressionError."""
    pairs = _assigned(text, call, function)
    constants: dict[str, Value] = {
        parameter.name: parameter.default
        for parameter in function.parameters
        if parameter.default is not None
    }
    arguments: list[Node] = []
    for parameter, source in pairs:
        node = typed(source)
        _check_type(text, function, parameter, source, node)
        if not parameter.constant:
            arguments.append(node)
        elif isinstance(node, Constant):
            constants[parameter.name] = node.value
        else:
            message = f"{parameter.name} of {function.name} is a constant, not a reading"
            raise complaint(text, column(source), message)
    try:
        implementation = function.build(**constants)
    except ValueError as error:
        faulty = next((source for parameter, source in pairs if parameter.constant), call)
        raise complaint(text, column(faulty), str(error)) from None
    return Bound(implementation, tuple(arguments), tuple(constants.items()))


def _assigned(text: str, call: ast.Call, function: Function) -> list[tuple[Parameter, ast.expr]]:
    """Each argument with its parameter."""
    plain = [parameter for parameter in function.parameters if parameter.default is None]
    if function.variadic:
        plain = plain * max(2, len(call.args))
    if len(call.args) != len(plain):
        form = ", ".join(parameter.name for parameter in plain)
        message = f"{function.name} takes {len(plain)} {'value' if len(plain) == 1 else 'values'}"
        hint = f"write {function.name}({form}{', ...' if function.variadic else ''})"
        raise complaint(text, column(call), f"{message}, not {len(call.args)}", hint)
    pairs = list(zip(plain, call.args, strict=True))
    optional = {p.name: p for p in function.parameters if p.default is not None}
    for keyword in call.keywords:
        parameter = optional.pop(keyword.arg or "", None)
        if parameter is None:
            message = f"{function.name} has no keyword {keyword.arg or '**'}"
            hint = did_you_mean(keyword.arg or "", optional)
            raise complaint(text, column(keyword), message, hint)
        pairs.append((parameter, keyword.value))
    return pairs


def _check_type(
    text: str, function: Function, parameter: Parameter, source: ast.expr, node: Node
) -> None:
    if node.type is Type.LIST:
        raise complaint(text, column(source), "a list is only allowed after in")
    if parameter.types and node.type not in parameter.types:
        expected = parameter.types[0]
        message = f"{parameter.name} of {function.name} is {expected}, but this is {node.type}"
        raise complaint(text, column(source), message)
