"""Small parts of every document: moments, paths, parts, names, severities, packed values."""

import struct

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.errors import WireError
from accelwatch.base.names.nearest import nearest
from accelwatch.schema.device import (
    Device,
    DeviceState,
    is_self_identifying,
    normal_pci_bus_id,
    normal_uuid,
    same_address,
)
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.event import severity as severity_of_event
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.json.plain import entries_of, plain, plain_all
from accelwatch.schema.metrics import Kind, Metric, Series, Tier
from accelwatch.schema.reading import (
    MAX_PROCESSES,
    Collected,
    Link,
    Number,
    Process,
    Reading,
    complete,
    cut_note,
    is_cut,
    largest,
    wholly_absent,
)
from accelwatch.schema.series import flatten, nest, path_of, primary_value, series_of
from accelwatch.schema.snapshot import DeviceView, EventCount
from accelwatch.schema.status.device_status import effective_state, severity
from accelwatch.schema.stream.compact import (
    LETTERS,
    REASONS,
    CompactEncoder,
    Hello,
    Layout,
    PackedTick,
    Tick,
    is_spare,
    packed,
)
from accelwatch.schema.stream.context import Backends
from accelwatch.schema.stream.frames import FrameSizeError, Splitter, body_size, frame
from accelwatch.schema.stream.packed import WIDTH, pack, unpack
from accelwatch.schema.timestamps import timestamp, timestamp_or_none, unix_seconds
from support.machines import composed as machines


def test_times_are_milliseconds_in_utc() -> None:
    assert timestamp(0.0) == "1970-01-01T00:00:00.000Z"
    assert timestamp(1_800_000_000.25) == "2027-01-15T08:00:00.250Z"
    assert unix_seconds("2027-01-15T08:00:00.250Z") == 1_800_000_000.25
    assert unix_seconds("2027-01-15T09:00:00+01:00") == 1_800_000_000.0


def test_what_is_no_time_is_refused_with_its_text() -> None:
    with pytest.raises(WireError, match="^not a time: 'soon'$"):
        unix_seconds("soon")
    with pytest.raises(WireError, match="^not a time: None$"):
        unix_seconds(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("unknown", [None, 0, 0.0, 1e12, float("inf"), float("nan")])
def test_an_unknown_time_is_none(unknown: float | None) -> None:
    assert timestamp_or_none(unknown) is None


def test_a_known_time_is_written() -> None:
    assert timestamp_or_none(1.5) == "1970-01-01T00:00:01.500Z"


PATHS: list[tuple[Series, str]] = [
    (("power_watts",), "power_watts"),
    (("temperature_celsius", "gpu"), "temperature_celsius.gpu"),
    (("a", "x.y", "z"), "a.x\\.y.z"),
]


@pytest.mark.parametrize(("series", "path"), PATHS)
def test_a_series_as_a_path_and_back(series: Series, path: str) -> None:
    assert path_of(series) == path
    assert series_of(path) == series


def test_labels_are_levels_of_a_document() -> None:
    tree: dict[str, object] = {}
    nest(tree, ("a",), 1)
    nest(tree, ("b", "c"), 2)
    nest(tree, ("b", "d"), 3)
    assert tree == {"a": 1, "b": {"c": 2, "d": 3}}
    assert list(flatten("k", {"b": {"c": 2, "d": 3}, "e": 4}, 2)) == [
        (("k", "b", "c"), 2),
        (("k", "b", "d"), 3),
    ]
    assert list(flatten("k", {1: 5}, 1)) == [(("k", "1"), 5)]
    assert list(flatten("k", 7, 0)) == [(("k",), 7)]
    assert list(flatten("k", 7, 1)) == []


def test_what_a_bare_key_stands_for() -> None:
    plain_row = Metric("k", Kind.GAUGE, Tier.DEFAULT, "", "")
    labelled = msgspec.structs.replace(plain_row, labels=("at",), primary=(("x",), ("y",)))
    values = {("k",): 1, ("k", "y"): 2}
    assert primary_value(values, plain_row) == 1
    assert primary_value(values, labelled) == 2
    assert primary_value({**values, ("k", "x"): 0}, labelled) == 0
    assert primary_value({("k", "z"): 3}, labelled) is None
    assert primary_value({}, plain_row) is None


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("temprature", ["power", "temperature", "temperatures"], "temperature"),
        ("zzz", ["power"], ""),
        ("power", [], ""),
        ("abcde", ["abcxy"], "abcxy"),
        ("abcdef", ["abcxyz"], ""),
    ],
)
def test_the_nearest_word_is_one_much_like_it(word: str, known: list[str], found: str) -> None:
    assert nearest(word, known) == found


