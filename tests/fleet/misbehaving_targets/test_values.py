"""Numbers, words and shapes that cannot be cost one value or one node, never an answer of the API."""

import asyncio
import json
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict

from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.fleet.follow.frames import MAX_SLOTS
from accelwatch.schema.json.wire import decode
from accelwatch.schema.values.plausible import limits
from fleet.misbehaving_targets.malformed import (
    HEALTH,
    SAMPLED,
    SINCE,
    STATE,
    VALUES,
    Message,
    framed,
    messages,
    streamed,
    twisted,
    value,
)
from fleet.misbehaving_targets.misbehaving import Behaviour, always, answer, exposed, misbehaving
from fleet.misbehaving_targets.short_waits import START, Ward, simulation, ward

NAN, INFINITE = math.nan, math.inf
# So many pages are asked for in a second of the nodes' time.
_PAGES = 10
MEDIA = ("application/x-ndjson", "text/event-stream", "application/msgpack")


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


async def every_page(running: Ward, bad: str) -> dict[str, Any]:
    """Every page answers, in what a strict reader takes; the bad node's own is returned."""
    page: dict[str, Any] = {}
    history = f"/v1/nodes/{bad}/history"
    paths: list[tuple[str, dict[str, str]]] = [
        (history, {"device": device}) for device in running.node(bad).devices
    ]
    for path in ("fleet", "nodes", "devices", "groups?by=node", "events", f"nodes/{bad}"):
        paths.append((f"/v1/{path}", {}))
    for number, (path, query) in enumerate(paths):
        if number % _PAGES == 0:
            await running.beat()  # else the healthy would be silent for as long as all this takes
        async with running.http.get(running.base + path, params=query) as response:
            body = await response.text()
            assert response.status == 200, (path, body)
            page = json.loads(body, parse_constant=_refuse)
    for media in MEDIA:
        async with running.http.get(
            f"{running.base}/v1/stream", headers={"Accept": media}
        ) as response:
            assert response.status == 200
            assert await asyncio.wait_for(response.content.read(100), 20)
    accept = {"Accept": "application/openmetrics-text"}
    async with running.http.get(f"{running.base}/metrics", headers=accept) as response:
        assert response.status == 200
        assert list(strict(await response.text()))
    return page


def run(behaviour: Behaviour, check: Callable[[Ward, str, dict[str, Any]], None]) -> None:
    """A bad node among good ones, until it has reported its devices; then every page, and repaired."""

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(behaviour) as bad,
            ward(simulated, clock, bad.address) as running,
        ):
            await running.until(lambda: running.source(bad.address).arrived is not None)
            check(running, bad.address, await every_page(running, bad.address))
            await running.beat(3)
            await running.all_well()
            await bad.mend(simulated, simulated.names[3])
            await running.mended(bad.address)
            await running.beat()
            fleet = await running.get("/v1/fleet")
            assert (fleet["nodes"]["up"], fleet["health"]["ok"]) == (4, 8)

    asyncio.run(main())


POWER, SIZE, USED = ("power_watts",), ("memory_size_bytes",), ("memory_used_bytes",)
ENERGY, SHARE = ("energy_joules_total", "hardware"), ("utilization_ratio",)
MOVED = ("pcie_bytes_total", "receive")


@pytest.mark.parametrize(
    ("series", "number"),
    [
        (POWER, NAN),
        (POWER, INFINITE),
        (POWER, -INFINITE),
        (POWER, -5.0),
        (POWER, 1e300),
        (POWER, 2**63),
        (POWER, "12"),
        (POWER, ""),
        (SIZE, -1),
        (SIZE, 2**64 - 1),
        (SIZE, -(2**63)),
        (USED, 1e308),
        (ENERGY, -1.5),
        (ENERGY, 1e300),
        (SHARE, 100),
        (SHARE, -0.5),
    ],
)
def test_a_number_that_cannot_be_is_no_value(series: tuple[str, ...], number: object) -> None:
    def check(running: Ward, bad: str, page: dict[str, Any]) -> None:
        first, second = decode(msgspec.json.encode(page["snapshot"])).devices
        assert first.reading.absent[series] is Absence.ERROR
        assert second.reading.values.keys() == {*first.reading.values, series}
        held = next(iter(running.node(bad).devices.values()))
        assert held.number(series) is None

    run(value(series, number), check)


