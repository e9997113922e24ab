"""Who uses the devices, from an agent's stream or another's text to every page of the hub."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.fleet.follow.frames import FrameReader
from accelwatch.fleet.names import SHOWN_STATES
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.state.nodes.source import MAX_CONTEXT_BYTES
from accelwatch.fleet.state.nodes.usage import UNUSED, occupancy, usage_of
from accelwatch.schema.json.wire import decode
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView, Owner, Snapshot
from accelwatch.schema.status.device_status import WORST_FIRST
from accelwatch.schema.stream.compact import Hello
from accelwatch.schema.stream.context import Owners
from accelwatch.web.http.stream import MSGPACK, framed
from support.fleet.hub_peers import STREAM_HEAD, agent, answer, hub, peer, stream_bytes
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

JOB = Owner(kind="job", scheduler="slurm", job_id="4711", user="trainer", queue="train")
OTHER = Owner(kind="job", scheduler="slurm", job_id="4712", user="eva", queue="train")
POD = Owner(kind="kubernetes", namespace="ml", pod="serve-0", container="model")


def used(
    index: int, *owners: Owner, running: tuple[Process, ...] = (), **more: object
) -> DeviceView:
    """A device of these owners."""
    view = machines.view(index, owners=owners, **more)
    reading = msgspec.structs.replace(view.reading, processes=running)
    return msgspec.structs.replace(view, reading=reading)


def shared_node(**changes: object) -> Snapshot:
    """Two devices of a job, one of a pod, one of a person, one of nobody."""
    person = Process(device_id=machines.device(3).id, pid=9, user="ada", command="jupyter")
    return machines.snapshot(
        used(0, JOB, running=machines.processes(machines.device(0).id)),
        used(1, JOB),
        used(2, POD),
        used(3, running=(person,)),
        used(4),
        **changes,
    )


async def rows(running: Any, condition: str) -> list[tuple[str, int]]:
    page = await running.get(f"/v1/devices?filter={condition}")
    return [(row["node"], row["index"]) for row in page["devices"]]


def test_names_of_owners() -> None:
    both = occupancy((JOB, OTHER, POD), ("ignored",))
    assert both.names["job"] == ("4711", "4712")
    assert both.shown["user"] == "eva+trainer"
    assert both.shown["container"] == "model"
    assert occupancy((POD,), ("ada",)).shown["user"] == "ada"
    assert occupancy((JOB,), ()) is occupancy((JOB,), ())
    assert usage_of(used(4)) is UNUSED


def test_rows_and_filters_know_who_has_a_device() -> None:
    async def main() -> None:
        async with agent(shared_node()) as one, hub(one.address) as running:
            node = one.address
            await running.devices(node, 5)
            found = (await running.get("/v1/devices"))["devices"]
            assert [(row["job"], row["user"], row["pod"]) for row in found] == [
                ("4711", "trainer", None),
                ("4711", "trainer", None),
                (None, None, "serve-0"),
                (None, "ada", None),
                (None, None, None),
            ]
            assert (found[2]["namespace"], found[2]["container"]) == ("ml", "model")
            assert found[0]["queue"] == "train"
            assert await rows(running, 'job=="4711"') == [(node, 0), (node, 1)]
            assert await rows(running, 'user=="ada"') == [(node, 3)]
            assert await rows(running, 'partition=="train" and index>0') == [(node, 1)]
            assert await rows(running, 'namespace=="ml" and matches(pod, "serve-")') == [(node, 2)]

    asyncio.run(main())


def test_a_node_s_snapshot_is_whole() -> None:
    shot = machines.snapshot(
        used(0, JOB, running=machines.processes(machines.device(0).id)), machines.lost_view(3)
    )

    async def main() -> None:
        async with agent(shot) as one, hub(one.address) as running:
            await running.devices(one.address, 2)
            page = await running.get(f"/v1/nodes/{one.address}")
        decoded = decode(msgspec.json.encode(page["snapshot"]))
        assert decoded.devices[0].owners == (JOB,)
        processes = list(decoded.processes())
        assert [(p.pid, p.user, p.command) for p in processes] == [
            (4000, "trainer", "python3"),
            (4001, "trainer", "python3"),
        ]
        assert decoded.devices[1].health_reasons == ("the device is lost",)
        assert decoded.devices[1].event_counts == shot.devices[1].event_counts
        assert [event.text for event in decoded.events] == ["GPU has fallen off the bus."]
        assert decoded.backends == shot.backends
        assert decoded.errors == shot.errors

    asyncio.run(main())


def test_a_change_of_owner_arrives() -> None:
    async def main() -> None:
        async with agent(machines.snapshot(used(0, JOB))) as one, hub(one.address) as running:
            await running.devices(one.address, 1)
            later = machines.snapshot(used(0, OTHER), time=machines.NOW + 10)
            one.feed.put(later)
            (held,) = running.hub.fleet.nodes[one.address].devices.values()
            await running.until(lambda: held.usage.occupancy.shown["job"] == "4712")

    asyncio.run(main())


def test_a_layout_that_changes_keeps_the_owner() -> None:
    bench = Bench("a")
    bench.report("a", used(0, JOB))
    source = bench.fleet.source(bench.targets["a"].key)
    assert source is not None
    before = source.devices[machines.device(0).id]
    bench.report("a", used(0, JOB, device=machines.device(0, model="renamed")))
    after = source.devices[machines.device(0).id]
    assert (after.device.model, after.usage) == ("renamed", before.usage)


def test_what_is_too_large_is_not_taken() -> None:
    bench = Bench("a")
    bench.report("a", used(0, JOB))
    key = bench.targets["a"].key
    source = bench.fleet.source(key)
    assert source is not None
    long = Owner(kind="job", job_id="x" * MAX_CONTEXT_BYTES)
    body = framed(Owners(slot=0, owners=(long,)), MSGPACK)
    for message, size in FrameReader(1 << 20).feed(body):
        bench.fleet.accept(key, message, size)
    (held,) = source.devices.values()
    assert held.usage.occupancy.owners == (JOB,)
    assert source.rejected == {"too_large": 1}


def test_messages_of_a_newer_agent_are_skipped() -> None:
    def frame(message: object) -> bytes:
        body = msgspec.msgpack.encode(message)
        return len(body).to_bytes(4, "big") + body

    hello = Hello(version="1", host="n")
    odd = {"type": "weather", "slot": 0, "sky": ["grey", None]}
    event = {"code": "x", "category": "leak", "time": 0, "text": "", "source": "nvml"}
    newer = {"type": "event", "sequence": 1, "event": event}
    (found,) = FrameReader(1 << 20).feed(frame(odd) + frame(hello) + frame(newer))
    assert found[0] == hello


def test_our_own_text_names_owners_too() -> None:
    async def main() -> None:
        polled = Scrape(timeout_s=1, max_backoff_s=0.1, interval_s=0.1, mode="poll")
        async with agent(shared_node()) as one, hub(one.address, scrape=polled) as running:
            await running.devices(one.address, 5)
            assert await rows(running, 'job=="4711"') == [(one.address, 0), (one.address, 1)]
            assert await rows(running, 'pod=="serve-0"') == [(one.address, 2)]

    asyncio.run(main())


async def _labelled(tmp_path: Path, *labels: tuple[str, str]) -> str:
    """A file of targets with racks."""
    file = tmp_path / "targets.json"
    file.write_bytes(
        msgspec.json.encode(
            [
                {"targets": [address], "labels": {"node": f"n{at}", "rack": rack}}
                for at, (address, rack) in enumerate(labels)
            ]
        )
    )
    return str(file)


def test_groups_by_label_and_by_owner(tmp_path: Path) -> None:
    async def main() -> None:
        second = machines.snapshot(used(0, JOB, OTHER), machines.lost_view(1))
        async with agent(shared_node()) as one, agent(second) as two:
            file = await _labelled(tmp_path, (one.address, "r1"), (two.address, "r2"))
            async with hub(files=(file,)) as running:
                await running.devices("n0", 5)
                await running.devices("n1", 2)
                page = await running.get("/v1/groups?by=rack")
                assert [(g["group"], g["devices_total"], g["worst"]) for g in page["groups"]] == [
                    ("r1", 5, "ok"),
                    ("r2", 2, "lost"),
                ]
                assert page["groups"][1]["devices"] == {"lost": 1, "ok": 1}
                assert page["groups"][1]["power_watts"] == 642.125
                page = await running.get("/v1/groups?by=user")
                assert [
                    (g["group"], g["nodes_total"], g["devices_total"]) for g in page["groups"]
                ] == [("ada", 1, 1), ("eva", 1, 1), ("trainer", 2, 3), (None, 2, 3)]
                trainer = page["groups"][2]
                assert trainer["memory_size_bytes"] == 3 * 80 * machines.GIB
                assert trainer["power_watts"] == 642.125 + 643.125 + 642.125
                assert trainer["utilization_ratio"] == pytest.approx(0.97)
                page = await running.get("/v1/groups?by=partition&limit=1")
                assert page["groups"][0]["group"] == "train"
                page = await running.get(f"/v1/groups?by=partition&cursor={page['next']}")
                assert [g["group"] for g in page["groups"]] == [None]
                assert page["next"] is None
                page = await running.get('/v1/groups?by=job&filter=node=="n1"')
                assert [g["group"] for g in page["groups"]] == ["4711", "4712", None]

    asyncio.run(main())


def test_a_node_that_never_answered_is_in_the_groups_of_its_labels(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent(shared_node()) as one:
            file = await _labelled(tmp_path, (one.address, "r1"), ("127.0.0.1:1", "r2"))
            async with hub(files=(file,)) as running:
                await running.devices("n0", 5)
                first, second = (await running.get("/v1/groups?by=rack"))["groups"]
                assert (first["group"], first["nodes"]) == ("r1", {"up": 1})
                assert (second["group"], second["nodes"]) == ("r2", {"never": 1})
                assert (second["worst"], second["devices_total"]) == ("unreachable", 0)
                names = [
                    group["group"] for group in (await running.get("/v1/groups?by=node"))["groups"]
                ]
                assert names == ["n0", "n1"]
                vendors = (await running.get("/v1/groups?by=vendor"))["groups"]
                assert [group["nodes_total"] for group in vendors] == [1]

    asyncio.run(main())


def test_partitions_stand_for_their_device_where_owners_are_counted() -> None:
    part = machines.mig_view(9, 0)
    shot = machines.snapshot(machines.view(0), msgspec.structs.replace(part, owners=(JOB,)))

    async def main() -> None:
        async with agent(shot) as one, hub(one.address) as running:
            await running.devices(one.address, 2)
            (job,) = (await running.get("/v1/groups?by=job"))["groups"]
            assert (job["group"], job["devices_total"]) == ("4711", 1)
            assert job["memory_used_bytes"] == 3 * machines.GIB
            (vendor,) = (await running.get("/v1/groups?by=vendor"))["groups"]
            assert vendor["devices_total"] == 1
            assert vendor["memory_used_bytes"] == 61 * machines.GIB

    asyncio.run(main())


def test_every_state_has_its_rank_among_the_worst() -> None:
    assert set(SHOWN_STATES) <= set(WORST_FIRST)


def test_events_are_paged_and_filtered(tmp_path: Path) -> None:
    async def main() -> None:
        first = machines.snapshot().events[0]
        later = msgspec.structs.replace(
            first, code="xid_13", category="application", time=first.time + 60
        )
        shot = machines.snapshot(machines.view(3), events=(first, later))
        async with agent(shot) as one, agent(shot) as two:
            file = await _labelled(tmp_path, (one.address, "r1"), (two.address, "r2"))
            async with hub(files=(file,)) as running:
                await running.until(lambda: len(running.hub.fleet.events) == 4)
                page = await running.get("/v1/events?limit=3")
                rest = await running.get(f"/v1/events?cursor={page['next']}")
                found = page["events"] + rest["events"]
                assert [event["sequence"] for event in found] == [4, 3, 2, 1]
                assert rest["next"] is None
                assert all(event["time"].endswith("Z") for event in found)
                assert "" not in {word for event in found for word in event.values()}
                assert {(e["name"], e["type"], e["severity"]) for e in found} == {
                    ("nvidia3", "event", "critical"),
                    ("nvidia3", "event", "info"),
                }
                page = await running.get('/v1/events?filter=severity=="critical" and rack=="r2"')
                assert [(e["node"], e["code"]) for e in page["events"]] == [("n1", "xid_79")]
                page = await running.get("/v1/events?node=n0")
                assert {e["node"] for e in page["events"]} == {"n0"}
                page = await running.get(f"/v1/events?since={2e9:.0f}")
                assert page["events"] == []
                page = await running.get("/v1/events?since=2000-01-01T00:00:00Z")
                assert len(page["events"]) == 4

    asyncio.run(main())


def test_the_stream_has_owners_and_events() -> None:
    async def main() -> None:
        async with agent(machines.snapshot(used(0, JOB))) as one, hub(one.address) as running:
            await running.devices(one.address, 1)
            async with running.session.get(running.base + "/v1/stream") as answer:
                lines = answer.content

                async def until(kind: str) -> Any:
                    while True:
                        message = msgspec.json.decode(await lines.readline())
                        if message["type"] == kind:
                            return message

                device = await until("device")
                assert (device["job"], device["user"], device["pod"]) == ("4711", "trainer", None)
                assert (await until("event"))["code"] == "xid_79"
                fresh = msgspec.structs.replace(
                    machines.snapshot().events[0], code="xid_48", time=machines.NOW + 5
                )
                one.feed.put(
                    machines.snapshot(used(0, POD), events=(fresh,), time=machines.NOW + 10)
                )
                device = await until("device")
                assert (device["slot"], device["job"], device["pod"]) == (0, None, "serve-0")
                xid = await until("event")
                assert (xid["code"], xid["sequence"], xid["node"]) == ("xid_48", 2, one.address)

    asyncio.run(asyncio.wait_for(main(), 20))


POD_LABELS = 'namespace="ml",pod="serve-0",container="model"'
DCGM = f"""# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="GPU-a",device="nvidia0",modelName="H100",{POD_LABELS}}} 42
DCGM_FI_DEV_GPU_UTIL{{gpu="1",UUID="GPU-b",device="nvidia1",modelName="H100",hpc_job="99"}} 7
"""


def test_another_exporter_s_owners_are_known() -> None:
    async def main() -> None:
        text = answer("200 OK\r\nContent-Type: text/plain\r\nConnection: close", DCGM.encode())
        polled = Scrape(timeout_s=1, max_backoff_s=0.1, interval_s=0.1, mode="poll")
        async with peer(text) as one, hub(one, scrape=polled) as running:
            await running.devices(one, 2)
            assert await rows(running, 'pod=="serve-0" and namespace=="ml"') == [(one, 0)]
            assert await rows(running, 'job=="99"') == [(one, 1)]
            page = await running.get("/v1/groups?by=pod")
            assert [group["group"] for group in page["groups"]] == ["serve-0", None]

    asyncio.run(main())


def _message(kind: str, **fields: object) -> bytes:
    body = msgspec.msgpack.encode({"type": kind, **fields})
    return len(body).to_bytes(4, "big") + body


NAN, HUGE = float("nan"), 2**63
COUNT = {"code": "x", "category": "bus", "total": HUGE, "last_time": NAN}
FAULT = {"code": "", "category": "bus", "time": 1e300, "text": "\n\x00", "source": ""}
TWISTED = [
    _message("processes", slot=0, total=-HUGE, users=["\x1b[31m"] * 9, rows=[[1, None]]),
    _message("processes", slot=0, total=HUGE, rows=[[NAN] * 14]),
    _message("processes", slot=0, total=1, rows={"a": 1}),
    _message(
        "processes", slot=0, total=1, rows=[[1, "", "", NAN, *[None] * 5, -1, NAN, 0, NAN, {}]]
    ),
    _message("processes", slot=-1, total=1),
    _message("findings", slot=0, health_reasons=[""] * 99, event_counts=[COUNT]),
    _message("owners", slot=0, owners=[{"kind": "", "user": f"{at}"} for at in range(500)]),
    _message("owners", slot=4000, owners=[{"kind": "job"}]),
    _message("backends", backends=7, errors=[None]),
    _message("backends", backends=[{"name": "x", "vendor": "x", "state": "odd"}]),
    _message("event", sequence=-HUGE, event={**FAULT, "device_id": "nobody"}),
    _message("event", sequence=1, event={**FAULT, "detail": {str(at): "" for at in range(99)}}),
]


@pytest.mark.parametrize("twisted", TWISTED, ids=range(len(TWISTED)))
def test_twisted_context_breaks_no_page(twisted: bytes) -> None:
    shot = machines.snapshot(machines.view(0))
    started, whole = stream_bytes(shot), stream_bytes(shot, shot)
    body = started + twisted + whole[len(started) :]

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + body)
        await writer.drain()
        await reader.read()

    async def main() -> None:
        async with peer(handle) as one, hub(one) as running:
            await running.devices(one, 1)
            for path in ("/v1/devices", f"/v1/nodes/{one}", "/v1/events", "/v1/groups?by=user"):
                await running.get(path)
            assert running.fault(one) == ""

    asyncio.run(main())
