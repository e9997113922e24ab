"""First pass: cuts text into tokens, and refuses whatever is not part of the language.

Python's parser only ever sees what comes out of here: ASCII, bounded in length and nesting, and
with every string blanked to a placeholder of the same length, so that columns stay true.
"""

import keyword
import re

import msgspec

from accelwatch.base.errors import ExpressionError
from accelwatch.expr.syntax.complaint import complaint

MAX_LENGTH = 4096
MAX_TOKENS = 1500
MAX_DIGITS = 40

KEYWORD_OPERATORS = frozenset({"and", "or", "not", "in"})
LITERALS = frozenset({"True", "False"})

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\n\f]+)
    | (?P<string>[rR]?(?:"(?:[^"\\\r\n]|\\[^\r\n])*"|'(?:[^'\\\r\n]|\\[^\r\n])*'))
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<refused>\*\*|:=|&&|\|\||<<|>>|<>|===|\.\.\.)
    | (?P<operator>==|!=|<=|>=|//|[-+*/%<>=()\[\],.])
    """,
    re.VERBOSE,
)

_HINTS = {
    "===": "write ==",
    ":=": "write == to compare",
    "<>": "write !=",
    "&&": "write and",
    "&": "write and",
    "||": "write or",
    "|": "write or",
    "!": "write not",
    "~": "write not",
    "is": "write ==",
    "None": "write missing(name) or present(name)",
    "**": "powers are not part of the language; GiB(10) is 10 times 2 to the 30",
    ":": "slices are not part of the language",
    "if": "write it with and, or, not",
    "else": "write it with and, or, not",
}


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the text: its kind (word, number, string, operator), text and column."""

    kind: str
    text: str
    column: int


class Scanned(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, the text Python's parser may see, and the value of each string by its column."""

    tokens: tuple[Token, ...]
    source: str
    strings: dict[int, str]


def scan(text: str) -> Scanned:
    """Cut `text`; raises ExpressionError for what is too long, too deep or not of the language."""
    if len(text) > MAX_LENGTH:
        message = f"the expression has {len(text)} characters; at most {MAX_LENGTH} are allowed"
        raise ExpressionError(message)
    tokens: list[Token] = []
    strings: dict[int, str] = {}
    source: list[str] = []
    column = 0
    while column < len(text):
        match = _TOKEN.match(text, column)
        if match is None or match.lastgroup == "refused":
            raise _refused(text, column, match.group() if match else text[column])
        piece, kind = match.group(), str(match.lastgroup)
        if kind == "space":
            source.append(" " * len(piece))
        else:
            token = Token(kind=kind, text=piece, column=column)
            _check(text, token)
            tokens.append(token)
            source.append(_blank(token, strings))
        column = match.end()
    if not tokens:
        raise complaint(text, 0, "the expression is empty")
    if len(tokens) > MAX_TOKENS:
        raise complaint(text, tokens[MAX_TOKENS].column, "the expression has too many parts")
    return Scanned(tokens=tuple(tokens), source="".join(source), strings=strings)


def _blank(token: Token, strings: dict[int, str]) -> str:
    if token.kind != "string":
        return token.text
    if token.text[0] in "rR":
        strings[token.column] = token.text[2:-1]
    else:
        strings[token.column] = re.sub(r"""\\([\\"'])""", r"\1", token.text[1:-1])
    return '"' + "_" * (len(token.text) - 2) + '"'


def _refused(text: str, column: int, piece: str) -> Exception:
    if piece in "\"'":
        return complaint(text, column, "this string is not closed")
    shown = piece if piece.isprintable() else f"U+{ord(piece[0]):04X}"
    return complaint(text, column, f"{shown} is not part of the language", _HINTS.get(piece, ""))


def _check(text: str, token: Token) -> None:
    after = text[token.column + len(token.text) :][:1]
    if token.kind == "number":
        _check_number(text, token, after)
    elif token.kind == "word":
        if after and after in "\"'" and token.text not in KEYWORD_OPERATORS:
            message = f"strings with the prefix {token.text} are not part of the language"
            raise complaint(text, token.column, message)
        if "__" in token.text:
            message = f"{token.text}: names with two underscores are not part of the language"
            raise complaint(text, token.column, message)
        if keyword.iskeyword(token.text) and token.text not in KEYWORD_OPERATORS | LITERALS:
            message = f"{token.text} is not part of the language"
            raise complaint(text, token.column, message, _HINTS.get(token.text, ""))


def _check_number(text: str, token: Token, after: str) -> None:
    if after and (after.isalnum() or after in "_."):
        unit = re.match(r"[A-Za-z]+", text[token.column + len(token.text) :])
        hint = f"write for example GiB({token.text})" if unit else ""
        raise complaint(text, token.column + len(token.text), "a number ends here", hint)
    if len(token.text) > MAX_DIGITS:
        raise complaint(text, token.column, f"a number has at most {MAX_DIGITS} characters")
    if re.match(r"0[0-9]+$", token.text):
        raise complaint(text, token.column, "a number does not begin with 0")
