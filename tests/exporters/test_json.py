"""The JSON exporter: one document, whole or cut to fields."""

import msgspec

from accelwatch.schema.json.wire import decode
from accelwatch_json import JsonExporter
from support.machines.composed import lost_view, snapshot, view


def test_the_document_is_one_line_and_reads_back() -> None:
    data = JsonExporter().render(snapshot(), {})
    assert data.count(b"\n") == 1
    assert len(decode(data).devices) == 8


def test_pretty_is_the_same_document() -> None:
    plain = msgspec.json.decode(JsonExporter().render(snapshot(), {}))
    assert msgspec.json.decode(JsonExporter().render(snapshot(), {"pretty": True})) == plain


def test_fields_cut_the_devices_but_never_who_and_how_they_are() -> None:
    options = {"fields": ("power_watts", "fan_speed_ratio")}
    first, second = msgspec.json.decode(
        JsonExporter().render(snapshot(view(0), lost_view(3)), options)
    )["devices"]
    keys = ["id", "index", "vendor", "state", "power_watts", "fan_speed_ratio", "absent"]
    assert list(first) == keys
    assert first["absent"] == {"fan_speed_ratio": "unsupported"}
    assert second["absent"] == {"*": "lost"}
