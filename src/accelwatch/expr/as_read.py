"""Words of the screen in filters: `temp > 85`, `util < 10` read the dashboard's values, in its units.

Rules have the names of the catalogue only: what is kept in files says its units.
"""

from collections.abc import Iterator, Mapping

from accelwatch.expr.syntax.scan import Token, scan
from accelwatch.expr.vocabulary.names import NameTable

# Word to the expression that it stands for, and what that is.
SPOKEN: Mapping[str, tuple[str, str]] = {
    "temp": ("temperature_celsius", "temperature in °C"),
    "util": ("(utilization_ratio * 100)", "utilization in percent"),
    "mem": ("(memory_used_bytes / memory_size_bytes * 100)", "memory in use in percent"),
    "power": ("power_watts", "power in watts"),
    "clock": ("(clock_hertz / 1000000)", "clock in MHz"),
}
_AFTER_A_NAME = frozenset({".", "[", "("})


def as_read(text: str, names: NameTable) -> str:
    """The condition in names of the catalogue. A label or name that is called like a word stays itself.

    Raises ExpressionError for what is not of the language.
    """
    segments: list[str] = []
    end = 0
    for token in _spoken(text, names):
        segments += [text[end : token.column], SPOKEN[token.text][0]]
        end = token.column + len(token.text)
    return "".join([*segments, text[end:]])


def as_written(text: str, names: NameTable, column: int) -> int:
    """The column of `text` from which stems what stands at `column` of `as_read(text)`."""
    grown = 0
    for token in _spoken(text, names):
        start, meant = token.column + grown, SPOKEN[token.text][0]
        if column < start:
            break
        if column < start + len(meant):
            return token.column
        grown += len(meant) - len(token.text)
    return column - grown


def _spoken(text: str, names: NameTable) -> Iterator[Token]:
    """The words of the screen in a text."""
    tokens = scan(text).tokens
    for before, token, after in zip((None, *tokens), tokens, (*tokens[1:], None), strict=False):
        if _is_spoken(before, token, after, names):
            yield token


def _is_spoken(before: Token | None, token: Token, after: Token | None, names: NameTable) -> bool:
    if token.kind != "word" or token.text not in SPOKEN:
        return False
    if token.text in names.identity or token.text in names.rows:
        return False
    if before is not None and before.text == ".":
        return False
    return after is None or after.text not in _AFTER_A_NAME