def event(category: Category, *, trusted: bool = True) -> ErrorEvent:
    return ErrorEvent(code="c", category=category, time=1.0, text="", source="s", trusted=trusted)


@pytest.mark.parametrize(
    ("category", "trusted", "expected"),
    [
        (Category.BUS, True, "critical"),
        (Category.MEMORY_FATAL, True, "critical"),
        (Category.LINK_FATAL, True, "critical"),
        (Category.FIRMWARE, True, "critical"),
        (Category.HANG, True, "critical"),
        (Category.LINK, True, "warning"),
        (Category.THERMAL, True, "warning"),
        (Category.APPLICATION, True, "info"),
        (Category.BUS, False, "info"),
        (Category.APPLICATION, False, "info"),
    ],
)
def test_how_loud_an_event_is(category: Category, trusted: bool, expected: str) -> None:
    assert severity_of_event(event(category, trusted=trusted)) == expected


@pytest.mark.parametrize(
    ("source", "level", "expected"),
    [
        ("pushed", "info", "info"),
        ("pushed", "warning", "warning"),
        ("pushed", "loud", "critical"),
        ("pushed", None, "critical"),
        ("kernel_log", "info", "critical"),
    ],
)
def test_who_pushes_an_event_says_how_loud_it_is(
    source: str, level: str | None, expected: str
) -> None:
    detail = {} if level is None else {"severity": level}
    pushed = msgspec.structs.replace(event(Category.BUS), source=source, detail=detail)
    assert severity_of_event(pushed) == expected


@pytest.mark.parametrize(
    ("state", "health", "reason"),
    [
        (DeviceState.LOST, Health.FAILED, "the device is lost"),
        (DeviceState.UNRESPONSIVE, Health.FAILED, "the device does not answer"),
        (DeviceState.SUSPENDED, Health.UNKNOWN, "the device sleeps"),
        (DeviceState.EXCLUDED, Health.UNKNOWN, "the device may not be read"),
        (DeviceState.DEGRADED, Health.DEGRADED, "part of the device cannot be read"),
        (DeviceState.OK, Health.OK, None),
    ],
)
def test_what_a_state_says_of_health(
    state: DeviceState, health: Health, reason: str | None
) -> None:
    judgement = evaluate_health(state, Reading(device_id="x"), (), 0.0)
    assert (judgement.health, judgement.reasons) == (health, (reason,) if reason else ())


def test_what_is_wrong_is_reported_once_and_a_degraded_state_adds_nothing_to_it() -> None:
    reading = Reading(device_id="x", values={("reset_required",): 1})
    events = [event(Category.BUS), event(Category.BUS), event(Category.OTHER)]
    judgement = evaluate_health(DeviceState.DEGRADED, reading, events, 2.0)
    assert judgement.health is Health.FAILED
    assert judgement.reasons == (
        "the driver asks for a reset, reboot or drain",
        "c was reported",
    )


def test_a_lost_device_is_judged_by_that_alone() -> None:
    reading = Reading(device_id="x", values={("reset_required",): 1})
    judgement = evaluate_health(DeviceState.SUSPENDED, reading, [event(Category.BUS)], 2.0)
    assert judgement.health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("state", "health", "word"),
    [
        ("ok", "ok", "ok"),
        ("ok", "failed", "failed"),
        ("ok", "degraded", "degraded"),
        ("ok", "unknown", "ok"),
        ("degraded", "failed", "failed"),
        ("lost", "failed", "lost"),
    ],
)
def test_one_word_for_state_and_health(state: str, health: str, word: str) -> None:
    assert effective_state(state, health) == word


def test_a_word_that_is_not_known_is_as_bad_as_degraded() -> None:
    assert severity("of_a_newer_agent") == severity("degraded") > severity("ok") == 0
    assert severity("lost") > severity("failed") > severity("degraded")


VALUES: tuple[Number | str, ...] = (
    *(0, 1, -1, 0.0, -2.5, 2**63 - 1, -(2**63), 2**63, 2**64 - 1),
    *LETTERS.values(),
    1e300,
)


def test_packed_values_come_back_with_their_types() -> None:
    data = pack(VALUES)
    assert len(data) == WIDTH * len(VALUES)
    back = unpack(data)
    assert back == VALUES
    assert [type(value) for value in back] == [type(value) for value in VALUES]


