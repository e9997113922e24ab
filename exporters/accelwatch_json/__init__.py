"""The snapshot as one JSON document of schema `accelwatch/2`, whole or cut down to some fields."""

from collections.abc import Mapping
from typing import Any

import msgspec

from accelwatch.schema.json.wire import to_document
from accelwatch.schema.snapshot import Snapshot

_ALWAYS = ("id", "index", "vendor", "state")


class JsonExporter:
    """Options: `pretty` (bool), `fields` (sequence of field names; default all)."""

    name = "json"
    content_type = "application/json"
    options = frozenset({"fields", "pretty"})

    def render(self, snapshot: Snapshot, options: Mapping[str, object]) -> bytes:
        """One document, with a final line break."""
        document = to_document(snapshot)
        fields = options.get("fields")
        if isinstance(fields, list | tuple) and fields:
            document["devices"] = [_cut(item, tuple(fields)) for item in document["devices"]]
        data = msgspec.json.encode(document)
        if options.get("pretty"):
            data = msgspec.json.format(data, indent=2)
        return data + b"\n"


def _cut(item: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    keys = dict.fromkeys((*_ALWAYS, *(field.partition(".")[0] for field in fields)))
    absent = {
        path: reason
        for path, reason in item["absent"].items()
        if path == "*" or path.partition(".")[0] in keys
    }
    return {**{key: item[key] for key in keys if key in item}, "absent": absent}
