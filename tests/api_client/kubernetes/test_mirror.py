"""Copies of a collection by the client's own list and watch: pages, drops, 410, what is not a list."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.api_client.kubernetes import mirror as mirror_module
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.collection import Collection
from accelwatch.api_client.kubernetes.errors import ApiUnavailableError
from accelwatch.api_client.kubernetes.mirror import Mirror, unchanged
from accelwatch.api_client.kubernetes.server import Server
from support.processes.idle_loop import IdleClock
from support.servers.fake_kubernetes import Cluster, pod, served
from support.servers.scripted_api import dripping, raw, scripted


class Meta(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""


class PodIp(msgspec.Struct, frozen=True):
    ip: str = msgspec.field(default="", name="podIP")


class NamedPod(msgspec.Struct, frozen=True):
    metadata: Meta
    status: PodIp = PodIp()

    @property
    def key(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"


class Copy:
    """A mirror that runs, and what it has called."""

    def __init__(self, client: KubernetesClient) -> None:
        self.complaints: list[str] = []
        self.replaced: list[tuple[str, str]] = []
        self.mirror = Mirror(
            Collection(client, "/api/v1/pods"),
            {},
            NamedPod,
            compact=unchanged,
            changed=self.complaints.append,
            replaced=lambda before, after: self.replaced.append((_ip(before), _ip(after))),
        )

    @property
    def ips(self) -> list[str]:
        return sorted(map(_ip, self.mirror.objects.values()))

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                await asyncio.sleep(0.01)


def _ip(pod: NamedPod | None) -> str:
    return "" if pod is None else pod.status.ip


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_module, "_MAX_BACKOFF_S", 0.02)


@asynccontextmanager
async def running(client: KubernetesClient) -> AsyncIterator[Copy]:
    copy = Copy(client)
    task = asyncio.create_task(copy.mirror.run())
    try:
        yield copy
    finally:
        await client.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def running_at(base: str) -> AbstractAsyncContextManager[Copy]:
    return running(KubernetesClient(Server(base=base)))


@asynccontextmanager
async def copied(cluster: Cluster, folder: Path) -> AsyncIterator[Copy]:
    (folder / "token").write_text("first")
    async with served(cluster, None) as port:
        server = Server(base=f"http://127.0.0.1:{port}", token_file=str(folder / "token"))
        async with running(KubernetesClient(server)) as copy:
            yield copy


def test_what_is_there_comes_changes_and_goes(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("pods", pod("a1", "10.0.0.1", "n1"))
        async with copied(cluster, tmp_path) as copy:
            await copy.until(lambda: copy.mirror.listed and len(cluster.watches) == 1)
            await cluster.put("pods", pod("a2", "10.0.0.2", "n1"))
            await cluster.put("pods", pod("a1", "10.0.0.9", "n1"))
            await cluster.delete("pods", "a2")
            await copy.until(lambda: copy.ips == ["10.0.0.9"] and len(copy.replaced) == 4)
            assert copy.replaced == [
                ("", "10.0.0.1"),
                ("", "10.0.0.2"),
                ("10.0.0.1", "10.0.0.9"),
                ("10.0.0.2", ""),
            ]
            assert not copy.mirror.failed

    asyncio.run(main())


def test_what_is_listed_again_is_changed_where_it_is(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("pods", pod("a1", "10.0.0.1", "n1"), pod("a2", "10.0.0.2", "n1"))
        await cluster.put("pods", pod("a3", "10.0.0.3", "n1"))
        async with copied(cluster, tmp_path) as copy:
            await copy.until(lambda: len(copy.ips) == 3 and len(cluster.watches) == 1)
            kept = copy.mirror.objects["monitoring/a1"]
            await cluster.delete("pods", "a2")
            await copy.until(lambda: len(copy.ips) == 2)
            before = len(copy.replaced)
            # What changes while the watch is gone and its past forgotten is seen by the list.
            cluster.objects["pods"].pop("monitoring/a3")
            cluster.objects["pods"]["monitoring/a4"] = pod("a4", "10.0.0.4", "n1")
            await cluster.compact()
            await copy.until(lambda: copy.ips == ["10.0.0.1", "10.0.0.4"])
            assert copy.replaced[before:] == [("", "10.0.0.4"), ("10.0.0.3", "")]
            assert copy.mirror.objects["monitoring/a1"] is kept

    asyncio.run(main())


def test_a_page_that_came_too_late_is_followed_by_one_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_module, "_PAGE", 10)

    async def main() -> None:
        cluster = Cluster()
        cluster.lose_pages = 1
        await cluster.put("pods", *(pod(f"a{n}", f"10.0.0.{n}", "n1") for n in range(25)))
        async with copied(cluster, tmp_path) as copy:
            await copy.until(lambda: copy.mirror.listed)
            assert len(copy.ips) == 25
            assert ["limit" in path for path in cluster.lists] == [True, True, False]

    asyncio.run(main())


def test_a_watch_that_is_cut_goes_on_without_a_list(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        async with copied(cluster, tmp_path) as copy:
            await copy.until(lambda: len(cluster.watches) == 1)
            confirmed = copy.mirror.confirmed_at
            await cluster.cut()
            await copy.until(lambda: len(cluster.watches) == 2)
            await cluster.put("pods", pod("a1", "10.0.0.1", "n1"))
            await copy.until(lambda: copy.ips == ["10.0.0.1"])
            assert len(cluster.lists) == 1
            assert confirmed is not None
            assert copy.mirror.confirmed_at is not None
            assert copy.mirror.confirmed_at > confirmed

    asyncio.run(main())


def test_a_token_that_has_been_replaced_is_read_by_the_watch(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        async with copied(cluster, tmp_path) as copy:
            await copy.until(lambda: len(cluster.watches) == 1)
            cluster.token = "second"
            await cluster.cut()
            await copy.until(lambda: any("401" in text for text in copy.complaints))
            (tmp_path / "token").write_text("second")
            await cluster.put("pods", pod("a1", "10.0.0.1", "n1"))
            await copy.until(lambda: copy.ips == ["10.0.0.1"])
            assert copy.complaints[-1] == ""

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (raw(200, b"<html>"), "no list of objects"),
        (raw(200, b'{"metadata": {}, "items": [{"metadata": 5}]}'), "no list of objects"),
        (dripping(b'{"metadata"'), "no answer in time"),
    ],
)
def test_what_is_no_list_is_no_empty_cluster(answer: Any, text: str) -> None:
    async def main() -> None:
        async with scripted(answer) as api:
            client = KubernetesClient(Server(base=api.base), timeout_s=0.3, clock=IdleClock())
            async with running(client) as copy:
                await copy.until(lambda: bool(copy.complaints))
                assert text in copy.complaints[0]
                assert not copy.mirror.listed
                assert copy.mirror.confirmed_at is None

    asyncio.run(main())


def test_an_event_that_is_none_is_reported_and_what_is_there_is_kept() -> None:
    listing = raw(
        200, b'{"metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": "a"}}]}'
    )

    async def main() -> None:
        async with (
            scripted(listing, raw(200, b'{"type": 5}\n')) as api,
            running_at(api.base) as copy,
        ):
            await copy.until(lambda: copy.mirror.failed)
            assert "no event of a watch" in copy.complaints[-1]
            assert list(copy.mirror.objects) == ["/a"]
            assert api.received[1].query["resourceVersion"] == "5"

    asyncio.run(main())


def test_an_error_within_a_watch_lists_anew() -> None:
    listing = raw(200, b'{"metadata": {"resourceVersion": "5"}, "items": null}')
    gone = raw(200, b'{"type": "ERROR", "object": {"code": 410, "message": "too old"}}\n')

    async def main() -> None:
        async with (
            scripted(listing, gone, listing, dripping(b"")) as api,
            running_at(api.base) as copy,
        ):
            await copy.until(lambda: len(api.received) == 4)
            assert ["watch" in request.query for request in api.received] == [
                False,
                True,
                False,
                True,
            ]
            assert not copy.mirror.failed

    asyncio.run(main())


def test_more_objects_than_can_be_kept_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_module, "_MAX_OBJECTS", 1)
    items = b'[{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]'
    listing = raw(200, b'{"metadata": {"resourceVersion": "5"}, "items": ' + items + b"}")

    async def main() -> None:
        async with scripted(listing) as api, running_at(api.base) as copy:
            await copy.until(lambda: bool(copy.complaints))
            assert copy.complaints[0] == "more than 1 objects"
            assert not copy.mirror.listed

    asyncio.run(main())


def test_a_server_that_demands_an_hour_is_polled_again_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mirror_module, "MAX_PAUSE_S", 0.01)

    class Busy:
        """Has too much to do once."""

        def __init__(self) -> None:
            self.lists = 0

        async def list(self, _query: Any, _accept: str) -> bytes:
            self.lists += 1
            if self.lists == 1:
                raise ApiUnavailableError("busy", sent=True, status=503, retry_after_s=3600.0)
            return b'{"metadata": {"resourceVersion": "1"}, "items": []}'

        async def watch(self, *_: Any) -> None:
            await asyncio.sleep(3600)

        def close(self) -> None:
            pass

    async def main() -> None:
        mirror = Mirror(Busy(), {}, NamedPod, compact=unchanged, changed=lambda _: None)
        task = asyncio.create_task(mirror.run())
        async with asyncio.timeout(20):
            while not mirror.listed:
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


@pytest.mark.parametrize(
    "event",
    [
        b'{"type": "MODIFIED", "object": {"metadata": {"resourceVersion": "2", "name": 5}}}\n',
        b'{"type": "ERROR", "object": {"code": 500, "message": "etcdserver: too slow"}}\n',
    ],
)
def test_after_an_event_that_says_nothing_all_is_listed_anew(event: bytes) -> None:
    """Watched again from the same version it comes again, and the copy would stand still for ever."""

    class Puzzling:
        """Shows an object only in a list, and something else in its watch."""

        def __init__(self) -> None:
            self.lists = 0

        async def list(self, _query: Any, _accept: str) -> bytes:
            self.lists += 1
            items = [{"metadata": {"name": f"p{self.lists}"}}]
            return msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items})

        async def watch(
            self, _query: Any, _accept: str, opened: Any, feed: Callable[[bytes], None]
        ) -> None:
            opened()
            feed(event)

        def close(self) -> None:
            pass

    async def main() -> None:
        mirror = Mirror(Puzzling(), {}, NamedPod, compact=unchanged, changed=lambda _: None)
        task = asyncio.create_task(mirror.run())
        async with asyncio.timeout(20):
            while "/p2" not in mirror.objects:
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
