"""A copy of one collection of the API server: listed once, then kept by watching.

As https://kubernetes.io/docs/reference/using-api/api-concepts/ has it: a list in pages, a watch from its
resource version, bookmarks that move the version on, and 410 Gone, after which it is listed again.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from accelwatch.api_client.kubernetes.errors import (
    ApiError,
    ApiUnavailableError,
    KubernetesError,
    Status,
)
from accelwatch.api_client.kubernetes.lines import Lines
from accelwatch.api_client.kubernetes.objects import ListMeta, Versioned, WatchEvent
from accelwatch.api_client.limiter import MAX_PAUSE_S
from accelwatch.base.backoff import SpreadBackoff
from accelwatch.base.decode_errors import DECODE_ERRORS

_PAGE = 500
_WATCH_S = 240
_MAX_OBJECTS = 200_000
_MAX_BACKOFF_S = 30.0
_HTTP_GONE = 410
# Objects that are changed in one turn of the loop: the dearest are nodes, of which 100 need about 5 ms.
_SLICE = 100


class Keyed(Protocol):
    """An object of the API."""

    @property
    def key(self) -> str:
        """Identifies an object in its collection."""
        ...


T = TypeVar("T", bound=Keyed)
W = TypeVar("W")


def unchanged(item: T) -> T:
    """Of objects that are kept as they are decoded."""
    return item


class Source(Protocol):
    """Requests for one collection."""

    async def list(self, query: Mapping[str, str], accept: str) -> bytes:
        """A page. Raises KubernetesError."""
        ...

    async def watch(
        self,
        query: Mapping[str, str],
        accept: str,
        opened: Callable[[], None],
        feed: Callable[[bytes], None],
    ) -> None:
        """Call `opened` when it is granted, give `feed` what comes; returns when the server ends it.

        Raises KubernetesError, also that of `feed`.
        """
        ...

    def close(self) -> None:
        """Let go of what belongs to this collection alone."""
        ...


class Page(msgspec.Struct, Generic[W], frozen=True, kw_only=True):
    """One page of a list."""

    metadata: ListMeta
    items: tuple[W, ...] | None = ()


class Mirror(Generic[T]):
    """Keeps the objects of one collection; the loop's thread only."""

    def __init__(
        self,
        source: Source,
        query: Mapping[str, str],
        shape: type[W],
        *,
        compact: Callable[[W], T],
        changed: Callable[[str], None],
        replaced: Callable[[T | None, T | None], None] | None = None,
        only_metadata: bool = False,
        is_older: Callable[[T, T], bool] | None = None,
        page: int | None = None,
        max_backoff_s: float | None = None,
    ) -> None:
        """Of an object `shape` is decoded, and what `compact` makes of it is kept.

        `page` is how many come at once; decoding them is what holds the loop for longest. An object that
        `is_older` than the one that is there is passed over: for who puts in what else was read.

        `changed` is called after every change and failure, with what is wrong now or nothing. `replaced`
        gets each object before and after, None where there is none, at the moment of the change.
        """
        self.objects: dict[str, T] = {}
        self.listed = False
        # Whether it has ever failed.
        self.failed = False
        # When the server last showed that this is its state, monotonic seconds; None before the first.
        self.confirmed_at: float | None = None
        # Since when it has not, after a failure; None while all is well.
        self.failing_since: float | None = None
        self._source = source
        self._query = dict(query)
        self._page = msgspec.json.Decoder(Page[shape])  # type: ignore[valid-type]  # at run time
        self._page_size = page or _PAGE
        self._max_backoff_s = max_backoff_s or _MAX_BACKOFF_S
        self._is_older = is_older
        self._compact: Callable[[Any], T] = compact
        self._object = msgspec.json.Decoder(shape)
        self._event = msgspec.json.Decoder(WatchEvent)
        self._changed = changed
        self._replaced = replaced
        self._only_metadata = only_metadata
        self._paged = True
        self._version = ""
        # Whether all is listed again for an event that said nothing: then the pauses go on growing.
        self._misread = False

    async def run(self) -> None:
        """Keep the copy until cancelled."""
        try:
            await self._keep()
        finally:
            self._source.close()

    async def _keep(self) -> None:
        backoff = SpreadBackoff(self._max_backoff_s)
        while True:
            retry_after_s = None
            try:
                if not self._version:
                    await self._list()
                    if not self._misread:
                        backoff.succeeded()
                    self._misread = False
                    self._changed("")
                await self._watch(backoff)
            except KubernetesError as error:
                if error.retry_after_s is not None:
                    retry_after_s = min(error.retry_after_s, MAX_PAUSE_S)
                if error.status == _HTTP_GONE:
                    self._version = ""
                else:
                    self.failed = True
                    if self.failing_since is None:
                        self.failing_since = time.monotonic()
                    self._changed(str(error))
            await asyncio.sleep(backoff.next(retry_after_s))

    async def _list(self) -> None:
        """List everything again. Raises KubernetesError; what has come by then is kept.

        Changed in place, page by page: two copies of 100,000 pods are twice the memory, and letting go
        of one of them at once holds the loop for a tenth of a second.
        """
        listed: set[str] = set()
        query = {**self._query, "limit": str(self._page_size)} if self._paged else dict(self._query)
        while True:
            try:
                page = await self._next_page(query)
            except KubernetesError as error:
                # A page came too late for the server's memory: the next time all of it at once.
                self._paged = error.status != _HTTP_GONE
                raise
            listed.update(await self._put_all(page.items or ()))
            if len(listed) > _MAX_OBJECTS:
                raise ApiUnavailableError(f"more than {_MAX_OBJECTS} objects", sent=True)
            if not page.metadata.continue_:
                break
            query["continue"] = page.metadata.continue_
        await self._drop_others(listed)
        self.listed = self._paged = True
        self._version = page.metadata.resource_version
        self._confirm()

    def _confirm(self) -> None:
        self.confirmed_at, self.failing_since = time.monotonic(), None

    async def _put_all(self, items: Sequence[Any]) -> list[str]:
        """Their keys."""
        keys = []
        for start in range(0, len(items), _SLICE):
            for item in map(self._compact, items[start : start + _SLICE]):
                self.put(item)
                keys.append(item.key)
            await asyncio.sleep(0)
        return keys

    async def _drop_others(self, listed: set[str]) -> None:
        """Forget what is not there any more."""
        keys = list(self.objects)
        for start in range(0, len(keys), _SLICE):
            for key in keys[start : start + _SLICE]:
                if key not in listed:
                    self._drop(key)
            await asyncio.sleep(0)

    async def _next_page(self, query: Mapping[str, str]) -> Page[Any]:
        body = await self._source.list(query, self._accept("List"))
        try:
            page: Page[Any] = self._page.decode(body)
        except DECODE_ERRORS as error:
            raise ApiUnavailableError(f"no list of objects: {error}", sent=True) from error
        return page

    async def _watch(self, backoff: SpreadBackoff) -> None:
        """Apply changes until the server ends the watch. Raises KubernetesError."""
        query = {
            **self._query,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(_WATCH_S),
        }

        def opened() -> None:
            self._confirm()
            self._changed("")

        lines = Lines(lambda received: self._received(received, backoff))
        await self._source.watch(query, self._accept(""), opened, lines.feed)

    def _received(self, lines: Sequence[bytes], backoff: SpreadBackoff) -> None:
        """Apply events that came together. Raises KubernetesError."""
        try:
            changes = [self._handle(line) for line in lines]
        except KubernetesError:
            # A watch from there would be granted and send the same: a copy that is never current.
            self._version, self._misread = "", True
            raise
        self._confirm()
        backoff.succeeded()
        if any(changes):
            self._changed("")

    def _handle(self, line: bytes) -> bool:
        """Apply one event; True when it changed something that is read.

        Raises KubernetesError, with status 410 when our version is too old.
        """
        if not line.strip():
            return False
        try:
            event = self._event.decode(line)
            if event.type == "ERROR":
                status = msgspec.json.decode(event.object, type=Status)
                raise ApiError(status.message or "failed", status=status.code, reason=status.reason)
            version = msgspec.json.decode(event.object, type=Versioned).metadata.resource_version
            changed = event.type != "BOOKMARK" and self._apply(event)
        except DECODE_ERRORS as error:
            raise ApiUnavailableError(f"no event of a watch: {error}", sent=True) from error
        self._version = version
        return changed

    def _apply(self, event: WatchEvent) -> bool:
        item = self._compact(self._object.decode(event.object))
        return self._drop(item.key) if event.type == "DELETED" else self.put(item)

    def put(self, item: T) -> bool:
        """Keep an object that was read; False where that changes nothing."""
        key = item.key
        before = self.objects.get(key)
        if before == item:
            return False
        if before is not None and self._is_older is not None and self._is_older(item, before):
            return False
        self.objects[key] = item
        if self._replaced is not None:
            self._replaced(before, item)
        return True

    def _drop(self, key: str) -> bool:
        before = self.objects.pop(key, None)
        if before is not None and self._replaced is not None:
            self._replaced(before, None)
        return before is not None

    def _accept(self, suffix: str) -> str:
        shape = f"as=PartialObjectMetadata{suffix};g=meta.k8s.io;v=v1"
        return (
            f"application/json;{shape},application/json"
            if self._only_metadata
            else ("application/json")
        )
