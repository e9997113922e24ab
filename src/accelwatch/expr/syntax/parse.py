"""Third pass: text to a syntax tree in which only white-listed node types occur, within limits."""

import ast
from collections.abc import Iterator

import msgspec

from accelwatch.expr.syntax.complaint import complaint
from accelwatch.expr.syntax.scan import scan
from accelwatch.expr.syntax.shape import MAX_DEPTH, check_shape

MAX_NODES = 500

_ALLOWED: tuple[type[ast.expr], ...] = (
    ast.BoolOp,
    ast.UnaryOp,
    ast.BinOp,
    ast.Compare,
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.List,
    ast.Tuple,
    ast.Call,
)

_ALLOWED_OPERATORS: tuple[type[ast.AST], ...] = (
    *(ast.And, ast.Or, ast.Not, ast.USub, ast.UAdd),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn),
)

# The source is parsed within brackets, so that it may begin with a space.
_OFFSET = 1


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """A checked tree with the text it came from; strings are found by their column."""

    text: str
    tree: ast.expr
    strings: dict[int, str]

    def string(self, node: ast.expr) -> str:
        """The value of a string constant; the tree itself holds only a placeholder."""
        return self.strings[column(node)]


def column(node: ast.expr | ast.keyword) -> int:
    """The column of a node in the text, from 0."""
    return node.col_offset - _OFFSET


def parse(text: str) -> Parsed:
    """A checked tree; raises ExpressionError for all that is not of the language or over a limit."""
    scanned = scan(text)
    check_shape(text, scanned.tokens)
    try:
        tree = ast.parse(f"({scanned.source})", mode="eval").body
    except SyntaxError as error:
        position = max(0, (error.offset or 1) - 1 - _OFFSET)
        raise complaint(text, position, "this cannot be read as an expression") from None
    except (MemoryError, RecursionError, ValueError):
        raise complaint(text, 0, "the expression is too deeply nested to be read") from None
    _check(text, tree)
    return Parsed(text=text, tree=tree, strings=scanned.strings)


def _check(text: str, tree: ast.expr) -> None:
    """Check each node; without recursion, for a chain of 2000 additions is 2000 levels deep."""
    pending: list[tuple[ast.expr, int]] = [(tree, 1)]
    visited = 0
    while pending:
        node, depth = pending.pop()
        visited += 1
        if visited > MAX_NODES:
            raise complaint(text, 0, f"the expression has more than {MAX_NODES} parts")
        if depth > MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep"
            raise complaint(text, column(node), message, "bracket parts of a long sum together")
        if not isinstance(node, _ALLOWED):
            raise complaint(text, column(node), "this is not part of the language")
        _check_operators(text, node)
        pending.extend((child, depth + 1) for child in _children(node))


def _check_operators(text: str, node: ast.expr) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr | ast.keyword | ast.expr_context):
            continue
        if not isinstance(child, _ALLOWED_OPERATORS):
            raise complaint(text, column(node), "this operator is not part of the language")


def _children(node: ast.expr) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.keyword):
            yield child.value
