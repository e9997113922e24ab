"""Text that devices, drivers, nodes and users chose, made harmless where it is shown.

A name may hold what moves a cursor, colours a screen, reverses the reading order or ends a line: C0 and
C1 controls, DEL, bidirectional controls. None of it is printable by Unicode's categories, which is the
test here. JSON escapes by itself; terminals, logs, expositions and spreadsheets do not.
"""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def printable(text: str, *, ascii_only: bool = False, instead: str = "?") -> str:
    """Text for a terminal or a cell, `instead` for each character that is not printable."""
    shown = "".join(char if char.isprintable() else instead for char in text)
    return shown.encode("ascii", "replace").decode() if ascii_only else shown


def escaped(text: str, keep: str = "") -> str:
    """Text for a log or a message: what is not printable, but for `keep`, is written as Python does."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode()
        for char in text
    )


def no_formula(text: str) -> str:
    """Text that a spreadsheet will not run: a leading formula character gets an apostrophe before it."""
    return "'" + text if text.startswith(_FORMULA) else text


def cell_text(text: str) -> str:
    """Text for a quoted cell of CSV, shown on terminals and opened in spreadsheets; lines stay lines."""
    return no_formula("\n".join(map(printable, text.split("\n"))))
