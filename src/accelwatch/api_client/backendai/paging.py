"""Lists of the manager's GraphQL in pages, and the values that its filters have."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

import msgspec

from accelwatch.api_client.backendai.errors import BackendAiUnavailableError

# Rows of a page: sessions with dozens of kernels each stay far below the longest answer that is read.
PAGE = 100
# Pages that are requested at once. One worker of a manager needs half a second for each (26.9.6): more
# would wait there for seconds of the time that a request has, and other people's requests with them.
AT_ONCE = 4
# Rows with which a page repeats the one before: so many may end while pages are read at once, until
# it has to be gone back.
OVERLAP = 10
_STEP = PAGE - OVERLAP
# Pages in sequence that bring nothing new: where it is gone back in a list that gets shorter while it
# is read, or where one comes again and again.
_MOST_REPEATED = 10
_Row = TypeVar("_Row")


class Page(msgspec.Struct, Generic[_Row], frozen=True):
    """Some rows of a list, as many as a page has."""

    rows: Sequence[_Row]
    # Of the whole list when the page was read; 0 where the manager does not say it.
    total: int = 0


# Gives the page at an offset.
ReadPage = Callable[[int], Awaitable[Page[_Row]]]


async def all_rows(
    read: ReadPage[_Row], key: Callable[[_Row], Hashable], most: int | None = None
) -> list[_Row]:
    """All rows, or the first `most`; `key` identifies a row. The order must be one that stays.

    The first page says how many rows there are; the pages after it are requested several at once.
    Pages go by numbers: where rows before a page have gone meanwhile, it would leave some out. So
    each page repeats the last rows of the one before, and where it has nothing of what was read, it is
    gone back until one has. Raises BackendAiUnavailableError where none ever has, and where full pages
    go on without a new row.
    """
    rows: dict[Hashable, _Row] = {}
    offset = repeated = 0
    together = 1
    while True:
        offsets = [offset + number * _STEP for number in range(together)]
        for start, page in zip(offsets, await _together(read, offsets), strict=True):
            before = len(rows)
            is_apart = start > 0 and not any(key(row) in rows for row in page.rows)
            if not is_apart:
                rows.update((key(row), row) for row in page.rows)
                if len(page.rows) < PAGE or (most is not None and len(rows) >= most):
                    return list(rows.values())
            repeated = repeated + 1 if len(rows) == before else 0
            if repeated > _MOST_REPEATED:
                text = "the manager's list changes faster than it can be read"
                raise BackendAiUnavailableError(text, sent=False)
            offset = max(start - PAGE, 0) if is_apart else start + _STEP
            together = _pages(page.total if most is None else min(page.total, most), offset)
            if is_apart:
                # The pages that were requested with it are behind the gap.
                break


def _pages(total: int, offset: int) -> int:
    """How many pages of a list are requested at once from an offset on."""
    return min(max(-(-(total - offset - OVERLAP) // _STEP), 1), AT_ONCE)


async def _together(read: ReadPage[_Row], offsets: Sequence[int]) -> list[Page[_Row]]:
    """Pages at some offsets; the first error that one of them has ends the others."""

    async def page(offset: int) -> Page[_Row]:
        return await read(offset)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(page(offset)) for offset in offsets]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


def quoted(text: str) -> str:
    """A string of the filters' language, which knows one escape: that of the quotation mark.

    Raises ValueError for a text that it cannot have, which is no name or id that the manager gives.
    """
    if not text.isprintable() or "\\" in text:
        raise ValueError("not a name or id of Backend.AI")
    return '"' + text.replace('"', '\\"') + '"'
