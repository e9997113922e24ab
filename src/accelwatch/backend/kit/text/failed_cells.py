"""Words that a table has where a number could not be read, each made a cell of its own. Pure.

`ERR W` has a blank within, and `Unknown Error` is wider than its column and leaves one blank to the next
cell: split as numbers are, either would cost its neighbours their headings.
"""

import re

_FAILED = re.compile(
    r"(?:(?<=[\s|/(])|^)\[?(unknown error|err!?|failed|n/?a|\?+)\]?(?: ?(?:w|°?c|%|[kmgt]i?b|mhz))?"
    r"(?=[\s|/()]|$)",
    re.IGNORECASE,
)
# A slash with wide gaps on both sides is a cell of its own.
_BESIDE_SLASH = re.compile(r"\s{2,}(?=/\s{0,2}\S)|(?<=\S/)\s{2,}")
_IN_BRACKETS = re.compile(r"\s+(?=\)|\(\S)")
_JOINED_BEFORE = re.compile(r"(?:\S\s?/|\()\s*\Z")
_JOINED_AFTER = re.compile(r"\s*(?:/\s{0,2}\S|\)|\(\S)")
_FAULTS = ("unknown error", "err", "err!", "failed")
# What each of them becomes; `N/A` stays what it is.
FAULT = "ERR!"


def with_failed_cells(line: str) -> str:
    """The line with such words between two blanks, but where a slash or bracket joins two."""
    joined = _BESIDE_SLASH.sub(" ", line)
    if _FAILED.search(joined) is None:
        return joined
    return _IN_BRACKETS.sub("", _FAILED.sub(_apart, joined))


def _apart(match: re.Match[str]) -> str:
    before, after = match.string[: match.start()], match.string[match.end() :]
    left = "" if _JOINED_BEFORE.search(before) else "  "
    right = "" if _JOINED_AFTER.match(after) else "  "
    return f"{left}{_failure_text(match[1])}{right}"


def normalise_failed_cells(line: str) -> str:
    """The line with such phrases without blanks and all other columns at their old offsets."""
    return _FAILED.sub(lambda match: _failure_text(match[1]).ljust(len(match[0])), line)


def _failure_text(text: str) -> str:
    return FAULT if text.lower() in _FAULTS else text
