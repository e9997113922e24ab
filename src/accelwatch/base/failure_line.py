"""The line in which a command that failed says why, among others that it prints. Pure."""

import re

_SHOWN = 200
# A word of failure. Drivers complain of lesser things first, and end with what stopped the command.
_WHY = re.compile(
    r"error|fail|unable|cannot|can't|couldn't|could not|denied|not found|no such|mismatch|refused"
    r"|in use|is used|timed? ?out|ret is -?\d",
    re.IGNORECASE,
)


def failure_line(text: str) -> str:
    """The last line with a word of failure, else the first; empty without a line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    matches = [line for line in lines if _WHY.search(line)]
    return (matches[-1] if matches else next(iter(lines), ""))[:_SHOWN]