@pytest.mark.parametrize("beyond", [2**64, -(2**63) - 1])
def test_an_integer_of_more_than_64_bits_becomes_a_double(beyond: int) -> None:
    assert unpack(pack([beyond])) == (float(beyond),)
    assert isinstance(unpack(pack([beyond]))[0], float)


def test_how_packed_values_lie() -> None:
    assert pack([1.5, "u", 7, 2**63]) == b"duqQ" + struct.pack("<d8xqQ", 1.5, 7, 2**63)
    assert pack([]) == b""
    assert unpack(b"") == ()


@pytest.mark.parametrize("length", [1, 8, 10, 17])
def test_bytes_of_another_length_are_no_packed_values(length: int) -> None:
    with pytest.raises(ValueError, match=f"^{length} bytes are not packed values$"):
        unpack(b"d" * length)


def test_only_hello_and_ticks_are_packed() -> None:
    hello, layout, *context, tick = CompactEncoder().messages(
        machines.snapshot(
            machines.view(0), boot_id="b1", interval_s=2.0, boot_time=7.0, system_uuid="u1"
        )
    )
    assert isinstance(hello, Hello)
    assert (hello.boot_time, hello.system_uuid) == (7.0, "u1")
    assert (hello.host, hello.boot_id, hello.interval_s) == ("n01", "b1", 2.0)
    assert packed(hello) == msgspec.structs.replace(hello, values="packed")
    for other in (layout, *context):
        assert packed(other) is other
    assert isinstance(tick, Tick)
    small = packed(tick)
    assert isinstance(small, PackedTick)
    assert (small.sequence, small.time) == (tick.sequence, tick.time) == (1, machines.NOW)
    (row,), (original,) = small.devices, tick.devices
    for name in ("slot", "state", "state_since", "health", "sample_time", "device_absence"):
        assert getattr(row, name) == getattr(original, name)
    assert row.state_since == machines.NOW - 60
    assert unpack(row.values) == original.values


def test_every_reason_has_a_letter_of_its_own() -> None:
    assert LETTERS.keys() == set(Absence)
    assert {REASONS[letter]: letter for letter in LETTERS.values()} == LETTERS


def with_absent(absent: dict[Series, Absence]) -> DeviceView:
    values: dict[Series, Number] = {("power_watts",): 1.0}
    reading = Reading(device_id="x", values=values, absent=absent)
    return machines.view(0, reading=reading)


@pytest.mark.parametrize(
    ("absent", "letter"),
    [
        ({("temperature_celsius", "gpu"): Absence.ERROR}, "e"),
        ({("temperature_celsius",): Absence.TIMEOUT}, "t"),
        (
            {
                ("temperature_celsius", "gpu"): Absence.PERMISSION,
                ("temperature_celsius",): Absence.TIMEOUT,
                ("*",): Absence.LOST,
            },
            "p",
        ),
        ({("*",): Absence.LOST}, "l"),
        ({}, "n"),
    ],
)
def test_a_value_that_has_gone_travels_as_its_nearest_reason(
    absent: dict[Series, Absence], letter: str
) -> None:
    encoder = CompactEncoder()
    values: dict[Series, Number] = {("power_watts",): 1.0, ("temperature_celsius", "gpu"): 40}
    full = machines.view(0, reading=Reading(device_id="x", values=values))
    encoder.messages(machines.snapshot(full))
    *others, tick = encoder.messages(machines.snapshot(with_absent(absent)))
    assert isinstance(tick, Tick)
    (row,) = tick.devices
    assert row.values == (1.0, letter)
    assert row.device_absence == ("l" if ("*",) in absent else "")
    assert [other for other in others if isinstance(other, Layout)] == []


def test_which_absences_stand_in_a_layout_and_which_in_each_tick() -> None:
    view = with_absent(
        {
            ("fan_speed_ratio",): Absence.UNSUPPORTED,
            ("voltage_volts",): Absence.NOT_COLLECTED,
            ("clock_hertz", "sm"): Absence.ERROR,
        }
    )
    messages = CompactEncoder().messages(machines.snapshot(view))
    (layout,) = (message for message in messages if isinstance(message, Layout))
    assert (layout.slot, layout.device) == (0, view.device)
    assert layout.series == (("power_watts",), ("clock_hertz", "sm"))
    assert layout.absent == ((("fan_speed_ratio",), "u"), (("voltage_volts",), "n"))


