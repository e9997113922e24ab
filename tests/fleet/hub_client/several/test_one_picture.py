"""Several real hubs as one picture: rows, totals, shared nodes, equal names, hubs that fail."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import UnmetError
from accelwatch.fleet.api.live.streams import LiveStreams
from accelwatch.fleet.picture.model import FIELDS, FleetView
from accelwatch.fleet.wire import DeviceNow, FleetHello, FleetTick, NodeNow
from accelwatch.web.http.stream import MSGPACK, OFFERED, framed
from support.dashboards.fleets import fleet_document, slot_of, values
from support.fleet.hub_peers import STREAM_HEAD, Handler, agent, answer, hub, peer
from support.fleet.several_hubs import following, hub_of, other_machine, until
from support.machines import composed as machines


def nodes_of(view: FleetView) -> dict[str, str]:
    return {node.node: node.state for node in view.nodes}


def devices_of(view: FleetView) -> list[tuple[str, str, str]]:
    """(node, id, state) of each device in the picture."""
    found = []
    for device in view.devices:
        slot = view.slots[device.slot]
        assert slot is not None
        found.append((slot.node, slot.id, device.state))
    return found


def test_nodes_devices_and_totals_of_both(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            agent(other_machine()) as two,
            hub_of(tmp_path / "a", {"n1": one.address}, {"rack": "r1"}) as first,
            hub_of(tmp_path / "b", {"n2": two.address}) as second,
            following(first.base, second.base) as source,
        ):
            view = await until(source, lambda view: view.sums.devices_total == 10)
            assert nodes_of(view) == {"n1": "up", "n2": "up"}
            assert len({device.slot for device in view.devices}) == 10
            assert {node for node, _, _ in devices_of(view)} == {"n1", "n2"}
            assert view.node_labels["n1"] == {"rack": "r1", "hub": "pod-1"}
            assert view.node_labels["n2"] == {"hub": "pod-2"}
            watts = sum(642.125 + index for index in range(8)) + 642.125 + 643.125
            assert view.sums.power_watts == pytest.approx(watts)
            assert view.sums.utilization_ratio == pytest.approx(0.97)
            assert [(hub.name, hub.state, hub.fault) for hub in view.hubs] == [
                ("pod-1", "up", ""),
                ("pod-2", "up", ""),
            ]
            assert [hub.devices_total for hub in view.hubs] == [8, 2]
            assert view.sums.problems == ()
            assert source.problem() is None

    asyncio.run(main())


def test_what_does_not_change_is_the_same_object_in_the_next_picture(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            hub() as second,
            following(first.base, second.base) as source,
        ):
            before = await until(source, lambda view: len(view.devices) == 8)
            after = await until(source, lambda view: view.sequence > before.sequence + 3)
            assert after.slots is before.slots
            assert after.node_labels is before.node_labels
            assert after.events is before.events
            assert after.incidents is before.incidents

    asyncio.run(main())


@pytest.mark.parametrize("condition", ["", "index < 3"])
def test_a_node_of_both_hubs_is_one_row_and_counts_once(tmp_path: Path, condition: str) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            agent(other_machine()) as two,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            hub_of(tmp_path / "b", {"n1": one.address, "n2": two.address}) as second,
            following(first.base, second.base, condition=condition) as source,
        ):
            view = await until(
                source, lambda view: view.sums.devices_total == 10 and len(view.nodes) == 2
            )
            assert nodes_of(view) == {"n1": "up", "n2": "up"}
            assert len(view.devices) == (10 if not condition else 5)
            assert view.node_labels["n1"]["hub"] == "pod-1+pod-2"
            assert view.node_labels["n2"]["hub"] == "pod-2"
            (sentence,) = view.sums.problems
            assert sentence == (
                "1 node is followed by several hubs (pod-1, pod-2), and shown once: n1"
            )
            assert view.sums.nodes["up"] == 2
            assert view.sums.health["ok"] == 10

    asyncio.run(main())


def test_a_shared_node_is_shown_by_the_hub_that_reaches_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": "127.0.0.1:1"}) as first,
            hub_of(tmp_path / "b", {"n1": one.address}) as second,
            following(first.base, second.base) as source,
        ):
            view = await until(source, lambda view: len(view.devices) == 8)
            assert nodes_of(view) == {"n1": "up"}
            assert view.sums.nodes_total == 1

    asyncio.run(main())


def test_different_machines_of_one_name_get_the_name_of_their_hub(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            agent(other_machine()) as two,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            hub_of(tmp_path / "b", {"n1": two.address}) as second,
            following(first.base, second.base) as source,
        ):
            view = await until(source, lambda view: view.sums.devices_total == 10)
            view = await until(source, lambda view: len(view.nodes) == 2)
            assert nodes_of(view) == {"n1@pod-1": "up", "n1@pod-2": "up"}
            assert {node for node, _, _ in devices_of(view)} == {"n1@pod-1", "n1@pod-2"}
            assert (
                await source.acknowledge("n1@pod-2", None) == "n1: 0 missing devices acknowledged"
            )
            with pytest.raises(UnmetError, match="no hub has a node 'n9'"):
                await source.acknowledge("n9", None)
            assert source.open_node("n1@pod-2").node == "n1"  # type: ignore[attr-defined]

    asyncio.run(main())


def test_a_hub_that_ends_costs_its_part_which_stays_stale(tmp_path: Path) -> None:
    clock = ManualClock()

    async def main() -> None:
        async with (
            agent() as one,
            agent(other_machine()) as two,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
        ):
            async with hub_of(tmp_path / "b", {"n2": two.address}) as second:
                source_context = following(first.base, second.base, clock=clock)
                source = await source_context.__aenter__()
                await until(source, lambda view: view.sums.devices_total == 10)
            try:
                view = await until(source, lambda view: view.hubs[1].fault)
                assert nodes_of(view) == {"n1": "up", "n2": "up"}
                assert view.hubs[1].state == "late"
                clock.advance(11)
                view = await until(source, lambda view: nodes_of(view)["n2"] == "stale")
                assert nodes_of(view)["n1"] == "up"
                assert view.hubs[0].state == "up"
                assert view.hubs[1].state == "down"
                assert view.hubs[1].age_s == pytest.approx(11)
                states = {node: state for node, _, state in devices_of(view)}
                assert states == {"n1": "ok", "n2": "stale"}
                assert view.sums.nodes == {**dict.fromkeys(view.sums.nodes, 0), "up": 1, "stale": 1}
                assert view.sums.devices["stale"] == 2
                watts = sum(642.125 + index for index in range(8))
                assert view.sums.power_watts == pytest.approx(watts)
                why = {node.node: node.why for node in view.nodes}["n2"]
                assert why.startswith("hub pod-2 does not answer: ")
                assert any(text.startswith("hub pod-2: ") for text in view.sums.problems)
                assert source.problem() is None
            finally:
                await source_context.__aexit__(None, None, None)

    asyncio.run(main())


async def _hangs(reader: object, writer: object) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        (_hangs, "not responding"),
        (answer("200 OK\r\nContent-Type: text/html", b"<html>"), "it answers, but not as a hub"),
        (answer("401 Unauthorized"), "answered 401: check the credentials"),
        (answer("503 Service Unavailable"), "answered 503"),
    ],
)
def test_a_hub_that_was_never_a_hub_leaves_the_others(
    tmp_path: Path, handler: Handler, text: str
) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            peer(handler) as broken,
            following(first.base, f"http://{broken}") as source,
        ):
            view = await until(source, lambda view: view.hubs[1].fault.startswith(text))
            view = await until(source, lambda view: view.sums.devices_total == 8)
            assert nodes_of(view) == {"n1": "up"}
            assert (view.hubs[1].state, view.hubs[1].age_s) == ("down", None)
            assert source.problem() is None

    asyncio.run(main())


def test_a_hub_that_sends_rubbish_later_keeps_its_last_figures(tmp_path: Path) -> None:
    rubbish = asyncio.Event()

    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        device = slot_of(0, "n2", 0, "r1")
        tick = FleetTick(
            sequence=1,
            time=1.0,
            fleet=fleet_document(nodes_total=1, nodes={"up": 1}, devices_total=1),
            nodes=(NodeNow("n2", "up", 0.1, 0),),
            devices=(DeviceNow(0, "ok", "ok", 0.1, values(0)),),
        )
        hello = FleetHello(interval_s=0.1, fields=FIELDS)
        writer.write(STREAM_HEAD + b"".join(framed(one, MSGPACK) for one in (hello, device, tick)))
        await writer.drain()
        await rubbish.wait()
        writer.write(b"\0\0\0\5noise")
        await writer.drain()

    async def main() -> None:
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            peer(handle) as broken,
            following(first.base, f"http://{broken}") as source,
        ):
            await until(source, lambda view: len(view.devices) == 9)
            rubbish.set()
            view = await until(source, lambda view: view.hubs[1].fault)
            assert {node for node, _, _ in devices_of(view)} == {"n1", "n2"}
            assert view.hubs[1].devices_total == 1
            assert source.problem() is None

    asyncio.run(main())


def test_a_hub_that_is_older_and_knows_no_incidents_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LiveStreams, "offered", OFFERED)

    async def main() -> None:
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            hub() as second,
            following(first.base, second.base) as source,
        ):
            view = await until(source, lambda view: len(view.devices) == 8)
            assert view.rules is None
            assert view.incidents == ()

    asyncio.run(main())


def test_only_when_no_hub_answers_there_is_a_problem() -> None:
    async def main() -> None:
        async with following("http://127.0.0.1:1", "http://127.0.0.1:2") as source:
            async with asyncio.timeout(60):
                while source.problem() is None:
                    await asyncio.sleep(0.01)
            problem = source.problem()
            assert problem is not None
            assert problem.text.startswith("pod-1: ")
            assert "; pod-2: " in problem.text
            assert source.fleet() is None

    asyncio.run(main())


def test_a_filter_by_a_label_of_one_hub_is_refused_by_the_other_only(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            agent(other_machine()) as two,
            hub_of(tmp_path / "a", {"n1": one.address}, {"rack": "r1"}) as first,
            hub_of(tmp_path / "b", {"n2": two.address}) as second,
            following(first.base, second.base) as source,
        ):
            await until(source, lambda view: view.sums.devices_total == 10)
            source.set_filter('rack == "r1"')
            view = await until(source, lambda view: view.hubs[1].fault and view.filter)
            assert {node for node, _, _ in devices_of(view)} == {"n1"}
            assert view.hubs[1].fault.startswith("refuses the filter: ")
            assert nodes_of(view) == {"n1": "up", "n2": "up"}
            source.set_filter("")
            view = await until(source, lambda view: len(view.devices) == 10)
            assert view.hubs[1].fault == ""

    asyncio.run(main())


def test_a_device_has_its_past_from_the_hub_of_its_node(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            agent(other_machine()) as two,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            hub_of(tmp_path / "b", {"n2": two.address}) as second,
            following(first.base, second.base) as source,
        ):
            await until(source, lambda view: view.sums.devices_total == 10)
            async with asyncio.timeout(60):
                while await source.device_history("n2", "nvidia:GPU-b1") is None:
                    await asyncio.sleep(0.05)
            assert await source.device_history("n1", "nvidia:GPU-b1") is None
            assert await source.device_history("n9", machines.device(0).id) is None

    asyncio.run(main())
