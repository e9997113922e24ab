"""Rows of a table of processes that a vendor's command prints below its devices. Pure.

Who picks a device that nobody uses relies on it: a row that cannot be read may be of any of them, so
that the processes of all of them are unknown then, and never none.
"""

import re
from collections.abc import Iterable

# A line that begins with the number of a device; not all tables have a frame.
_ROW = re.compile(r"[\s|]*\d{1,4}[\s,].*", re.ASCII)


def process_rows(
    lines: Iterable[str], row: re.Pattern[str], nobody: re.Pattern[str]
) -> list[re.Match[str]] | None:
    """The rows that `row` matches; None when processes are unknown.

    They are when a row does not match, and when there is none without `nobody`, which says so. Lines
    that begin with no number are headings, and warnings between the rows.
    """
    matches: list[re.Match[str]] = []
    is_empty = False
    for line in map(str.strip, lines):
        match = row.fullmatch(line)
        if match is not None and _is_closed(line):
            matches.append(match)
        elif _ROW.fullmatch(line):
            return None
        is_empty = is_empty or nobody.fullmatch(line) is not None
    return matches if matches or is_empty else None


def _is_closed(line: str) -> bool:
    """Whether it has both sides of the frame or none: what stands last may be half a number."""
    return not line.startswith("|") or line.endswith("|")
