"""Targets that a store starts to scrape while it is being read are returned whole, or not yet."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from accelwatch.fleet.tsdb.query import QueryClient
from accelwatch.fleet.tsdb.reader import StoreReader
from accelwatch.fleet.tsdb.settings import Store
from support.servers.fake_prometheus import FakeStore, fake_store

TARGET: dict[str, Any] = {"job": "gpus", "instance": "a:9400", "node": "n1", "rack": "r1"}


@asynccontextmanager
async def reading() -> AsyncIterator[tuple[FakeStore, StoreReader]]:
    async with fake_store() as store:
        settings = Store(url=store.url)
        client = QueryClient(settings)
        try:
            yield store, StoreReader(settings, client)
        finally:
            await client.close()


def appears_when_queried(store: FakeStore, part: str, *, up: bool = True) -> None:
    """Has a target scraped for the first time just before a request of this kind is answered."""

    def hook(path: str, form: dict[str, str]) -> web.Response | None:
        if not store.samples and part in path + form.get("query", ""):
            store.gpu(**TARGET)
            if up:
                store.put("up", 1, **TARGET)
        return None

    store.fail = hook


def test_a_target_that_comes_between_the_queries_is_reported_by_the_next_read() -> None:
    async def main() -> None:
        async with reading() as (store, reader):
            appears_when_queried(store, "/values")
            assert (await reader.read()).scrapes == ()
            (scrape,) = (await reader.read()).scrapes
            assert (scrape.origin.node, scrape.labels["rack"]) == ("n1", "r1")

    asyncio.run(main())


def test_a_target_that_was_there_before_is_reported_at_once() -> None:
    async def main() -> None:
        async with reading() as (store, reader):
            appears_when_queried(store, "up")
            assert len((await reader.read()).scrapes) == 1

    asyncio.run(main())


def test_samples_without_any_target_are_reported_at_once_and_again() -> None:
    """What was written to the store has no `up`."""

    async def main() -> None:
        async with reading() as (store, reader):
            appears_when_queried(store, "up", up=False)
            assert [len((await reader.read()).scrapes) for _ in range(3)] == [1, 1, 1]
            queries = [form["query"] for path, form, _ in store.requests if path.endswith("/query")]
            assert sum('"up"' in query for query in queries) == 1 + 3

    asyncio.run(main())


def test_a_store_that_fails_meanwhile_is_believed_by_the_next_read() -> None:
    async def main() -> None:
        async with reading() as (store, reader):
            appears_when_queried(store, "/values")
            hook = store.fail

            def refuse(path: str, form: dict[str, str]) -> web.Response | None:
                hook(path, form)
                again = store.samples and '"up"' in form.get("query", "")
                return web.Response(status=503) if again else None

            store.fail = refuse
            assert (await reader.read()).scrapes == ()
            store.fail = hook
            assert len((await reader.read()).scrapes) == 1

    asyncio.run(main())
