"""Create, update, patch and delete, with what the server checks and fills in on the way."""

import uuid
from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server import status
from accelwatch_lab.cluster.kubernetes.api_server.call import Call
from accelwatch_lab.cluster.kubernetes.api_server.objects import checks, patches
from accelwatch_lab.cluster.kubernetes.api_server.objects.defaults import with_defaults
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import (
    NAMESPACES,
    PODS,
    Registry,
    Resource,
)
from accelwatch_lab.cluster.kubernetes.api_server.objects.store import Entry, Store, name_of
from accelwatch_lab.cluster.kubernetes.api_server.objects.times import Clock
from accelwatch_lab.cluster.kubernetes.api_server.verbs import deleting
from accelwatch_lab.cluster.kubernetes.api_server.verbs.decoding import claimed, decoded
from accelwatch_lab.cluster.kubernetes.api_server.verbs.reading import Reader

Object = dict[str, Any]
# Of a generated name, as the server draws them.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5
# Fields of metadata that the server alone writes.
_SERVERS = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


class Writer:
    """Writes to one server's objects."""

    def __init__(self, store: Store, reader: Reader, clock: Clock, registry: Registry) -> None:
        self._registry = registry
        self._store = store
        self._reader = reader
        self._clock = clock

    def create(self, call: Call, rewrite: Object) -> tuple[Entry, list[str]]:
        """A new object, and the unknown fields that were dropped. Raises RequestError."""
        resource = call.resource
        body = patches.merge(claimed(call, call.object()), rewrite)
        stored, unknown = decoded(call, body)
        metadata = {
            key: value for key, value in stored.get("metadata", {}).items() if key not in _SERVERS
        }
        metadata.pop("resourceVersion", None)
        metadata["name"] = metadata.get("name") or _name(metadata.get("generateName", ""))
        self._locate(call, metadata)
        existing = self._store.get(resource, metadata.get("namespace", ""), metadata["name"])
        if existing is not None:
            leaving = "deletionTimestamp" in existing.object["metadata"]
            raise status.already_exists(
                resource.plural, metadata["name"], resource.group, deleting=leaving
            )
        stored = self._initial(resource, {**stored, "metadata": metadata})
        checks.check(resource, stored)
        return self._put(call, stored), unknown

    def create_pod(self, pod: Object) -> None:
        """A pod of a controller, which has a name and knows the fields."""
        self._store.put(PODS, self._initial(PODS, pod))

    def _initial(self, resource: Resource, created: Object) -> Object:
        now = self._clock.text()
        identity: Object = {"uid": str(uuid.uuid4()), "creationTimestamp": now}
        if resource.counts_generations:
            identity["generation"] = 1
        metadata = {**created["metadata"], **identity}
        return with_defaults(resource, {**created, "metadata": metadata}, now)

    def update(self, call: Call, rewrite: Object) -> tuple[Entry, list[str]]:
        """Replace an object. Raises RequestError."""
        previous = self._reader.entry(call)
        body = patches.merge(claimed(call, call.object()), rewrite)
        stored, unknown = decoded(call, body)
        return self._changed(call, previous, stored), unknown

    def patch(self, call: Call, rewrite: Object) -> tuple[Entry, list[str]]:
        """Change an object. Raises RequestError."""
        if call.content_type == patches.APPLY and self._find(call) is None:
            return self.create(call, rewrite)
        previous = self._reader.entry(call)
        changed = patches.merge(self._patched(call, previous.object), rewrite)
        stored, unknown = decoded(call, changed)
        return self._changed(call, previous, stored), unknown

    def delete(self, call: Call) -> tuple[Entry, bool]:
        """Start or finish a deletion; the object, and whether it is the answer. Raises RequestError."""
        entry = self._reader.entry(call)
        options = deleting.options_of(call.object() if call.body else {})
        deleting.check(call.resource, entry.object, options.preconditions)
        returns_object = call.resource.plural == "pods"
        if call.dry_run or options.dry_run:
            return entry, returns_object
        grace = options.grace_period_seconds
        if call.query.get("gracePeriodSeconds"):
            grace = int(call.query["gracePeriodSeconds"])
        if call.resource.key == NAMESPACES.key:
            self.empty(call.name)
        after = deleting.delete(self._store, self._clock, call.resource, entry, grace)
        return after, returns_object or bool(after.object["metadata"].get("finalizers"))

    def empty(self, namespace: str) -> None:
        """Remove all that a namespace holds, at once."""
        for resource in self._registry.all():
            for entry in self._store.entries(resource, namespace) if resource.namespaced else ():
                self._store.remove(resource, *name_of(entry.object))

    def _patched(self, call: Call, previous: Object) -> Object:
        match call.content_type:
            case patches.MERGE:
                return dict(patches.merge(previous, call.object()))
            case patches.JSON:
                return patches.apply_json(previous, call.document())
            case patches.STRATEGIC if call.resource.schema:
                return patches.strategic(previous, call.object(), call.resource.schema)
            case patches.APPLY:
                return self._applied(call, previous)
            case _:
                raise status.unsupported_media_type()

    def _applied(self, call: Call, previous: Object) -> Object:
        """Server-side apply without the owners of fields: only a forced one changes what is there."""
        schema_name = call.resource.schema
        applied = patches.strategic(previous, claimed(call, call.object()), schema_name)
        if applied != previous and call.query.get("force") != "true":
            raise status.owned(call.resource.plural, call.name)
        return applied

    def _find(self, call: Call) -> Entry | None:
        return self._store.get(call.resource, call.namespace, call.name)

    def _locate(self, call: Call, metadata: Object) -> None:
        """Put a new object into the namespace of its path. Raises RequestError."""
        if not call.resource.namespaced:
            metadata.pop("namespace", None)
            return
        if metadata.setdefault("namespace", call.namespace) != call.namespace or not call.namespace:
            raise status.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        if self._store.get(NAMESPACES, "", call.namespace) is None:
            raise status.not_found("namespaces", call.namespace)

    def _changed(self, call: Call, previous: Entry, stored: Object) -> Entry:
        resource, before = call.resource, previous.object
        metadata, old = stored["metadata"], before["metadata"]
        version = metadata.get("resourceVersion") or old["resourceVersion"]
        if version != old["resourceVersion"]:
            raise status.modified(resource.plural, old["name"], resource.group)
        kept = {
            key: metadata.get(key, old[key]) for key in ("uid", "creationTimestamp") if key in old
        }
        served = {key: old[key] for key in _SERVERS[2:] if key in old}
        metadata = (
            {key: value for key, value in metadata.items() if key not in _SERVERS} | kept | served
        )
        stored = _separated(call, {**stored, "metadata": metadata}, before)
        checks.check(resource, stored, before)
        if resource.counts_generations and stored.get("spec") != before.get("spec"):
            stored["metadata"]["generation"] = old.get("generation", 0) + 1
        stored["metadata"]["resourceVersion"] = old["resourceVersion"]
        # What changes nothing is no write.
        return previous if stored == before else self._put(call, stored)

    def _put(self, call: Call, stored: Object) -> Entry:
        if call.dry_run:
            return Entry(stored, 0)
        entry = self._store.put(call.resource, stored)
        if deleting.is_over(entry.object):
            self._store.remove(call.resource, call.namespace, call.name)
        return entry


def _separated(call: Call, stored: Object, before: Object) -> Object:
    """The status is written by its subresource alone, and that writes nothing else but metadata."""
    if not call.resource.has_status:
        return stored
    source, other = ("spec", "status") if call.subresource == "status" else ("status", "spec")
    result = {key: value for key, value in stored.items() if key not in (source, other)}
    for key, origin in ((source, before), (other, stored)):
        if key in origin:
            result[key] = origin[key]
    return result


def _name(prefix: str) -> str:
    return prefix + generated() if prefix else ""


def generated() -> str:
    """The end of a generated name."""
    number = uuid.uuid4().int
    letters = [_LETTERS[(number >> 8 * index) % len(_LETTERS)] for index in range(_SUFFIX)]
    return "".join(letters)
