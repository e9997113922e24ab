"""Whether the output of a command that failed is accepted. Pure.

Vendors' tools end so, too, while one card of several is not well, after they have printed all of it.
"""

import re
from collections.abc import Callable
from typing import TypeVar

from accelwatch.base.errors import ReadError

T = TypeVar("T")

# Says of an output whether it is a whole document.
CompletenessCheck = Callable[[bytes], bool]
# The rule below a table, or the line that says that nothing follows.
_END = re.compile(r"\W{3,}|\W*End of .*")
# Statuses of a shell: the file could not be run, it was not found, a signal and 128.
_NOT_STARTED, _LAST_SIGNAL = 126, 192


def never(_: bytes) -> bool:
    """Judges that nothing printed before a failure counts."""
    return False


def parsed(parse: Callable[[bytes], T], entries: Callable[[T], object] = bool) -> CompletenessCheck:
    """A judge that wants an output to be a document with an entry; `parse` may raise ReadError."""

    def is_complete(output: bytes) -> bool:
        try:
            return bool(entries(parse(output)))
        except ReadError:
            return False

    return is_complete


def closed(parse: Callable[[bytes], T], entries: Callable[[T], object] = bool) -> CompletenessCheck:
    """As `parsed`, for tables, of which a part is a table as well: the last line must be their end."""
    has_entry = parsed(parse, entries)

    def is_complete(output: bytes) -> bool:
        return is_closed(output) and has_entry(output)

    return is_complete


def is_closed(output: bytes) -> bool:
    """Whether the last line ends a table."""
    last = output.decode("utf-8", "replace").rstrip().rpartition("\n")[2]
    return _END.fullmatch(last.strip()) is not None


def has_full_output(status: int | None, output: bytes, is_complete: CompletenessCheck) -> bool:
    """Whether a command with this status, which is not 0, ended by itself and printed everything.

    A status below 0 is a signal, None says that it did not end.
    """
    if status is None or status <= 0 or _NOT_STARTED <= status <= _LAST_SIGNAL:
        return False
    return is_complete(output)