@pytest.mark.parametrize(
    ("series", "number"),
    [(POWER, 5e-324), (POWER, 1.5e2), (POWER, 0.0), (SHARE, 1.0), (MOVED, 2**53), (SIZE, 1)],
)
def test_a_strange_number_that_can_be_stays(series: tuple[str, ...], number: float) -> None:
    def check(running: Ward, bad: str, page: dict[str, Any]) -> None:
        held = next(iter(running.node(bad).devices.values()))
        assert held.number(series) == number

    run(value(series, number), check)


def _device(index: int, found: object) -> Callable[[Message], None]:
    def twist(tick: Message) -> None:
        tick["devices"][0][index] = found

    return twist


def _of(name: str, found: object) -> Callable[[Message], None]:
    def twist(message: Message) -> None:
        message[name] = found

    return twist


def _identity(name: str, found: object) -> Callable[[Message], None]:
    def twist(layout: Message) -> None:
        layout["device"][name] = found

    return twist


def _twice(layout: Message) -> None:
    layout["series"] = [layout["series"][0]] * len(layout["series"])


def _unknown_series(layout: Message) -> None:
    layout["series"][0] = ["no such\nquantity", 'with "quotes"', "\0"]
    layout["absent"] = [[["nothing"], "?"], [["\n", "a", "b", "c"], "u"]]


def _same_slots(tick: Message) -> None:
    tick["devices"] = [tick["devices"][0]] * 50


@pytest.mark.parametrize(
    ("kind", "twist"),
    [
        ("tick", _device(STATE, "splendid")),
        ("tick", _device(HEALTH, "\0")),
        ("tick", _device(SINCE, NAN)),
        ("tick", _device(SINCE, 1e300)),
        ("tick", _device(SINCE, -INFINITE)),
        ("tick", _device(SAMPLED, NAN)),
        ("tick", _device(SAMPLED, -1e300)),
        ("tick", _device(SAMPLED, INFINITE)),
        ("tick", _device(SAMPLED, None)),
        ("tick", _same_slots),
        ("tick", _of("devices", [])),
        ("tick", _of("sequence", 2**63 - 1)),
        ("tick", _of("sequence", -5)),
        ("tick", _of("time", 0.0)),
        ("tick", _of("time", 2.5e11)),
        ("layout", _twice),
        ("layout", _unknown_series),
        ("layout", _identity("index", -1)),
        ("layout", _identity("index", 2**63)),
        ("layout", _identity("id", "a/../b?c#d\n")),
        ("layout", _identity("uuid", "x" * 1_000_000)),
        ("layout", _identity("name", 'two\nlines "quoted" \\ \0 \u2028')),
        ("layout", _identity("model", 'two\nlines "quoted" \\ \0')),
        ("layout", _identity("vendor", 'two\nlines "quoted" \\ \0')),
        ("layout", _identity("pci_bus_id", "no address")),
        ("layout", _identity("parent_id", "nobody")),
        ("hello", _of("version", '1"\n2')),
        ("hello", _of("host", "x" * 100_000)),
        ("hello", _of("interval_s", NAN)),
        ("hello", _of("interval_s", 1e300)),
        ("hello", _of("interval_s", -1.0)),
        ("hello", _of("interval_s", 0)),
    ],
)
def test_words_and_shapes_that_cannot_be_are_survived(kind: str, twist: Any) -> None:
    run(twisted(kind, twist), lambda _running, _bad, _page: None)


@pytest.mark.parametrize(
    ("kind", "twist"),
    [
        ("tick", _device(STATE, 7)),
        ("tick", _device(SAMPLED, "noon")),
        ("tick", _device(VALUES, {"a": 1})),
        ("tick", _device(VALUES, [1.0])),
        ("tick", _device(0, 99)),
        ("tick", _device(0, -1)),
        ("tick", _of("devices", {})),
        ("tick", _of("sequence", "first")),
        ("tick", _of("time", NAN)),
        ("tick", _of("time", 1e300)),
        ("tick", _of("time", -1.0)),
        ("layout", _of("series", [[]] * 2)),
        ("layout", _of("absent", [[[], "u"]])),
        ("tick", _of("time", None)),
        ("layout", _identity("index", "first")),
        ("layout", _of("series", "power_watts")),
        ("layout", _of("slot", 70_000)),
        ("layout", _of("slot", -1)),
        ("layout", _of("device", None)),
        ("hello", _of("schema", "accelwatch/99")),
        ("hello", _of("schema", 1)),
        ("hello", _of("type", "goodbye")),
    ],
)
def test_a_wrong_type_is_reported(kind: str, twist: Any) -> None:
    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(twisted(kind, twist)) as bad,
            ward(simulated, clock, bad.address) as running,
        ):
            await running.until(lambda: running.reason(bad.address) in ("garbage", "too_large"))
            row = await every_page(running, bad.address)
            assert (row["state"], row["devices"]) == ("never", 0)
            await running.all_well()
            await bad.mend(simulated, simulated.names[3])
            await running.mended(bad.address)

    asyncio.run(main())


