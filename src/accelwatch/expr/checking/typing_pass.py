"""What the checks of calls and comparisons need of the checker that walks over the whole expression."""

import ast
from typing import Protocol

from accelwatch.base.errors import ExpressionError
from accelwatch.expr.checking.tree import Node
from accelwatch.expr.syntax.duration import DurationError, duration
from accelwatch.expr.syntax.parse import Parsed, column
from accelwatch.expr.vocabulary.names import NameTable, did_you_mean


class Typing(Protocol):
    """Gives parts of a call or comparison their types; every method raises ExpressionError."""

    @property
    def parsed(self) -> Parsed:
        """The text and its syntax tree."""
        ...

    @property
    def names(self) -> NameTable:
        """The names that may be used."""
        ...

    @property
    def of_job(self) -> bool:
        """Whether the whole expression is about a job."""
        ...

    def typed(self, node: ast.expr) -> Node:
        """Of any type."""
        ...

    def number(self, node: ast.expr) -> Node:
        """A number or a flag."""
        ...

    def condition(self, node: ast.expr) -> Node:
        """A condition."""
        ...

    def inside(self, enclosing: str, node: ast.expr, *, condition: bool) -> Node:
        """A part that is evaluated for every member of a group, in which no other fold may stand."""
        ...

    def predicate(self, names: NameTable, sources: list[ast.expr]) -> Node:
        """Conditions over other names than the rule's, joined by and."""
        ...

    def refusal(
        self, node: ast.expr | ast.keyword, message: str, hint: str = ""
    ) -> ExpressionError:
        """An error that points at a node."""
        ...


def literal(typing: Typing, node: ast.expr) -> str | None:
    """The value of a text that is written out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return typing.parsed.string(node)
    return None


def seconds_of(typing: Typing, node: ast.expr, least: int, most: int) -> int:
    """A duration that is written out."""
    text = literal(typing, node)
    if text is None:
        raise typing.refusal(node, "a duration is needed here", 'write for example "5m"')
    try:
        return duration(text, least, most)
    except DurationError as error:
        raise typing.refusal(node, str(error), error.hint) from None


def choice_of(typing: Typing, node: ast.expr, what: str, choices: list[str]) -> str:
    """One of a few words that is written out."""
    choice = literal(typing, node)
    listed = f"it is one of {', '.join(choices)}"
    if choice is None:
        raise typing.refusal(node, f"{what} is text in quotes", listed)
    if choice not in choices:
        message = f"unknown {what} {choice[:60]!r}"
        raise typing.refusal(node, message, did_you_mean(choice, choices) or listed)
    return choice


def only_keywords(typing: Typing, call: ast.Call, name: str, allowed: list[str]) -> None:
    """Refuse a keyword that the function does not have."""
    for keyword in call.keywords:
        if keyword.arg not in allowed:
            message = f"{name} has no keyword {keyword.arg or '**'}"
            raise typing.refusal(keyword, message, did_you_mean(keyword.arg or "", allowed))


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword."""
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def slice_of(typing: Typing, node: ast.expr) -> str:
    """A part of the text as it was written."""
    return typing.parsed.text[column(node) : end_column(node)]


def end_column(node: ast.expr) -> int:
    """The column after a node in the text, from 0."""
    return column(node) + (node.end_col_offset or node.col_offset) - node.col_offset
