"""Last pass: typed tree to a Python function of one parameter: the lookup, or a rule's environment.

The source that is compiled holds only words made here: temporaries t0.., constants k0.., numbers
and operators. No character of the user's text is in it, and it runs without builtins.
"""

from collections.abc import Callable, Mapping
from typing import cast

from accelwatch.expr.checking.tree import (
    Affected,
    Arithmetic,
    Boot,
    Comparison,
    Constant,
    Event,
    Fold,
    Invoke,
    Items,
    Logic,
    Node,
    Not,
    Peers,
    Reading,
    Truthy,
    Window,
)
from accelwatch.expr.environment import (
    Inner,
    affected,
    booted,
    folded,
    happened,
    peer_median,
    peer_z,
    windowed,
)
from accelwatch.expr.vocabulary.kleene import INTEGER_LIMIT, Lookup, Raw, first_number, number, text
from accelwatch.expr.vocabulary.names import Type

Run = Callable[[Lookup], Raw]

_INFINITY = float("inf")


def generate(node: Node) -> Run:
    """A function that gives the value of `node`, None where it is missing or unknown."""
    source = _Generator()
    return cast(Run, source.function(f"def run(lookup):\n return {source.code(node)}\n"))


def generate_rule(node: Node) -> Inner:
    """The same over an environment, for a tree that may have windows, events, peers and folds."""
    source = _Generator()
    source.scope.update(_OF_RULES)
    head = "def run(environment):\n lookup = environment.lookup\n"
    return cast(Inner, source.function(f"{head} return {source.code(node)}\n"))


def finite(value: float | int) -> float | int | None:
    """A result of arithmetic, None if it is not finite; integers beyond 64 bits become floats."""
    if isinstance(value, float):
        return value if -_INFINITY < value < _INFINITY else None
    return value if -INTEGER_LIMIT < value < INTEGER_LIMIT else float(value)


_OF_RULES: Mapping[str, object] = {
    "windowed": windowed,
    "happened": happened,
    "booted": booted,
    "peer_median": peer_median,
    "peer_z": peer_z,
    "affected": affected,
    "folded": folded,
}


