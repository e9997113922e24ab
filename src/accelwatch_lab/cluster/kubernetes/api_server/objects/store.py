"""All objects of a cluster with their versions and history; nothing that is stored is ever changed.

A version counts the writes of the cluster, as etcd's revision does. The history of a resource has a
bound; who wants older events is answered 410 and lists again.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import Resource

Object = dict[str, Any]
Name = tuple[str, str]
# Events of a resource that a watch may still request; etcd's are compacted after five minutes.
_MOST_EVENTS = 20_000
# The first version that a write gets is one more.
_FIRST_VERSION = 1


class Entry:
    """One version of an object; its text is made when it is first read."""

    __slots__ = ("_text", "object", "version")

    def __init__(self, stored: Object, version: int) -> None:
        self.object = stored
        self.version = version
        self._text = b""

    @property
    def text(self) -> bytes:
        """As JSON."""
        self._text = self._text or msgspec.json.encode(self.object)
        return self._text


class Event(NamedTuple):
    """What has become of an object: ADDED, MODIFIED or DELETED."""

    version: int
    kind: str
    entry: Entry
    previous: Entry | None


class _Table:
    def __init__(self) -> None:
        self.entries: dict[Name, Entry] = {}
        self.events: deque[Event] = deque(maxlen=_MOST_EVENTS)
        # Watches of the resource that wait for the next event.
        self.waiting: set[asyncio.Event] = set()
        self.names: list[Name] | None = None


class Store:
    """Of one server."""

    def __init__(self) -> None:
        self.version = _FIRST_VERSION
        # Events up to this version are gone.
        self.oldest = 0
        # Counts how often all watches were dropped.
        self.drops = 0
        # Set at every write.
        self.changed = asyncio.Event()
        self._tables: dict[tuple[str, str], _Table] = {}

    def get(self, resource: Resource, namespace: str, name: str) -> Entry | None:
        """None where there is no such object."""
        return self._table(resource).entries.get((namespace, name))

    def entries(self, resource: Resource, namespace: str = "") -> list[Entry]:
        """By namespace and name; of all namespaces without one."""
        table = self._table(resource)
        if table.names is None:
            table.names = sorted(table.entries)
        return [
            table.entries[name] for name in table.names if not namespace or name[0] == namespace
        ]

    def objects(self, resource: Resource, namespace: str = "") -> list[Object]:
        """The same as objects, which must not be changed."""
        return [entry.object for entry in self.entries(resource, namespace)]

    def put(self, resource: Resource, changed: Object) -> Entry:
        """Store a new object or a new version of one; it must not be changed any more."""
        table = self._table(resource)
        name = name_of(changed)
        previous = table.entries.get(name)
        self.version += 1
        metadata = {**changed["metadata"], "resourceVersion": str(self.version)}
        entry = Entry({**changed, "metadata": metadata}, self.version)
        if previous is None:
            table.names = None
        table.entries[name] = entry
        self._publish(
            table, Event(self.version, "ADDED" if previous is None else "MODIFIED", entry, previous)
        )
        return entry

    def remove(self, resource: Resource, namespace: str, name: str) -> Entry | None:
        """Remove an object; its last version."""
        table = self._table(resource)
        previous = table.entries.pop((namespace, name), None)
        if previous is None:
            return None
        table.names = None
        self.version += 1
        metadata = {**previous.object["metadata"], "resourceVersion": str(self.version)}
        entry = Entry({**previous.object, "metadata": metadata}, self.version)
        self._publish(table, Event(self.version, "DELETED", entry, previous))
        return entry

    def since(self, resource: Resource, version: int) -> Iterator[Event]:
        """Events after a version, oldest first."""
        events = self._table(resource).events
        # The newest are at the end: most watches want few.
        newer = itertools.takewhile(lambda event: event.version > version, reversed(events))
        return reversed(list(newer))

    def is_gone(self, resource: Resource, version: int) -> bool:
        """Whether events after the version are no longer all there."""
        events = self._table(resource).events
        lost = len(events) == _MOST_EVENTS and events[0].version > version + 1
        return version < self.oldest or lost

    def compact(self) -> None:
        """Forget what has been, and end every watch."""
        self.version += 1
        self.oldest = self.version
        for table in self._tables.values():
            table.events.clear()
        self.drop_watches()

    def drop_watches(self) -> None:
        """End every watch, as a load balancer or a restarted server does."""
        self.drops += 1
        for table in self._tables.values():
            _wake(table)

    def wait(self, resource: Resource) -> asyncio.Event:
        """Set at the next event of the resource, or when watches are dropped; `forget` it afterwards."""
        change = asyncio.Event()
        self._table(resource).waiting.add(change)
        return change

    def forget(self, resource: Resource, change: asyncio.Event) -> None:
        """Nobody waits for it any longer."""
        self._table(resource).waiting.discard(change)

    def _publish(self, table: _Table, event: Event) -> None:
        table.events.append(event)
        self.changed.set()
        _wake(table)

    def _table(self, resource: Resource) -> _Table:
        return self._tables.setdefault(resource.key, _Table())


def _wake(table: _Table) -> None:
    for change in table.waiting:
        change.set()


def name_of(stored: Object) -> Name:
    """Namespace and name."""
    metadata = stored["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
