"""The memory that a Mac's processors and GPU share: what vm_stat prints of it. Pure.

In use is what Activity Monitor calls Memory Used: pages of programs that are not purgeable, wired pages,
and what the compressor occupies. Cached files are not in it.
"""

import re

from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch_apple.sample import Measurement

_PAGE = re.compile(r"page size of (\d{1,9}) bytes")
_LINE = re.compile(r'"?([A-Za-z][\w \-]*?)"?:\s+(\d{1,18})\.?')
_ADDED = ("anonymous pages", "pages wired down", "pages occupied by compressor")
_PURGEABLE = "pages purgeable"


def used_bytes(output: bytes) -> Measurement:
    """Bytes in use by all programs and the system; an absence where a line of it is missing.

    Raises ReadError for what is no output of vm_stat.
    """
    text = output.decode("utf-8", "replace")
    page = _PAGE.search(text)
    if page is None:
        raise ReadError("vm_stat printed no page size", code="garbage")
    lines = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    pages = {match[1].lower(): int(match[2]) for match in lines if match is not None}
    if any(name not in pages for name in (*_ADDED, _PURGEABLE)):
        return Absence.UNSUPPORTED
    total = sum(pages[name] for name in _ADDED) - pages[_PURGEABLE]
    return total * int(page[1]) if total >= 0 else Absence.ERROR
