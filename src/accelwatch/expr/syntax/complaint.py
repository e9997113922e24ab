"""How an error in an expression is shown: what is wrong, the text, a caret, what to write instead."""

from accelwatch.base.errors import ExpressionError
from accelwatch.base.untrusted_text import printable

_BLANKS = str.maketrans(dict.fromkeys("\t\r\n\f", " "))
# Characters of a long expression that are shown around the fault.
SHOWN = 100


class PointedError(ExpressionError):
    """An error at a column of a text, which can be shown in another text that means the same."""

    def __init__(self, shown: str, column: int, message: str, hint: str) -> None:
        super().__init__(shown)
        self.column = column
        self.message = message
        self.hint = hint

    def within(self, text: str, column: int) -> "PointedError":
        """The same error, pointing at a character of another text."""
        return complaint(text, column, self.message, self.hint)


def complaint(text: str, column: int, message: str, hint: str = "") -> PointedError:
    """An error that points at character `column` (from 0) of `text`."""
    column = max(0, min(column, len(text)))
    start = max(0, column - SHOWN // 2) if len(text) > SHOWN else 0
    end = min(len(text), start + SHOWN)
    before, after = _shown(text[start:column]), _shown(text[column:end])
    head, tail = ("..." if start else ""), ("..." if end < len(text) else "")
    lines = [
        f"{_shown(message)} (column {column + 1})",
        f"  {head}{before}{after}{tail}",
        f"  {' ' * (len(head) + _width(before))}^",
    ]
    if hint:
        lines.append(_shown(hint))
    return PointedError("\n".join(lines), column, message, hint)


def _shown(text: str) -> str:
    """In one line, a character for each, so that the caret stands below the fault."""
    return printable(text.translate(_BLANKS), instead="\N{REPLACEMENT CHARACTER}")


def _width(text: str) -> int:
    """Columns of a terminal that `text` fills: East Asian wide characters fill two."""
    import unicodedata  # for mistakes only: its tables cost memory

    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    zero = sum(unicodedata.combining(c) != 0 for c in text)
    return len(text) + wide - zero
