"""Names with numeric ranges, `n[001-063,070]`, as schedulers write them."""

import re

from accelwatch.errors import UsageError

_RANGE = re.compile(r"([^\[\],]*)\[([0-9,-]+)\]")
_PART = re.compile(r"(\d+)(?:-(\d+))?")
MAX_NAMES = 100_000


def expand(text: str) -> list[str]:
    """Every name of a range; a name without one stands for itself. Raises UsageError."""
    if "[" not in text and "]" not in text:
        return [text]
    match = _RANGE.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is no range; write n[001-063] or n[1,4,7-9]")
    names: list[str] = []
    for piece in match[2].split(","):
        part = _PART.fullmatch(piece)
        if part is None:
            raise UsageError(f"{piece!r} in {text!r} is no range; write 001-063")
        first, last = int(part[1]), int(part[2] or part[1])
        if last < first or len(names) + last - first >= MAX_NAMES:
            raise UsageError(f"{piece!r} in {text!r} runs backwards or is too long")
        names += [f"{match[1]}{number:0{len(part[1])}d}" for number in range(first, last + 1)]
    return names