def _event(**changes: object) -> Message:
    event = {"time": START, "device_id": "x", "source": "xid", "code": "xid_79", "trusted": True}
    words = {"category": "bus", "text": "gone", "detail": {}}
    return {"type": "event", "sequence": 1, "event": {**event, **words, **changes}}


_COUNT = {"code": "xid_79", "category": "bus", "total": 1, "last_time": START}
_ROW = [1, "host", "compute", START, "me", "python", None, None, None, 1, 0.5, 1, 0.5, {}]


@pytest.mark.parametrize(
    "message",
    [
        _event(),
        _event(time=NAN),
        _event(time=INFINITE),
        _event(time=-1e300),
        _event(time=1e300),
        _event(detail={"a": "x" * 9000}),
        _event(text="x" * 9000, code="\0\n"),
        {**_event(), "sequence": 2**63 - 1},
        {**_event(), "sequence": -1},
        {"type": "findings", "slot": 0, "event_counts": [{**_COUNT, "total": 2**64 - 1}]},
        {"type": "findings", "slot": 0, "event_counts": [{**_COUNT, "last_time": NAN}]},
        {"type": "findings", "slot": 0, "event_counts": [{**_COUNT, "last_time": 1e300}]},
        {"type": "findings", "slot": 0, "health_reasons": ["\0", "x" * 9000]},
        {"type": "findings", "slot": 4000, "health_reasons": []},
        {"type": "processes", "slot": 0, "total": -1, "users": [""], "rows": [_ROW]},
        {"type": "processes", "slot": 0, "total": 2**64 - 1, "users": ["\n"] * 99, "rows": []},
        {"type": "processes", "slot": 0, "total": 1, "rows": [[*_ROW[:3], NAN, *_ROW[4:]]]},
        {"type": "processes", "slot": 0, "total": 1, "rows": [[*_ROW[:3], 1e300, *_ROW[4:]]]},
        {"type": "processes", "slot": 0, "total": 1, "rows": [[*_ROW[:9], -1, NAN, 2**63, 1e9]]},
        {"type": "processes", "slot": 0, "total": 1, "rows": [["one"]]},
        {"type": "owners", "slot": 0, "owners": [{"kind": "job", "job_id": "x" * 9000}]},
        {"type": "owners", "slot": 0, "owners": [{"kind": "\0", "user": '\n"\\'}] * 300},
        {"type": "backends", "backends": [], "errors": []},
    ],
)
def test_what_is_sent_beside_the_numbers_is_survived(message: Message) -> None:
    sent = messages()
    sent.insert(-1, message)
    run(streamed(framed(sent)), lambda _running, _bad, _page: None)


def test_a_sum_over_many_large_values_is_still_answered() -> None:
    """Every device of a large node claims the most memory that can be believed."""
    sent = messages()
    layout, tick = sent[1], sent[-1]
    most = int(limits(("memory_size_bytes",)).high)
    for series in ("memory_size_bytes", "memory_used_bytes"):
        tick["devices"][0][VALUES][layout["series"].index([series])] = most
    for slot in range(2, MAX_SLOTS):
        device = {**layout["device"], "id": f"nvidia:{slot}", "uuid": f"GPU-{slot}", "index": slot}
        sent.insert(-1, {**layout, "slot": slot, "device": device})
        tick["devices"].append([slot, *tick["devices"][0][1:]])

    def check(running: Ward, bad: str, page: dict[str, Any]) -> None:
        assert len(page["snapshot"]["devices"]) == MAX_SLOTS
        assert page["snapshot"]["devices"][-1]["memory_used_bytes"] == most

    run(streamed(framed(sent)), check)