def test_slots_and_sequence_go_on() -> None:
    encoder = CompactEncoder()
    encoder.messages(machines.snapshot(machines.view(0)))
    messages = encoder.messages(machines.snapshot(machines.view(1), machines.view(0)))
    (layout,) = (message for message in messages if isinstance(message, Layout))
    tick = messages[-1]
    assert isinstance(tick, Tick)
    assert (layout.slot, [row.slot for row in tick.devices], tick.sequence) == (1, [1, 0], 2)


def test_a_device_whose_identity_changed_is_reported_again() -> None:
    encoder = CompactEncoder()
    encoder.messages(machines.snapshot(machines.view(0)))
    renamed = machines.view(0, device=machines.device(0, model="H200"))
    (layout, *_) = (
        message
        for message in encoder.messages(machines.snapshot(renamed))
        if isinstance(message, Layout)
    )
    assert (layout.slot, layout.device.model) == (0, "H200")


def test_the_node_is_the_last_row() -> None:
    node = machines.view(7)
    messages = CompactEncoder().messages(machines.snapshot(machines.view(0), node=node))
    layouts = [message.device for message in messages if isinstance(message, Layout)]
    assert layouts == [machines.device(0), machines.device(7)]


def test_what_reports_no_numbers_may_be_skipped() -> None:
    encode = msgspec.msgpack.encode
    for essential in ("hello", "layout", "tick"):
        assert not is_spare(encode({"type": essential}))
    assert is_spare(encode({"type": "of_a_newer_agent"}))
    assert is_spare(encode(Backends(backends=())))
    for damaged in (b"\xc1", encode([1]), encode({"type": 1}), encode({})):
        assert not is_spare(damaged)


def test_a_frame_may_be_as_long_as_the_limit() -> None:
    assert frame(b"x" * 258) == b"\0\0\x01\x02" + b"x" * 258
    assert body_size(b"\0\0\x01\x02", 258) == 258
    with pytest.raises(FrameSizeError, match="^a frame of 258 bytes; at most 257 are taken$"):
        body_size(b"\0\0\x01\x02", 257)


def test_an_unfinished_frame_waits_for_its_rest_beside_many_whole_ones() -> None:
    splitter = Splitter(10)
    whole = frame(b"a") + frame(b"") + frame(b"bc")
    assert list(splitter.feed(whole + b"\0\0")) == [b"a", b"", b"bc"]
    assert list(splitter.feed(b"\0\x01")) == []
    assert list(splitter.feed(b"d")) == [b"d"]


def test_parts_of_a_document_and_back() -> None:
    fault = ErrorEvent(code="c", category=Category.BUS, time=1.5, text="", source="s")
    (item,) = plain_all([fault])
    assert (item["time"], item["text"], item["source"]) == ("1970-01-01T00:00:01.500Z", None, "s")
    assert entries_of([item], ErrorEvent) == (fault,)
    assert entries_of([{**item, "time": 1.5, "text": ""}], ErrorEvent) == (fault,)
    assert entries_of(None, ErrorEvent) == ()
    assert entries_of([{**item, "time": None}], ErrorEvent)[0].time == 0.0
    process = Process(device_id="d", pid=1)
    assert plain(process)["start_time"] is None
    assert entries_of([plain(process)], Process) == (process,)
    count = EventCount(code="c", category="bus", total=1, last_time=0.0)
    assert entries_of([plain(count)], EventCount) == (count,)
    with pytest.raises(WireError, match="^not a time: 'soon'$"):
        entries_of([{**item, "time": "soon"}], ErrorEvent)
    for wrong in ([7], [{**item, "code": 7}]):
        with pytest.raises(msgspec.ValidationError, match="Expected"):
            entries_of(wrong, ErrorEvent)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("00000000:65:00.0", "0000:65:00.0"),
        ("0000:65:00", "0000:65:00.0"),
        ("65:00.1", "0000:65:00.1"),
        (" 0000:AF:00.0\n", "0000:af:00.0"),
        ("10000:e1:00.0", "10000:e1:00.0"),
        ("00010000:e1:00.0", "10000:e1:00.0"),
        (" Card0 ", "card0"),
        ("a:b:c:D", "a:b:c:d"),
    ],
)
def test_pci_addresses_are_written_in_one_way(text: str, normal: str) -> None:
    assert normal_pci_bus_id(text) == normal


