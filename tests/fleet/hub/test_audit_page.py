"""/v1/audit: the journal's entries, newest first, page by page."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from accelwatch.alerting.incidents.journal import listing
from accelwatch.alerting.incidents.journal.records import Batch, NoteRecord, StateRecord
from accelwatch.alerting.incidents.journal.sqlite.file import open_file
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.fleet.api.incidents.audit_pages import AuditPages

NOW = 1_795_000_000.0


@pytest.fixture
def pages(tmp_path: Path) -> AuditPages:
    """A journal of ten entries, one each ten seconds; every other one is about n1."""
    path = tmp_path / "journal.sqlite"
    file = open_file(path)
    for number in range(10):
        record = (
            StateRecord("remedy", "n1", node="n1", incident="i1")
            if number % 2
            else NoteRecord("i2", f"note {number}")
        )
        batch = Batch(time=NOW - 90.0 + 10.0 * number, records=[record], actor="kim")
        batch.address = "10.0.0.7" if number == 9 else ""
        file.write([batch])
    file.close()
    return AuditPages(lambda: path, ManualClock(wall=NOW))


def page_of(pages: AuditPages, **query: str) -> Any:
    page = asyncio.run(pages.page({key: [value] for key, value in query.items()}, {}))
    assert page.code == 200
    return json.loads(page.body)


def test_the_newest_stands_first_with_who_and_from_where(pages: AuditPages) -> None:
    document = page_of(pages)
    entries = document["entries"]
    assert [one["sequence"] for one in entries] == [*range(10, 0, -1)]
    assert (entries[0]["actor"], entries[0]["address"]) == ("kim", "10.0.0.7")
    assert (entries[1]["address"], entries[1]["record"]["text"]) == (None, "note 8")
    assert "next" not in document


def test_since_a_time_or_for_a_while(pages: AuditPages) -> None:
    assert len(page_of(pages, since="25s")["entries"]) == 3
    assert len(page_of(pages, since=str(NOW))["entries"]) == 1


def test_about_a_node_or_an_incident(pages: AuditPages) -> None:
    assert {one["record"]["node"] for one in page_of(pages, node="n1")["entries"]} == {"n1"}
    assert len(page_of(pages, incident="i2")["entries"]) == 5
    assert page_of(pages, node="n1", incident="i2")["entries"] == []


def test_page_by_page_everything_comes_once(
    pages: AuditPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_SCANNED", 4)
    found: list[int] = []
    query = {"node": "n1", "limit": "3"}
    while True:
        document = page_of(pages, **query)
        found += [one["sequence"] for one in document["entries"]]
        if "next" not in document:
            break
        query["cursor"] = document["next"]
    assert found == [10, 8, 6, 4, 2]


@pytest.mark.parametrize("cursor", ["", "x", "-1", "0", "9" * 30])
def test_a_cursor_that_is_none_is_refused(pages: AuditPages, cursor: str) -> None:
    with pytest.raises(UsageError, match="cursor"):
        page_of(pages, cursor=cursor)


def test_without_a_journal_there_is_none(tmp_path: Path) -> None:
    clock = ManualClock(wall=NOW)
    with pytest.raises(UnmetError, match="state_dir"):
        page_of(AuditPages(lambda: None, clock))
    gone = AuditPages(lambda: tmp_path / "gone.sqlite", clock)
    assert asyncio.run(gone.page({}, {})).code == 503