class _Generator:
    def __init__(self) -> None:
        self._temporaries = 0
        self.scope: dict[str, object] = {
            "__builtins__": {},
            "number": number,
            "text": text,
            "first_number": first_number,
            "finite": finite,
            "float": float,
            "str": str,
            "type": type,
            "infinity": _INFINITY,
        }

    def function(self, source: str) -> object:
        """Compile the source of `run`."""
        exec(compile(source, "<expression>", "exec"), self.scope)  # noqa: S102 - see module docstring
        return self.scope["run"]

    def _temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    def _bind_constant(self, value: object) -> str:
        name = f"k{len(self.scope)}"
        self.scope[name] = value
        return name

    def code(self, node: Node) -> str:
        """Source of an expression that gives the value of a node."""
        match node:
            case Constant(value=value):
                return self._bind_constant(value) if isinstance(value, str) else f"({value!r})"
            case Reading():
                return self._reading(node)
            case Arithmetic():
                return self._arithmetic(node)
            case Comparison():
                return self._comparison(node)
            case Logic():
                return self._logic(node)
            case Not(operand=operand):
                temporary = self._temporary()
                return (
                    f"(None if ({temporary} := {self.code(operand)}) is None else not {temporary})"
                )
            case Truthy(operand=operand):
                temporary = self._temporary()
                return (
                    f"(None if ({temporary} := {self.code(operand)}) is None else {temporary} != 0)"
                )
            case Invoke(implementation=implementation, arguments=arguments):
                values = ", ".join(self.code(argument) for argument in arguments)
                return f"{self._bind_constant(implementation)}({values})"
            case Items():
                raise AssertionError("a list is only allowed after in")
        return self._of_rule(node)

    def _of_rule(self, node: Window | Event | Boot | Peers | Affected | Fold) -> str:
        match node:
            case Window():
                return f"windowed(environment, {self._bind_constant(node)})"
            case Event():
                return f"happened(environment, {self._bind_constant(node)})"
            case Boot():
                return f"booted(environment, {self._bind_constant(node)})"
            case Peers(kind=kind, by=by, operand=operand):
                inner = self._bind_constant(generate_rule(operand))
                return f"peer_{kind}(environment, {by!r}, {inner})"
            case Affected(rule=rule, by=by):
                return f"affected(environment, {self._bind_constant(rule)}, {by!r})"
            case Fold(kind=kind, by=by, operand=folded_over):
                inner = self._bind_constant(
                    None if folded_over is None else generate_rule(folded_over)
                )
                return f"folded(environment, {kind!r}, {by!r}, {inner})"

    def _reading(self, node: Reading) -> str:
        temporary = self._temporary()
        if len(node.keys) > 1:
            return f"first_number(lookup, {self._bind_constant(node.keys)})"
        lookup_type = f"type({temporary} := lookup({self._bind_constant(node.keys[0])}))"
        if node.type is Type.STRING:
            return f"({temporary} if {lookup_type} is str else text({temporary}))"
        finite = f"{lookup_type} is float and -infinity < {temporary} < infinity"
        return f"({temporary} if {finite} else number({temporary}))"

    def _absent(self, operands: list[tuple[str, str, Node]]) -> str:
        """Source that assigns each part to its temporary in turn and is true once one is None."""
        checks = [
            f"({name} := {code}) is None"
            for name, code, node in operands
            if not isinstance(node, Constant)
        ]
        return " or ".join(checks)

    def _operand(self, node: Node) -> tuple[str, str, Node]:
        code = self.code(node)
        return (code if isinstance(node, Constant) else self._temporary(), code, node)

    def _arithmetic(self, node: Arithmetic) -> str:
        left, right = self._operand(node.left), self._operand(node.right)
        absent = self._absent([left, right])
        if node.operator in ("/", "//", "%"):
            zero = f"{right[0]} == 0"
            absent = f"{absent} or {zero}" if absent else zero
        result = f"finite({left[0]} {node.operator} {right[0]})"
        return f"(None if {absent} else {result})" if absent else result

    def _comparison(self, node: Comparison) -> str:
        if len(node.operators) == 1:
            return self._pair(node.operators[0], node.operands[0], node.operands[1])
        names: list[str] = []
        steps: list[str] = []
        for operand in node.operands:
            if isinstance(operand, Items):
                names.append("")
                continue
            temporary = self._temporary()
            names.append(temporary)
            steps.append(f"({temporary} := {self.code(operand)})")
        pairs = [
            self._temporary_pair(operator, names[index], node.operands[index + 1], names[index + 1])
            for index, operator in enumerate(node.operators)
        ]
        return f"({', '.join(steps)}, {self._joined('and', pairs)})[-1]"

    def _pair(self, operator: str, left: Node, right: Node) -> str:
        if isinstance(right, Items):
            return self._membership(operator, self._operand(left), right)
        first, second = self._operand(left), self._operand(right)
        absent = self._absent([first, second])
        result = f"{first[0]} {operator} {second[0]}"
        return f"(None if {absent} else {result})" if absent else f"({result})"

    def _temporary_pair(self, operator: str, left: str, right: Node, right_name: str) -> str:
        """A comparison of temporaries that already have their values."""
        if isinstance(right, Items):
            return self._membership(operator, (left, left, right), right)
        return (
            f"(None if {left} is None or {right_name} is None else {left} {operator} {right_name})"
        )

    def _membership(self, operator: str, left: tuple[str, str, Node], right: Items) -> str:
        """`in` a list: over constants a lookup in a set, else the elements compared one by one."""
        constants = [e.value for e in right.elements if isinstance(e, Constant)]
        if len(constants) == len(right.elements):
            absent = self._absent([left])
            result = f"{left[0]} {operator} {self._bind_constant(frozenset(constants))}"
            return f"(None if {absent} else {result})" if absent else f"({result})"
        temporary = self._temporary()
        pairs = []
        for element in right.elements:
            name, code, _ = self._operand(element)
            check = f"({name} := {code}) is None" if name != code else "False"
            pairs.append(f"(None if {temporary} is None or {check} else {temporary} == {name})")
        membership = self._joined("or", pairs)
        if operator == "not in":
            outcome = self._temporary()
            membership = f"(None if ({outcome} := {membership}) is None else not {outcome})"
        return f"(({temporary} := {left[1]}), {membership})[-1]"

    def _logic(self, node: Logic) -> str:
        return self._joined(node.operator, [self.code(operand) for operand in node.operands])

    def _joined(self, operator: str, conditions: list[str]) -> str:
        """Kleene's and/or: the deciding value wins, then Unknown, then the other."""
        decides, other = ("False", "True") if operator == "and" else ("True", "False")
        names = [self._temporary() for _ in conditions]
        decided = " or ".join(
            f"({name} := {code}) is {decides}" for name, code in zip(names, conditions, strict=True)
        )
        unknown = " or ".join(f"{name} is None" for name in names)
        return f"({decides} if {decided} else None if {unknown} else {other})"
