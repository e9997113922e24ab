"""Get and list: one object, or pages of many as they were when the first page was read."""

import base64
import itertools
from collections import OrderedDict
from typing import Any

import msgspec

from accelwatch_lab.cluster.kubernetes.api_server.call import Call
from accelwatch_lab.cluster.kubernetes.api_server.objects.selectors import (
    field_matcher,
    label_matcher,
)
from accelwatch_lab.cluster.kubernetes.api_server.objects.store import Entry, Store
from accelwatch_lab.cluster.kubernetes.api_server.status import bad_request, expired, not_found

_METADATA_ONLY = "as=PartialObjectMetadata"
_PARTIAL = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
# Lists that are being read in pages; the oldest is forgotten first.
_MOST_LISTS = 64


class Shape:
    """How objects are written for one request: in its version, whole or their metadata alone."""

    def __init__(self, call: Call) -> None:
        resource = call.resource
        self.partial = _METADATA_ONLY in call.accept
        self._as_stored = call.version == resource.versions[0]
        self.api_version = resource.api_version(call.version)
        self.kind = resource.kind
        # Items of a list of a built-in kind do not say what they are; those of a custom resource do.
        text = msgspec.json.encode({"kind": self.kind, "apiVersion": self.api_version})
        self._prefix = text[:-1] + b"," if resource.schema else b"{"

    def text(self, entry: Entry) -> bytes:
        """One object as JSON."""
        if self.partial:
            return msgspec.json.encode({**_PARTIAL, "metadata": entry.object["metadata"]})
        if self._as_stored:
            return entry.text
        return msgspec.json.encode({**entry.object, "apiVersion": self.api_version})

    def item(self, entry: Entry) -> bytes:
        """The same within a list."""
        return self.text(entry) if self.partial else b"{" + self.text(entry)[len(self._prefix) :]

    def list_head(self, metadata: dict[str, Any]) -> bytes:
        """The beginning of a list, up to its items."""
        kind, version = f"{self.kind}List", self.api_version
        if self.partial:
            kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        head = msgspec.json.encode({"kind": kind, "apiVersion": version, "metadata": metadata})
        return head[:-1] + b',"items":['


class Reader:
    """Reads of one server's objects."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._numbers = itertools.count(1)
        self._lists: OrderedDict[str, tuple[int, list[Entry]]] = OrderedDict()

    def get(self, call: Call) -> bytes:
        """One object. Raises RequestError."""
        return Shape(call).text(self.entry(call))

    def entry(self, call: Call) -> Entry:
        """What is stored under the call's name. Raises RequestError."""
        resource = call.resource
        entry = self._store.get(resource, call.namespace, call.name)
        if entry is None:
            raise not_found(resource.plural, call.name, resource.group)
        return entry

    def page(self, call: Call) -> bytes:
        """One page, or all. Raises RequestError: 410 for a page that has been forgotten."""
        version, entries, first = self._opened(call)
        limit = int(call.query.get("limit") or 0) or len(entries)
        page, remaining = entries[first : first + limit], len(entries) - first - limit
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if remaining > 0:
            metadata["continue"] = self._token(call, version, entries, first + limit)
            # Counting what a selector leaves would need the rest read.
            if not self._selects(call):
                metadata["remainingItemCount"] = remaining
        shape = Shape(call)
        return shape.list_head(metadata) + b",".join(shape.item(entry) for entry in page) + b"]}"

    def selected(self, call: Call) -> list[Entry]:
        """All that a call's selectors leave. Raises RequestError."""
        labels = label_matcher(call.query.get("labelSelector", ""))
        fields = field_matcher(call.resource, call.query.get("fieldSelector", ""))
        entries = self._store.entries(call.resource, call.namespace)
        if not self._selects(call):
            return entries
        return [entry for entry in entries if labels(entry.object) and fields(entry.object)]

    def forget_lists(self) -> None:
        """Forget the lists: clients that read in pages start again."""
        self._lists.clear()

    @staticmethod
    def _selects(call: Call) -> bool:
        return bool(call.query.get("labelSelector") or call.query.get("fieldSelector"))

    def _opened(self, call: Call) -> tuple[int, list[Entry], int]:
        token = call.query.get("continue", "")
        if not token:
            return self._store.version, self.selected(call), 0
        try:
            number, first = base64.urlsafe_b64decode(token).decode().split(":")
            index = int(first)
        except ValueError as error:
            raise bad_request(f"invalid continue token: {error}") from error
        if number not in self._lists:
            raise expired(
                "The provided continue parameter is too old to display a consistent list result."
            )
        version, entries = self._lists[number]
        return version, entries, index

    def _token(self, call: Call, version: int, entries: list[Entry], first: int) -> str:
        earlier = call.query.get("continue", "")
        if earlier:
            number = base64.urlsafe_b64decode(earlier).decode().partition(":")[0]
        else:
            number = str(next(self._numbers))
            self._lists[number] = version, entries
            if len(self._lists) > _MOST_LISTS:
                self._lists.popitem(last=False)
        return base64.urlsafe_b64encode(f"{number}:{first}".encode()).decode()
