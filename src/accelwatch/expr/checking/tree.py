"""The typed tree: an expression after its names, types and calls have been checked."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from accelwatch.expr.vocabulary.functions import Implementation
from accelwatch.expr.vocabulary.kleene import Key, Value
from accelwatch.expr.vocabulary.names import Type

# Where in the text a part stands: the first character, and the one after the last.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal, or a call of constants that was worked out already."""

    value: Value
    type: Type
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """A name: the first of `keys` that has a value."""

    keys: tuple[Key, ...]
    type: Type
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left operator right`, a number; missing if an operand is or the result is not finite."""

    operator: str
    left: "Node"
    right: "Node"
    type: Type = Type.NUMBER
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`operands[0] operators[0] operands[1] operators[1] ...`, of which the pairs are joined by and."""

    operators: tuple[str, ...]
    operands: tuple["Node", ...]
    type: Type = Type.BOOL
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Items:
    """The list at the right of `in`; its elements are of one type."""

    elements: tuple["Node", ...]
    element_type: Type
    type: Type = Type.LIST
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` or `or` over conditions."""

    operator: str
    operands: tuple["Node", ...]
    type: Type = Type.BOOL
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition."""

    operand: "Node"
    type: Type = Type.BOOL
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Truthy:
    """A flag used as a condition: whether it is other than 0."""

    operand: "Node"
    type: Type = Type.BOOL
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Invoke:
    """A call of a function of the table."""

    implementation: Implementation
    arguments: tuple["Node", ...]
    type: Type
    name: str = ""
    # Arguments that are fixed, by name.
    constants: tuple[tuple[str, Value], ...] = ()
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Window:
    """What a quantity did in the last `seconds`: `kind` is one of `expr.windows.WindowKind`."""

    kind: str
    reading: Reading
    # 0 for the age of a value.
    seconds: int
    quantile: float | None
    type: Type
    # Whether only samples of the job that runs on the device count.
    of_job: bool = False
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EventPattern:
    """Which events are meant: those of a kind for which the predicate is true."""

    kind: str
    # The predicate as it was written; two patterns of the same kind and text are the same.
    text: str
    predicate: "Node | None" = field(default=None, compare=False, repr=False)
    # Whether records that user space may have written count.
    untrusted: bool = False
    # Whether what a driver says of a device that is not listed counts.
    unlisted: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """What is known of matching events: `kind` is one of `expr.events.EventUse`."""

    kind: str
    pattern: EventPattern
    # How far back is looked; 0 for any time.
    seconds: int
    type: Type
    # Whether it counts no more once the node has been booted (`boot.py`).
    until_boot: bool = False
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Boot:
    """The node's last boot: `kind` is `event`, `last` or `since` of `expr.events.EventUse`.

    No source reports a boot as an event; it is known by the uptime.
    """

    kind: str
    # The uptime, in seconds.
    reading: Reading
    # Of `event`, how long ago it may be; 0 for the others.
    seconds: int
    type: Type
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Peers:
    """A value compared with those of the members of its group: `kind` is `median` or `z`."""

    kind: str
    operand: "Node"
    by: str
    type: Type = Type.NUMBER
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Affected:
    """For how many members of the group another rule is firing."""

    rule: str
    by: str
    type: Type = Type.NUMBER
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fold:
    """A condition over all members of the group: `any`, `all`, `count` or `share`.

    Without an operand `count` is how many members there are.
    """

    kind: str
    operand: "Node | None"
    by: str
    type: Type
    span: Span = field(default=(0, 0), compare=False, repr=False)


Node = (
    Constant
    | Reading
    | Arithmetic
    | Comparison
    | Items
    | Logic
    | Not
    | Truthy
    | Invoke
    | Window
    | Event
    | Boot
    | Peers
    | Affected
    | Fold
)


def children(node: Node) -> tuple[Node, ...]:
    """The parts of a node, from left to right; the predicate of an event is none of them."""
    match node:
        case Arithmetic(left=left, right=right):
            return (left, right)
        case Comparison(operands=operands) | Logic(operands=operands):
            return operands
        case Not(operand=inner) | Truthy(operand=inner) | Peers(operand=inner):
            return (inner,)
        case Invoke(arguments=arguments):
            return arguments
        case Items(elements=elements):
            return elements
        case Window(reading=reading) | Boot(reading=reading):
            return (reading,)
        case Fold(operand=folded) if folded is not None:
            return (folded,)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """A node and all its parts, each before its own."""
    yield node
    for child in children(node):
        yield from walk(child)