def test_uuids_are_compared_without_case_and_prefix() -> None:
    assert {normal_uuid(text) for text in (" GPU-AB", "gpu-ab", "MIG-ab", "ab ")} == {"ab"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0000:0b:00.0", "0000:0b:00.0", True),
        ("0000:0b:00.0", "0000:0c:00.0", False),
        ("0000:0b:00.0", None, True),
        (None, "0000:0b:00.0", True),
    ],
)
def test_a_slot_is_an_address_or_a_name(one: str | None, other: str | None, same: bool) -> None:
    device = Device(id="d", vendor="v", backend="v", index=0, name="v0", pci_bus_id=one)
    assert same_address(device, msgspec.structs.replace(device, pci_bus_id=other)) is same
    elsewhere = msgspec.structs.replace(device, pci_bus_id=other, name="v1")
    assert same_address(device, elsewhere) is (same and one == other)


@pytest.mark.parametrize(("uuid", "serial"), [("u", None), (None, "s"), ("u", "s"), (None, None)])
def test_a_uuid_or_a_serial_identifies_a_device(uuid: str | None, serial: str | None) -> None:
    device = Device(id="d", vendor="v", backend="v", index=0, name="v0", uuid=uuid, serial=serial)
    assert is_self_identifying(device) is bool(uuid or serial)


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"uuid": "U", "pci_bus_id": "P", "serial": "S"}, "U"),
        ({"pci_bus_id": "P", "serial": "S"}, "P"),
        ({"serial": "S"}, "v-3-S"),
        ({}, "v-3-unknown"),
    ],
)
def test_what_identifies_a_device_in_labels(fields: dict[str, str], label: str) -> None:
    device = Device(id="i", vendor="v", backend="b", index=3, name="n")
    assert msgspec.structs.replace(device, **fields).label_id() == label


def test_a_finished_reading_holds_all_that_was_gathered() -> None:
    found = Collected("x")
    found.put("temperature_celsius", 40, "gpu")
    found.miss("temperature_celsius", Absence.ERROR, "memory")
    links = (Link(fabric="nvlink", link="0"),)
    process = Process(device_id="x", pid=1)
    reading = found.reading(
        processes=(process,), links=links, sources={"*": "nvml"}, notes=("note",)
    )
    assert reading == Reading(
        device_id="x",
        values={("temperature_celsius", "gpu"): 40},
        absent={("temperature_celsius", "memory"): Absence.ERROR},
        processes=(process,),
        links=links,
        sources={"*": "nvml"},
        notes=("note",),
    )
    assert found.reading().sources == {}


def test_a_value_replaces_the_reason_of_its_own_series_only() -> None:
    found = Collected("x")
    found.miss("temperature_celsius", Absence.ERROR, "gpu")
    found.miss("temperature_celsius", Absence.ERROR, "memory")
    found.put("temperature_celsius", 40, "gpu")
    assert found.absent == {("temperature_celsius", "memory"): Absence.ERROR}


def test_the_processes_with_most_memory_are_listed_by_pid() -> None:
    many = [
        Process(device_id="x", pid=5000 - n, gpu_memory_bytes=n) for n in range(MAX_PROCESSES + 1)
    ]
    found = largest([Process(device_id="x", pid=1), *many])
    assert len(found) == MAX_PROCESSES == 1024
    assert [process.pid for process in found] == sorted(5000 - n for n in range(1, 1025))


def test_a_list_that_is_cut_says_so() -> None:
    note = cut_note(1024, 2000)
    assert note == "processes are cut: 1024 of 2000, those with the most memory"
    assert is_cut(Reading(device_id="x", notes=("first", note)))
    assert not is_cut(Reading(device_id="x", notes=("12 of 30 processes are cut",)))


def test_what_is_complete_keeps_its_reasons_and_says_what_was_left_out() -> None:
    given: dict[Series, Absence] = {
        ("processes",): Absence.PERMISSION,
        ("power_watts",): Absence.ERROR,
    }
    values: dict[Series, Number] = {("nonsense", "a"): 1, ("b",): 2}
    reading = complete(Reading(device_id="x", values=values, absent=given), frozenset())
    assert reading.absent["processes",] is Absence.PERMISSION
    assert reading.absent["power_watts",] is Absence.ERROR
    assert reading.notes == ("left out, not in the catalogue: ('nonsense', 'a'), ('b',)",)
    listed = complete(Reading(device_id="x", processes=()), frozenset())
    assert ("processes",) not in listed.absent
    assert listed.notes == ()
    silent = complete(Reading(device_id="x"), frozenset())
    assert silent.absent["processes",] is Absence.NOT_COLLECTED


def test_a_reading_that_is_wholly_absent_has_one_reason() -> None:
    assert wholly_absent("x", Absence.LOST) == Reading(device_id="x", absent={("*",): Absence.LOST})
