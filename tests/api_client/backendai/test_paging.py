"""Lists in pages, while rows come and go; and values of filters."""

import asyncio
import random

import pytest

from accelwatch.api_client.backendai.errors import BackendAiUnavailableError
from accelwatch.api_client.backendai.paging import AT_ONCE, PAGE, Page, all_rows, quoted


class _Changing:
    """A list that is another one for each page that is read."""

    def __init__(self, *lists: list[int]) -> None:
        self._lists = list(lists)
        self.offsets: list[int] = []

    async def read(self, offset: int) -> Page[int]:
        self.offsets.append(offset)
        rows = self._lists.pop(0) if len(self._lists) > 1 else self._lists[0]
        return Page(rows[offset : offset + PAGE], len(rows))


def _read(listed: _Changing, most: int | None = None) -> list[int]:
    return asyncio.run(all_rows(listed.read, lambda row: row, most))


@pytest.mark.parametrize("count", [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE, 1000])
def test_every_row_is_read_once(count: int) -> None:
    assert _read(_Changing(list(range(count)))) == list(range(count))


def test_a_short_list_is_one_request() -> None:
    listed = _Changing(list(range(PAGE - 1)))
    _read(listed)
    assert listed.offsets == [0]


def test_pages_of_a_long_list_are_requested_together() -> None:
    waiting = most = 0

    async def read(offset: int) -> Page[int]:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(0)
        waiting -= 1
        return Page(range(offset, min(offset + PAGE, 5000)), 5000)

    assert asyncio.run(all_rows(read, lambda row: row)) == list(range(5000))
    assert most == AT_ONCE


@pytest.mark.parametrize(("total", "requests"), [(0, 23), (150, 23), (10_000, 27)])
def test_a_number_of_rows_that_is_wrong_costs_requests_and_no_row(
    total: int, requests: int
) -> None:
    offsets: list[int] = []

    async def read(offset: int) -> Page[int]:
        offsets.append(offset)
        return Page(range(offset, min(offset + PAGE, 2000)), total)

    assert asyncio.run(all_rows(read, lambda row: row)) == list(range(2000))
    assert len(offsets) <= requests


@pytest.mark.parametrize("seed", range(40))
def test_no_row_is_left_out_or_double_while_others_come_and_go(seed: int) -> None:
    """Each page is another moment: some rows have ended by then, others were added at the end."""
    chance = random.Random(seed)
    rows, added = list(range(2000)), 2000
    stays = set(chance.sample(rows, 1000))

    async def read(offset: int) -> Page[int]:
        nonlocal added
        # In whatever order the requests that are made together arrive.
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
        for row in chance.sample(rows, min(chance.choice((0, 0, 1, 5, 60)), len(rows))):
            if row not in stays:
                rows.remove(row)
        for _ in range(chance.randrange(3)):
            rows.append(added)
            added += 1
        return Page(rows[offset : offset + PAGE], len(rows))

    found = asyncio.run(all_rows(read, lambda row: row))
    assert len(found) == len(set(found))
    assert set(found) >= stays


def test_what_one_of_several_pages_is_refused_for_is_reported() -> None:
    async def read(offset: int) -> Page[int]:
        if offset >= 3 * PAGE:
            raise BackendAiUnavailableError(f"no answer at {offset}", sent=True)
        return Page(range(offset, offset + PAGE), 1000)

    with pytest.raises(BackendAiUnavailableError, match="no answer at"):
        asyncio.run(all_rows(read, lambda row: row))


def test_no_row_is_left_out_when_rows_before_it_go() -> None:
    before, after = list(range(250)), list(range(40, 250))
    assert _read(_Changing(before, after)) == before


def test_no_row_is_left_out_when_most_of_the_list_goes() -> None:
    before, after = list(range(250)), list(range(230, 250))
    assert set(_read(_Changing(before, before, after))) >= set(after)


def test_a_row_that_comes_first_is_not_counted_twice() -> None:
    before = list(range(250))
    assert sorted(_read(_Changing(before, [-1, *before]))) == before


def test_a_list_that_never_has_what_it_had_is_not_believed() -> None:
    class Renewed:
        def __init__(self) -> None:
            self.next = 0

        async def read(self, offset: int) -> Page[int]:
            self.next += PAGE
            return Page(range(self.next, self.next + PAGE) if offset else range(PAGE))

    with pytest.raises(BackendAiUnavailableError, match="faster than it can be read"):
        asyncio.run(all_rows(Renewed().read, lambda row: row))


def test_a_page_that_comes_again_and_again_is_not_read_for_ever() -> None:
    """A manager, or what is before it, that does not heed where a page starts."""
    requests = 0

    async def read(_: int) -> Page[int]:
        nonlocal requests
        requests += 1
        assert requests < 100
        return Page(range(PAGE), 10 * PAGE)

    with pytest.raises(BackendAiUnavailableError, match="faster than it can be read"):
        asyncio.run(all_rows(read, lambda row: row))


def test_no_more_is_read_than_is_needed() -> None:
    listed = _Changing(list(range(1000)))
    rows = _read(listed, most=150)
    assert rows[:150] == list(range(150))
    assert len(listed.offsets) == 2


@pytest.mark.parametrize(
    ("text", "quoted_text"),
    [("i-gpu1", '"i-gpu1"'), ('a" | (id', r'"a\" | (id"'), ("학습", '"학습"')],
)
def test_a_value_cannot_leave_its_quotes(text: str, quoted_text: str) -> None:
    assert quoted(text) == quoted_text


@pytest.mark.parametrize("text", ["a\\", 'a\\"', "a\nb", "a\x1b"])
def test_a_value_that_the_filters_cannot_have_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        quoted(text)
