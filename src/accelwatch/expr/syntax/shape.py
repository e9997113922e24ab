"""Second pass: brackets, nesting, and that values and operators alternate.

It gives the errors people make a plain wording, and it bounds the nesting before Python's
recursive parser sees the text.
"""

from accelwatch.expr.syntax.complaint import complaint
from accelwatch.expr.syntax.scan import KEYWORD_OPERATORS, LITERALS, Token

MAX_DEPTH = 32

_CLOSING = {"(": ")", "[": "]"}
_KEYWORDS = KEYWORD_OPERATORS | LITERALS
_PREFIX = frozenset({"-", "+", "not"})
_BINARY = frozenset({"and", "or", "in", "==", "!=", "<", "<=", ">", ">=", "*", "/", "//", "%"})


def check_shape(text: str, tokens: tuple[Token, ...]) -> None:
    """Raise ExpressionError at the first token that cannot stand where it stands."""
    walk = _Walk(text)
    for token, following in zip(tokens, (*tokens[1:], None), strict=True):
        walk.step(token, following)
    walk.finish()


class _Walk:
    """State of one pass: the open brackets, the nesting, and what may come next."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Each with the nesting outside it, and whether it holds the arguments of a call.
        self._open: list[tuple[Token, int, bool]] = []
        self._outside = 0
        self._prefixes = 0
        self._expects_value = True
        self._before: Token | None = None
        self._earlier: Token | None = None

    def step(self, token: Token, following: Token | None) -> None:
        """Check the next token."""
        if token.text in _CLOSING.values():
            self._close(token)
        elif self._expects_value:
            self._value(token)
        else:
            self._operator(token, following)
        if self._outside + self._prefixes > MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep"
            raise complaint(self._text, token.column, message)
        self._earlier, self._before = self._before, token

    def finish(self) -> None:
        """The text ends here."""
        if self._expects_value and self._before is not None and not self._open:
            end = self._before.column + len(self._before.text)
            raise complaint(self._text, end, f"a value is missing after {self._before.text}")
        if self._open:
            bracket = self._open[-1][0]
            raise complaint(self._text, bracket.column, f"this {bracket.text} is not closed")

    def _value(self, token: Token) -> None:
        if token.text in _CLOSING:
            self._nest(token, call=False)
        elif token.text in _PREFIX:
            self._prefixes += 1
        elif token.kind == "operator" or token.text in _BINARY:
            raise complaint(self._text, token.column, f"a value is missing before {token.text}")
        else:
            self._expects_value = False
            self._prefixes = 0

    def _operator(self, token: Token, following: Token | None) -> None:
        if token.text in _CLOSING:
            self._nest(token, call=token.text == "(")
        elif token.text == "=":
            self._keyword(token)
        elif token.text == ".":
            self._label(token, following)
        elif token.text == "not" and not _is_in(following):
            raise complaint(self._text, token.column, f"an operator is missing before {token.text}")
        elif token.kind == "operator" or token.text in _BINARY or token.text == "not":
            self._expects_value = token.text != "not"
        elif self._before is None or self._before.text != ".":
            raise complaint(self._text, token.column, f"an operator is missing before {token.text}")

    def _keyword(self, token: Token) -> None:
        """An = stands only between the name and the value of a keyword argument."""
        named = self._before is not None and self._before.kind == "word"
        first = self._earlier is not None and self._earlier.text in ("(", ",")
        if not (named and first and self._open and self._open[-1][2]):
            message = "= is not part of the language"
            raise complaint(self._text, token.column, message, "write == to compare")
        self._expects_value = True

    def _label(self, token: Token, following: Token | None) -> None:
        if following is None or following.kind != "word" or following.text in _KEYWORDS:
            hint = 'a label value that is not a word is written as in fan_speed_ratio["0"]'
            raise complaint(self._text, token.column, "a label is missing after the dot", hint)

    def _nest(self, token: Token, *, call: bool) -> None:
        self._open.append((token, self._outside, call))
        self._outside += self._prefixes + 1
        self._prefixes = 0
        self._expects_value = True

    def _close(self, token: Token) -> None:
        if not self._open:
            raise complaint(self._text, token.column, f"this {token.text} closes nothing")
        bracket, self._outside, _ = self._open.pop()
        if _CLOSING[bracket.text] != token.text:
            message = f"this {token.text} does not close the {bracket.text} before it"
            raise complaint(self._text, token.column, message)
        just_opened = self._before is bracket or (self._before and self._before.text == ",")
        if self._expects_value and not just_opened:
            raise complaint(self._text, token.column, f"a value is missing before {token.text}")
        self._expects_value = False
        self._prefixes = 0


def _is_in(token: Token | None) -> bool:
    return token is not None and token.text == "in"
