"""A copy of one collection of the API server: listed once, then kept by watching.

As https://kubernetes.io/docs/reference/using-api/api-concepts/ has it: a list in pages, a watch from its
resource version, bookmarks that move the version on, and 410 Gone, after which it is listed anew.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar
from urllib.parse import urlencode

import msgspec

from accelwatch.base.backoff import SpreadBackoff
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import Body
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.target_client import target_client
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.kubernetes.objects import (
    ListMeta,
    Metadata,
    Status,
    Versioned,
    WatchEvent,
)

_PAGE = 500
_WATCH_S = 240
_MAX_LINE_BYTES = 8 << 20
_MAX_OBJECTS = 200_000
_MAX_BACKOFF_S = 30.0
_GONE = 410


class HasMetadata(Protocol):
    """An object of the API."""

    @property
    def metadata(self) -> Metadata:
        """Its metadata."""
        ...


T = TypeVar("T", bound=HasMetadata)


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One page of a list."""

    metadata: ListMeta
    items: tuple[T, ...] | None = ()


class Lines:
    """A body of lines, each handed over once it is whole; nothing of it is kept."""

    def __init__(self, handle: Callable[[Sequence[bytes]], None]) -> None:
        self._handle = handle
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Another piece. Raises TargetFault for a line without an end, and what `handle` raises."""
        # Only the piece is searched: a line may come as a million of them.
        finished, newline, rest = chunk.rpartition(b"\n")
        if newline:
            lines = (bytes(self._pending) + finished).split(b"\n")
            self._pending = bytearray()
            self._handle(lines)
        self._pending += rest
        if len(self._pending) > _MAX_LINE_BYTES:
            raise TargetFault(Reason.TOO_LARGE, "an event without an end")

    def read_all(self) -> bytes:
        """Nothing."""
        return b""


class Mirror(Generic[T]):
    """Keeps the objects of one collection; the loop's thread only."""

    def __init__(
        self,
        client: Client,
        server: Target,
        path: str,
        query: Mapping[str, str],
        shape: type[T],
        *,
        changed: Callable[[str], None],
        only_metadata: bool = False,
    ) -> None:
        """`changed` is called after every change and failure, with what is wrong now or nothing."""
        self.objects: dict[str, T] = {}
        self.listed = False
        # Whether it has ever failed.
        self.failed = False
        self.path = path
        self._client = client
        self._server = server
        self._http = target_client(client, server)
        self._query = dict(query)
        self._page = msgspec.json.Decoder(Page[shape])  # type: ignore[valid-type]  # at run time
        self._object = msgspec.json.Decoder(shape)
        self._event = msgspec.json.Decoder(WatchEvent)
        self._changed = changed
        self._only_metadata = only_metadata
        self._paged = True
        self._version = ""

    async def run(self) -> None:
        """Keep the copy until cancelled."""
        try:
            await self._keep()
        finally:
            self._http.close()

    async def _keep(self) -> None:
        backoff = SpreadBackoff(_MAX_BACKOFF_S)
        while True:
            retry_after_s = None
            try:
                if not self._version:
                    await self._list()
                    backoff.succeeded()
                    self._changed("")
                await self._watch(backoff)
            except TargetFault as fault:
                retry_after_s = fault.retry_after_s
                if fault.code == _GONE:
                    self._version = ""
                else:
                    self.failed = True
                    self._changed(str(fault))
            await asyncio.sleep(backoff.next(retry_after_s))

    async def _list(self) -> None:
        """List everything anew. Raises TargetFault."""
        objects: dict[str, T] = {}
        query = {**self._query, "limit": str(_PAGE)} if self._paged else dict(self._query)
        while True:
            try:
                page = await self._request(query)
            except TargetFault as fault:
                # A page came too late for the server's memory: the next time all of it at once.
                self._paged = fault.code != _GONE
                raise
            objects.update((item.metadata.key, item) for item in page.items or ())
            if len(objects) > _MAX_OBJECTS:
                raise TargetFault(Reason.TOO_LARGE, f"more than {_MAX_OBJECTS} objects")
            if not page.metadata.continue_:
                break
            query["continue"] = page.metadata.continue_
        self.objects, self.listed, self._paged = objects, True, True
        self._version = page.metadata.resource_version

    async def _request(self, query: Mapping[str, str]) -> Page[T]:
        headers = {"Accept": self._accept("List"), "Accept-Encoding": "gzip"}
        limits = self._client.scrape

        def open_body(answered: Mapping[str, str]) -> Body:
            return Body(answered.get("content-encoding"), limits.body_size_limit_bytes)

        body = await self._http.get(self._url(query), headers, open_body, limits.timeout_s)
        try:
            page: Page[T] = self._page.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TargetFault(Reason.GARBAGE, f"no list of objects: {error}") from error
        return page

    async def _watch(self, backoff: SpreadBackoff) -> None:
        """Apply changes until the server ends the watch. Raises TargetFault."""
        query = {
            **self._query,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(_WATCH_S),
        }
        headers = {"Accept": self._accept(""), "Accept-Encoding": "identity"}

        def open_body(_answered: Mapping[str, str]) -> Lines:
            self._changed("")
            return Lines(lambda lines: self._received(lines, backoff))

        longest_s = _WATCH_S + self._client.scrape.timeout_s
        try:
            await self._http.get(self._url(query), headers, open_body, longest_s)
        except TargetFault as fault:
            if fault.reason is Reason.TIMEOUT:
                raise TargetFault(Reason.TIMEOUT, "the watch does not end") from fault
            raise

    def _received(self, lines: Sequence[bytes], backoff: SpreadBackoff) -> None:
        """Apply events that came together. Raises TargetFault."""
        changes = [self._handle(line) for line in lines]
        backoff.succeeded()
        if any(changes):
            self._changed("")

    def _handle(self, line: bytes) -> bool:
        """Apply one event; True when it changed something that is read.

        Raises TargetFault, with code 410 when our version is too old.
        """
        if not line.strip():
            return False
        try:
            event = self._event.decode(line)
            if event.type == "ERROR":
                status = msgspec.json.decode(event.object, type=Status)
                raise TargetFault(Reason.STATUS, status.message or "failed", code=status.code)
            version = msgspec.json.decode(event.object, type=Versioned).metadata.resource_version
            changed = event.type != "BOOKMARK" and self._apply(event)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TargetFault(Reason.GARBAGE, f"no event of a watch: {error}") from error
        self._version = version
        return changed

    def _apply(self, event: WatchEvent) -> bool:
        item: T = self._object.decode(event.object)
        key = item.metadata.key
        if event.type == "DELETED":
            return self.objects.pop(key, None) is not None
        if self.objects.get(key) == item:
            return False
        self.objects[key] = item
        return True

    def _accept(self, suffix: str) -> str:
        shape = f"as=PartialObjectMetadata{suffix};g=meta.k8s.io;v=v1"
        return (
            f"application/json;{shape},application/json"
            if self._only_metadata
            else ("application/json")
        )

    def _url(self, query: Mapping[str, str]) -> str:
        return f"{self._server.url(self.path)}?{urlencode(query)}"