LABELS = 'gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100"'


def _dcgm(name: str, number: str, labels: str = LABELS) -> str:
    return f"DCGM_FI_DEV_{name}{{{labels}}} {number}\n"


_WELL = _dcgm("GPU_TEMP", "61") + _dcgm("SM_CLOCK", "1980")
_OURS = 'accel_device_info{{vendor="x",device="x0",uuid="u",index="{0}"}} 1\n'


@pytest.mark.parametrize(
    ("body", "rejected"),
    [
        (_WELL + _dcgm("GPU_UTIL", "NaN"), "not_finite"),
        (_WELL + _dcgm("GPU_UTIL", "+Inf"), "not_finite"),
        (_WELL + _dcgm("POWER_USAGE", "-5"), "implausible"),
        (_WELL + _dcgm("POWER_USAGE", "-1e400"), "not_finite"),
        (_WELL + _dcgm("GPU_UTIL", "1e2e3"), "value"),
        (_WELL + _dcgm("GPU_UTIL", "0x10"), "value"),
        (_WELL + _dcgm("GPU_UTIL", "9" * 60_000), "not_finite"),
        (_WELL + _dcgm("GPU_UTIL", "forty"), "value"),
        (_WELL + _dcgm("GPU_TEMP", "62") + _dcgm("GPU_TEMP", "63"), "duplicate"),
        (_WELL + "DCGM_FI_DEV_GPU_TEMP 3\n", "no_device"),
        (_WELL + 'DCGM_FI_DEV_GPU_TEMP{gpu="0",gpu="1"} 3\n', "syntax"),
        (_WELL + 'DCGM_FI_DEV_GPU_TEMP{gpu="0" 3\n', "syntax"),
        ("# TYPE DCGM_FI_DEV_GPU_TEMP histogram\n" + _WELL + "\0\xff{}\n", "syntax"),
    ],
)
def test_a_bad_series_of_an_exposition_is_counted_and_the_rest_read(
    body: str, rejected: str
) -> None:
    page = answer("200 OK\r\nContent-Type: text/plain", body.encode("utf-8", "surrogateescape"))

    def check(running: Ward, bad: str, found: dict[str, Any]) -> None:
        (target,) = found["targets"]
        assert target["rejected"][rejected] >= 1
        assert target["fault"] is None
        (device,) = decode(msgspec.json.encode(found["snapshot"])).devices
        assert device.reading.values["temperature_celsius", "gpu"] == 61

    run(exposed(always(page)), check)


@pytest.mark.parametrize(
    "number", ["NaN", "-Inf", "-7", "1e300", "99999999999999999999999", "1e-300"]
)
def test_our_own_exposition_is_believed_no_more_than_another(number: str) -> None:
    labels = 'vendor="nvidia",device="nvidia0",uuid="GPU-1"'
    names = ("accel_power_watts", "accel_memory_used_bytes", "accel_state_since_timestamp_seconds")
    body = f"accel_device_info{{{labels}}} 1\naccel_device_up{{{labels}}} 1\n"
    body += "".join(f"{name}{{{labels}}} {number}\n" for name in names)
    page = answer("200 OK\r\nContent-Type: text/plain", body.encode())

    def check(running: Ward, bad: str, _: dict[str, Any]) -> None:
        (held,) = running.node(bad).devices.values()
        wanted = None if number != "1e-300" else 1e-300
        assert held.number(POWER) == wanted

    run(exposed(always(page)), check)


def test_a_page_of_one_node_in_msgpack_has_no_number_that_is_none() -> None:
    """The hub's own stream never passes a number on that no reader takes."""

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(twisted("tick", _device(SAMPLED, -INFINITE))) as bad,
            ward(simulated, clock, bad.address) as running,
        ):
            await running.until(lambda: running.source(bad.address).arrived is not None)
            url = f"{running.base}/v1/stream"
            async with running.http.get(url, headers={"Accept": MEDIA[2]}) as response:
                while True:
                    size = int.from_bytes(await response.content.readexactly(4), "big")
                    sent = msgspec.msgpack.decode(await response.content.readexactly(size))
                    if sent["type"] == "tick":
                        break
            numbers = [row[3] for row in sent["devices"] if row[3] is not None]
            assert numbers
            assert all(math.isfinite(one) for one in numbers)

    asyncio.run(main())
