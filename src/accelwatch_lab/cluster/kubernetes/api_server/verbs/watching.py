"""Watch: events after a version, bookmarks, 410 for a version that is gone."""

import asyncio
import contextlib
from collections.abc import Iterator

import msgspec
from aiohttp import web

from accelwatch_lab.cluster.kubernetes.api_server.call import Call
from accelwatch_lab.cluster.kubernetes.api_server.objects.selectors import (
    Matches,
    field_matcher,
    label_matcher,
)
from accelwatch_lab.cluster.kubernetes.api_server.objects.store import Event, Store
from accelwatch_lab.cluster.kubernetes.api_server.status import failure
from accelwatch_lab.cluster.kubernetes.api_server.verbs.reading import Reader, Shape

# The real server ends a watch after 30 to 60 minutes where the client does not say when.
_LONGEST_S = 1800.0


class Watcher:
    """Watches of one server."""

    def __init__(self, store: Store, reader: Reader, bookmark_s: float) -> None:
        self._store = store
        self._reader = reader
        # Seconds of silence after which a bookmark is sent.
        self.bookmark_s = bookmark_s

    async def answer(
        self, call: Call, request: web.BaseRequest, headers: dict[str, str]
    ) -> web.StreamResponse:
        """Send events until the client, the time or a dropped watch ends it. Raises RequestError."""
        stream = _Stream(call, web.StreamResponse(headers=headers))
        since = int(call.query.get("resourceVersion") or 0)
        # Without a version, a watch begins with the existing objects.
        initial = [] if since else self._reader.selected(call)
        since = since or self._store.version
        await stream.response.prepare(request)
        if self._store.is_gone(call.resource, since):
            message = f"too old resource version: {since} ({self._store.oldest})"
            await stream.send("ERROR", msgspec.json.encode(failure(410, "Expired", message)))
            return stream.response
        for entry in initial:
            await stream.send("ADDED", stream.shape.text(entry))
        # A client that has gone away is nobody's failure.
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(float(call.query.get("timeoutSeconds") or _LONGEST_S)):
                await self._follow(call, stream, since)
        return stream.response

    async def _follow(self, call: Call, stream: "_Stream", since: int) -> None:
        drops, resource = self._store.drops, call.resource
        change = self._store.wait(resource)
        try:
            while drops == self._store.drops:
                change.clear()
                for event in self._store.since(resource, since):
                    since = event.version
                    await stream.send_event(event)
                if drops == self._store.drops and not change.is_set():
                    await self._wait(change, stream)
        finally:
            self._store.forget(resource, change)

    async def _wait(self, change: asyncio.Event, stream: "_Stream") -> None:
        try:
            async with asyncio.timeout(self.bookmark_s):
                await change.wait()
        except TimeoutError:
            await stream.send_bookmark(self._store.version)


class _Stream:
    """One answer that goes on."""

    def __init__(self, call: Call, response: web.StreamResponse) -> None:
        self.response = response
        self.shape = Shape(call)
        self._labels: Matches = label_matcher(call.query.get("labelSelector", ""))
        self._fields: Matches = field_matcher(call.resource, _fields(call))
        self._bookmarks = call.query.get("allowWatchBookmarks") in ("1", "true")

    async def send(self, kind: str, text: bytes) -> None:
        await self.response.write(b'{"type":"%b","object":%b}\n' % (kind.encode(), text))

    async def send_event(self, event: Event) -> None:
        for kind in self._kinds(event):
            await self.send(kind, self.shape.text(event.entry))

    def _kinds(self, event: Event) -> Iterator[str]:
        """What a change is for a watch that selects: an object that is selected no longer is DELETED."""
        before = event.previous is not None and self._matches(event.previous.object)
        now = event.kind != "DELETED" and self._matches(event.entry.object)
        if now:
            yield "MODIFIED" if before else "ADDED"
        elif before:
            yield "DELETED"

    def _matches(self, stored: dict[str, object]) -> bool:
        return self._labels(stored) and self._fields(stored)

    async def send_bookmark(self, version: int) -> None:
        if not self._bookmarks:
            return
        kind, api_version = self.shape.kind, self.shape.api_version
        if self.shape.partial:
            kind, api_version = "PartialObjectMetadata", "meta.k8s.io/v1"
        about = {"kind": kind, "apiVersion": api_version}
        text = msgspec.json.encode({**about, "metadata": {"resourceVersion": str(version)}})
        await self.send("BOOKMARK", text)


def _fields(call: Call) -> str:
    """The field selector, and what the path says."""
    requirements = [call.query.get("fieldSelector", "")]
    if call.namespace:
        requirements.append(f"metadata.namespace={call.namespace}")
    if call.name:
        requirements.append(f"metadata.name={call.name}")
    return ",".join(filter(None, requirements))
