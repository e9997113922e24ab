"""The JSON form: keys, absences, versions, and the way back."""

import json
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.base.errors import WireError
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.json.wire import decode, device_rows, encode, to_document
from accelwatch.schema.reading import Reading
from accelwatch.schema.series import path_of, series_of
from accelwatch.schema.snapshot import (
    BackendState,
    BackendStatus,
    EventCount,
    Owner,
    ReadFailure,
    Snapshot,
)
from accelwatch.schema.timestamps import timestamp, unix_seconds
from support.machines.composed import NOW, device, lost_view, mig_view, snapshot, view


def test_round_trip_keeps_everything() -> None:
    before = snapshot(view(0), lost_view(3), mig_view(1, 0))
    after = decode(encode(before))
    assert after.devices == before.devices
    assert encode(after) == encode(before)


def test_every_key_is_always_there_and_a_null_has_its_reason() -> None:
    document = to_document(snapshot(view(0), lost_view(3)))
    keys = {row.key for row in device_rows()}
    for item in document["devices"]:
        assert keys <= set(item)
        for key in keys:
            if item[key] is None:
                assert {key, "*"} & set(item["absent"]) or key.startswith("window_")


def test_a_lost_device_stays_a_row_with_identity() -> None:
    item = to_document(snapshot(lost_view(3)))["devices"][0]
    assert item["state"] == "lost"
    assert item["uuid"] == device(3).uuid
    assert item["absent"] == {"*": "lost"}
    assert item["power_watts"] is None
    assert item["temperature_celsius"] is None


def test_labelled_quantities_are_objects() -> None:
    item = to_document(snapshot())["devices"][0]
    assert item["temperature_celsius"] == {"gpu": 61, "memory": 72}
    assert item["temperature_limit_celsius"]["gpu"]["slowdown"] == 89


def test_one_absent_series_is_null_beside_its_sisters() -> None:
    reading = Reading(
        device_id="x",
        values={("temperature_celsius", "gpu"): 40},
        absent={("temperature_celsius", "memory"): Absence.PERMISSION},
    )
    one = msgspec.structs.replace(view(0), reading=reading)
    item = to_document(snapshot(one))["devices"][0]
    assert item["temperature_celsius"] == {"gpu": 40, "memory": None}
    assert item["absent"]["temperature_celsius.memory"] == "permission"


def full() -> Snapshot:
    """Every part that a document can have, with and without what may be unknown."""
    parts = (
        Owner(kind="job", scheduler="slurm", job_id="7", user="anna"),
        Owner(kind="kubernetes", namespace="ml", pod="p", container="c"),
    )
    counts = (
        EventCount(code="xid_13", category="app", total=2, last_time=NOW),
        EventCount(code="xid_8", category="app", total=1, last_time=0.0),
    )
    one = msgspec.structs.replace(view(0), owners=parts, event_counts=counts)
    event = ErrorEvent(
        code="xid_79", category=Category.BUS, time=NOW + 0.25, text="off the bus", source="nvml"
    )
    return msgspec.structs.replace(
        snapshot(one),
        events=(event, msgspec.structs.replace(event, subject="0000:18:00.0", device_id="x")),
        errors=(ReadFailure(backend="nvidia", code="c"), ReadFailure(backend="amd", device_id="y")),
        backends=(BackendStatus(name="nvidia", vendor="", state=BackendState.UNAVAILABLE),),
    )


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}")
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, path)
    else:
        yield path, value


def test_every_time_has_one_form_and_no_text_is_empty() -> None:
    document = json.loads(encode(full()))
    assert document["schema"] == "accelwatch/2"
    times = 0
    for path, value in leaves(document):
        assert value != "", path
        if path.rpartition(".")[2] in (
            "time",
            "last_time",
            "start_time",
            "state_since",
            "sample_time",
        ):
            times += value is not None
            assert value is None or timestamp(unix_seconds(str(value))) == value, path
        elif isinstance(value, float):
            assert value < 1e9, path
    assert times >= 8


def test_what_a_document_has_comes_back() -> None:
    before = full()
    after = decode(encode(before))
    for name in ("events", "errors", "backends", "devices"):
        assert getattr(after, name) == getattr(before, name)


def test_documents_of_the_first_version_are_read() -> None:
    new = full()
    document = json.loads(encode(new))
    document["schema"] = "accelwatch/1"
    for part in ("events", "errors", "backends"):
        document[part] = [msgspec.to_builtins(one) for one in getattr(new, part)]
    document["processes"] = [msgspec.to_builtins(one) for one in new.processes()]
    for item, one in zip(document["devices"], new.devices, strict=True):
        item["owners"] = msgspec.to_builtins(one.owners)
        item["event_counts"] = msgspec.to_builtins(one.event_counts)
    assert document["events"][0]["time"] == NOW + 0.25
    assert document["events"][0]["subject"] == ""
    after = decode(json.dumps(document).encode())
    for name in ("events", "errors", "backends", "devices"):
        assert getattr(after, name) == getattr(new, name)


def test_unknown_fields_are_ignored() -> None:
    document = msgspec.json.decode(encode(snapshot(view(0))))
    document["from_the_future"] = 1
    document["devices"][0]["warp_factor"] = {"a": 1}
    assert decode(msgspec.json.encode(document)).devices == snapshot(view(0)).devices


def test_a_newer_major_is_refused_with_the_mend() -> None:
    document = msgspec.json.decode(encode(snapshot(view(0))))
    document["schema"] = "accelwatch/3"
    with pytest.raises(WireError, match="newer than this version reads.*upgrade accelwatch"):
        decode(msgspec.json.encode(document))


@pytest.mark.parametrize("schema", [None, "", "other/1", "accelwatch/x", 1])
def test_other_documents_are_refused(schema: object) -> None:
    with pytest.raises(WireError, match="not a snapshot document"):
        decode(msgspec.json.encode({"schema": schema}))


def test_every_truncation_is_a_wire_error() -> None:
    data = encode(snapshot(view(0)))
    for end in range(0, len(data), 97):
        with pytest.raises(WireError):
            decode(data[:end])


@given(st.binary(max_size=200))
def test_garbage_is_a_wire_error(data: bytes) -> None:
    with pytest.raises(WireError):
        decode(data)


@given(
    st.lists(st.text(st.characters(exclude_characters="\\"), max_size=8), min_size=1, max_size=3)
)
def test_paths_round_trip(labels: list[str]) -> None:
    series = ("key", *labels)
    assert series_of(path_of(series)) == series


def test_timestamps_are_utc_with_milliseconds() -> None:
    assert timestamp(NOW + 0.106) == "2027-01-15T08:00:00.106Z"
    assert unix_seconds("2027-01-15T08:00:00.106Z") == NOW + 0.106


def test_a_state_of_the_first_look_has_no_time() -> None:
    view = msgspec.structs.replace(full().devices[0], state_since=0.0)
    data = encode(msgspec.structs.replace(full(), devices=(view,)))
    assert json.loads(data)["devices"][0]["state_since"] is None
    assert decode(data).devices[0].state_since == 0.0
