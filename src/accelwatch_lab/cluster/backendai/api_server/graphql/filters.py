"""The little language of `filter` and `order`: `status == "ALIVE" & (id != "a" | id == "b")`."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from accelwatch_lab.cluster.backendai.api_server import problems

Row = dict[str, Any]
Test = Callable[[Row], bool]
_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<sign>==|!=|>=|<=|[<>&|()\[\],])|(?P<word>[\w.:-]+))'
)
_LITERALS = {"true": True, "false": False, "null": None}


def matching(rows: Sequence[Row], text: str | None, fields: frozenset[str]) -> list[Row]:
    """Those that a filter lets through; of the fields that can be filtered. Raises RequestError."""
    if text is None:
        return list(rows)
    tokens = list(_tokens(text))
    test = _Parser(tokens, fields).all()
    return [row for row in rows if test(row)]


def ordered(rows: Sequence[Row], text: str | None) -> list[Row]:
    """By `field` or `-field`."""
    if not text:
        return list(rows)
    field = text.lstrip("+-")
    return sorted(rows, key=lambda row: str(row[field]), reverse=text.startswith("-"))


def _has(value: Any, operand: Any) -> bool:
    """A list is compared element by element, as the database does."""
    return operand in value if isinstance(value, list) else bool(value == operand)


def _is_like(value: Any, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("%"))), str(value)) is not None


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _has,
    "!=": lambda value, operand: not _has(value, operand),
    "contains": lambda value, operand: value is not None and operand in value,
    "in": lambda value, operand: value in operand,
    "like": _is_like,
    "ilike": lambda value, operand: _is_like(str(value).lower(), operand.lower()),
}


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise _bad(f"unexpected character in {text!r}")
        at = match.end()
        yield match.group(match.lastgroup or 0)


class _Parser:
    def __init__(self, tokens: list[str], fields: frozenset[str]) -> None:
        self._tokens = tokens
        self._fields = fields

    def all(self) -> Test:
        test = self._either()
        if self._tokens:
            raise _bad(f"unexpected {self._tokens[0]}")
        return test

    def _either(self) -> Test:
        tests = [self._both()]
        while self._tokens[:1] == ["|"]:
            self._next()
            tests.append(self._both())
        return lambda row: any(test(row) for test in tests)

    def _both(self) -> Test:
        tests = [self._single()]
        while self._tokens[:1] == ["&"]:
            self._next()
            tests.append(self._single())
        return lambda row: all(test(row) for test in tests)

    def _single(self) -> Test:
        field = self._next()
        if field == "(":
            test = self._either()
            self._next()
            return test
        if field not in self._fields:
            raise _bad(
                'Error trying to process rule "binary_expr":\n\n'
                f"('Unknown/unsupported field name', '{field}')"
            )
        operator = _OPERATORS.get(self._next())
        if operator is None:
            raise _bad("unknown operator")
        operand = self._value()
        return lambda row: operator(row[field], operand)

    def _value(self) -> Any:
        first = self._next()
        if first == "[":
            values = []
            while (element := self._next()) != "]":
                if element != ",":
                    values.append(_literal(element))
            return values
        return _literal(first)

    def _next(self) -> str:
        if not self._tokens:
            raise _bad("it ends too early")
        return self._tokens.pop(0)


def _literal(token: str) -> Any:
    if token.startswith('"'):
        return token[1:-1].replace('\\"', '"')
    return _LITERALS.get(token, int(token) if token.isdigit() else token)


def _bad(message: str) -> problems.RequestError:
    error = problems.failed()
    error.text = f"Query filter parsing error: {message}"
    return error
