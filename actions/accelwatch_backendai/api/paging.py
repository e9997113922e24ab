"""Lists of the manager's GraphQL in pages, and the values that its filters have."""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import TypeVar

import msgspec

from accelwatch.backendai.errors import BackendAiUnavailableError

# Rows of a page: sessions with dozens of kernels each stay far below the longest answer that is read.
PAGE = 100
# Pages that bring nothing new: where it is gone back in a list that gets shorter while it is read, or
# where one comes again and again.
_MOST_REPEATED = 10
_Row = TypeVar("_Row")

# Gives the rows at an offset, as many as a page has.
ReadPage = Callable[[int], Awaitable[Sequence[_Row]]]


async def all_rows(
    read: ReadPage[_Row], key: Callable[[_Row], Hashable], most: int | None = None
) -> list[_Row]:
    """All rows, or the first `most`; `key` tells them apart. The order must be one that stays.

    Pages go by numbers: where a row before them has gone meanwhile, the next page would leave one out.
    So each page begins with the last row of the one before, and where nothing of it is there, it is
    gone back until something is. Raises BackendAiUnavailableError where nothing ever is, and where full
    pages go on without a new row.
    """
    rows: dict[Hashable, _Row] = {}
    offset = repeated = 0
    while True:
        page, before = await read(offset), len(rows)
        is_apart = offset > 0 and not any(key(row) in rows for row in page)
        if not is_apart:
            rows.update((key(row), row) for row in page)
            if len(page) < PAGE or (most is not None and len(rows) >= most):
                return list(rows.values())
        if len(rows) == before:
            repeated += 1
            if repeated > _MOST_REPEATED:
                text = "the manager's list changes faster than it can be read"
                raise BackendAiUnavailableError(text, sent=False)
        offset = max(offset - PAGE, 0) if is_apart else offset + len(page) - 1


def quoted(text: str) -> str:
    """A string of the filters' language, which knows one escape: that of the quotation mark.

    Raises ValueError for a text that it cannot have, which is no name or id that the manager gives.
    """
    if not text.isprintable() or "\\" in text:
        raise ValueError("not a name or id of Backend.AI")
    return '"' + text.replace('"', '\\"') + '"'


# Amounts of resources by slot, such as cuda.device: 8; memory in bytes.
Slots = dict[str, float]


def slots_in(text: str | None) -> Slots | None:
    """Of the JSON in a string that GraphQL gives; what has no bound, Infinity, is left out.

    None where it is not said, or not understood.
    """
    try:
        amounts = msgspec.json.decode(text or "", type=dict[str, float], strict=False)
    except msgspec.MsgspecError:
        return None
    return {slot: amount for slot, amount in amounts.items() if amount < float("inf")}
