"""Pieces of PromQL, and how they are joined with no more parentheses than are needed. Pure text."""

from collections.abc import Mapping
from dataclasses import dataclass

from accelwatch.base.errors import AccelwatchError

_ATOM = 6
# How tightly operators bind, from weak to strong.
_BINDING: Mapping[str, int] = {
    "or": 1,
    "and": 2,
    "unless": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 3),
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
    "%": 5,
}
_ASSOCIATIVE = frozenset({"or", "and"})
# What is longer gets a line for each operand.
_WIDTH = 88

Number = float | int


class PromqlError(AccelwatchError):
    """Something cannot be expressed in PromQL over what agents expose; the message says why."""


@dataclass(frozen=True, slots=True)
class Query:
    """A vector, or with `scalar` a number that is the same for all."""

    text: str
    # The outermost one; empty where none is in the open.
    operator: str = ""
    scalar: Number | None = None

    @property
    def binding(self) -> int:
        """How tightly the outermost operator binds."""
        return _BINDING.get(self.operator, _ATOM)


class Truth:
    """A condition: for whom it is true and for whom it is false; None is nobody."""

    __slots__ = ("false", "true")

    def __init__(self, true: Query | None, false: Query | None) -> None:
        self.true = true
        self.false = false

    @property
    def opposite(self) -> "Truth":
        """Kleene's not."""
        return Truth(self.false, self.true)


def constant(value: Number) -> Query:
    """A number."""
    return Query(repr(value), scalar=value)


def joined(left: Query, operator: str, right: Query, matching: str = "") -> Query:
    """`left operator right`; `matching` is `on (...)` and the like."""
    binding = _BINDING[operator]
    compared = binding == _BINDING["=="]
    first = _within(left, binding + compared)
    same = operator in _ASSOCIATIVE and right.operator == operator and not matching
    second = _within(right, binding if same else binding + 1)
    operator_text = f"{operator} {matching}".rstrip()
    # Beside a set of several lines `> 0.9` stands where it ends.
    lines = len(first) + len(operator_text) + len(second) > _WIDTH and (
        binding <= _BINDING["and"] or "\n" not in first
    )
    between = "\n" if lines else " "
    return Query(f"{first}{between}{operator_text} {second}", operator)


def called(function: str, *arguments: str) -> Query:
    """A call of a function, or an aggregation with its clause."""
    return Query(f"{function}{enclosed(', '.join(arguments))}")


def enclosed(text: str) -> str:
    """In parentheses, indented where it has several lines."""
    if "\n" not in text:
        return f"({text})"
    return "(\n  " + text.replace("\n", "\n  ") + "\n)"


def _within(query: Query, binding: int) -> str:
    return query.text if query.binding >= binding else enclosed(query.text)


def both(left: Query | None, right: Query | None) -> Query | None:
    """Who is in both."""
    return None if left is None or right is None else joined(left, "and", right)


def either(left: Query | None, right: Query | None) -> Query | None:
    """Who is in one of them."""
    if left is None or right is None:
        return left or right
    return joined(left, "or", right)


def without(all_: Query, some: Query | None) -> Query:
    """Who is in the first and not in the second."""
    return all_ if some is None else joined(all_, "unless", some)


def quoted(text: str) -> str:
    """A string of PromQL. Raises PromqlError for one that cannot be printed."""
    if not text.isprintable():
        raise PromqlError("a text with characters that cannot be printed")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def literal_pattern(text: str) -> str:
    """A regular expression (RE2) that matches exactly this text."""
    return "".join(
        "\\" + character if character in r"\.+*?()|[]{}^$" else character for character in text
    )


def duration(seconds: float) -> str:
    """A duration of PromQL in its largest whole unit."""
    if seconds != int(seconds):
        return f"{round(seconds * 1000)}ms"
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"
