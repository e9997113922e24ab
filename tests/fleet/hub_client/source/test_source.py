"""A real hub followed as the Fleet screen does: ticks, filters, failures, acknowledgement, history."""

import asyncio
import contextlib
from pathlib import Path

import bcrypt
import msgspec
import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch.config.model import Web
from accelwatch.fleet.hub.server import HubServer
from accelwatch.fleet.hub_client.source import HubSource
from accelwatch.fleet.picture.model import FIELDS, POWER
from accelwatch.fleet.targets.hub_endpoint import hub_endpoint
from accelwatch.web.protection.web_config import Protection, load_protection
from accelwatch.web.sockets.listeners import open_tcp
from support.dashboards.fleets import fleet_document
from support.fleet.hub_peers import STREAM_HEAD, agent, answer, hub, peer
from support.fleet.hub_sources import follow, running, shown, ticked, trouble, until
from support.machines import composed as machines
from support.processes.idle_loop import IdleClock
from support.servers.certificate_authority import Authority


def test_devices_come_with_their_node_and_values() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as fleet_hub, follow(fleet_hub.base) as source:
            await fleet_hub.devices(one.address, 8)
            await ticked(source)
            await until(lambda: shown(source).sums.devices_total == 8)
            view = shown(source)
            assert source.problem() is None
            assert source.name == "hub"
        slot = view.slots[view.devices[3].slot]
        assert slot is not None
        assert (slot.node, slot.id, slot.index) == (one.address, machines.device(3).id, 3)
        assert len(view.devices[3].values) == len(FIELDS)
        assert view.devices[3].values[POWER] == machines.values(3)["power_watts",]
        assert (view.nodes[0].node, view.nodes[0].state) == (one.address, "up")
        assert (view.sums.devices_total, view.sums.nodes["up"]) == (8, 1)
        assert (view.filter, view.interval_s) == ("", 0.05)

    asyncio.run(main())


def test_a_node_that_does_not_answer_shows_why() -> None:
    async def main() -> None:
        async with hub("127.0.0.1:1") as fleet_hub, follow(fleet_hub.base) as source:
            await ticked(source, devices=0)
            await until(lambda: shown(source).nodes and shown(source).nodes[0].why)
            node = shown(source).nodes[0]
            assert node.state == "never"
            assert "cannot connect" in node.why

    asyncio.run(main())


def test_what_does_not_change_is_the_same_object_in_the_next_view() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as fleet_hub, follow(fleet_hub.base) as source:
            await fleet_hub.devices(one.address, 8)
            first = await ticked(source)
            await until(lambda: shown(source).sequence > first.sequence)
            second = source.fleet()
        assert second is not None
        assert second.slots is first.slots
        assert second.node_labels is first.node_labels
        assert second.events is first.events

    asyncio.run(main())


def test_a_filter_leaves_its_devices_and_all_nodes() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as fleet_hub, follow(fleet_hub.base) as source:
            await fleet_hub.devices(one.address, 8)
            await ticked(source)
            source.set_filter("index < 2")
            view = await ticked(source, devices=2)
            assert view.filter == "index < 2"
            await until(lambda: shown(source).sums.devices_total == 8)
            source.set_filter("")
            view = await ticked(source, devices=8)
            assert view.filter == ""

    asyncio.run(main())


def test_a_refused_filter_is_reported_on_a_line_and_the_one_before_stays() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as fleet_hub, follow(fleet_hub.base) as source:
            await fleet_hub.devices(one.address, 8)
            source.set_filter("index < 2")
            before = await ticked(source, devices=2)
            source.set_filter("index <")
            await until(source.problem)
            assert trouble(source) == "a value is missing after < (column 8)"
            await until(lambda: source.fleet() is not before)
            assert shown(source).filter == "index < 2"
            source.set_filter("index < 3")
            assert source.problem() is None
            await ticked(source, devices=3)

    asyncio.run(main())


def test_a_filter_too_many_is_reported_and_the_one_before_stays() -> None:
    async def main() -> None:
        async with (
            agent() as one,
            hub(one.address) as fleet_hub,
            follow(fleet_hub.base) as source,
            contextlib.AsyncExitStack() as held,
        ):
            await fleet_hub.devices(one.address, 8)
            await ticked(source, devices=8)
            for index in range(8):
                url = f"{fleet_hub.base}/v1/stream?filter=index=={index}"
                await held.enter_async_context(fleet_hub.session.get(url))
            source.set_filter("index < 2")
            await until(source.problem)
            assert trouble(source).startswith("8 streams with other filters are open")
            before = source.fleet()
            await until(lambda: source.fleet() is not before)
            assert shown(source).filter == ""

    asyncio.run(main())


def test_a_hub_that_goes_is_reported_with_since_and_followed_again() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as first:
            await first.devices(one.address, 8)
            async with follow(first.base) as source:
                view = await ticked(source)
                await first.server.http.stop(0.1)
                await until(source.problem)
                problem = source.problem()
                assert problem is not None
                await until(lambda: "cannot connect" in trouble(source))
                later = source.problem()
                assert later is not None
                assert later.since == problem.since
                assert (
                    shown(source).devices == view.devices or shown(source).sequence > view.sequence
                )
                web = Web(listen_address=("127.0.0.1:0",))
                again = HubServer(first.hub, IdleClock(), Protection(), web=web, interval_s=0.05)
                again.http.start(open_tcp(first.base.partition("://")[2]))
                await until(lambda: source.problem() is None)
                await again.http.stop(0.1)

    asyncio.run(main())


def test_nothing_there_is_a_problem_and_no_view() -> None:
    async def main() -> None:
        async with follow("http://127.0.0.1:1") as source:
            await until(source.problem)
            assert source.fleet() is None
            assert trouble(source).startswith("hub: cannot connect")

    asyncio.run(main())


def test_an_agent_is_no_hub() -> None:
    async def main() -> None:
        async with agent() as one, follow(f"http://{one.address}") as source:
            await until(source.problem)
            assert "agents are followed with --targets" in trouble(source)

    asyncio.run(main())


def test_the_end_of_a_hub_of_our_own_is_reported() -> None:
    async def main() -> None:
        endpoint = hub_endpoint("127.0.0.1:1")
        source = HubSource(
            endpoint, exit_reason=lambda: "the dashboard's own hub has ended: KeyError"
        )
        async with running(source):
            await until(source.problem)
            assert trouble(source).endswith("KeyError")

    asyncio.run(main())


def test_what_has_gone_is_acknowledged() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as fleet_hub, follow(fleet_hub.base) as source:
            await fleet_hub.devices(one.address, 8)
            one.feed.put(machines.snapshot(*(machines.view(index) for index in range(6))))
            await fleet_hub.devices(one.address, 6)
            gone = machines.device(7).id
            outcome = await source.acknowledge(one.address, gone)
            assert outcome == f"{one.address}: 1 missing device acknowledged"
            outcome = await source.acknowledge(one.address, None)
            assert outcome == f"{one.address}: 1 missing device acknowledged"
            with pytest.raises(UnmetError, match="no node 'nobody'"):
                await source.acknowledge("nobody", None)
            await fleet_hub.server.http.stop(0.1)
            with pytest.raises(AccelwatchError, match="cannot connect"):
                await source.acknowledge(one.address, None)

    asyncio.run(main())


def test_history_is_there_or_nothing() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as fleet_hub, follow(fleet_hub.base) as source:
            await fleet_hub.devices(one.address, 8)
            past = await source.device_history(one.address, machines.device(0).id)
            assert past is not None
            assert past.step_s == 10
            # A step that has just started has no number before the next tick.
            reported = [watts for watts in past.values["power_watts"] if watts is not None]
            assert set(reported) == {machines.values(0)["power_watts",]}
            assert await source.device_history(one.address, "nothing") is None
            assert await source.graphs("i99") is None
        assert await source.device_history(one.address, machines.device(0).id) is None

    asyncio.run(main())


def test_ticks_are_taken_as_often_as_wanted() -> None:
    async def main() -> None:
        clock = ManualClock()
        async with (
            agent() as one,
            hub(one.address) as fleet_hub,
            follow(fleet_hub.base, clock=clock) as source,
        ):
            await fleet_hub.devices(one.address, 8)
            await ticked(source)
            source.set_interval(5.0)
            first = shown(source)
            await asyncio.sleep(0.15)
            assert source.fleet() is first
            clock.advance(5.0)
            await until(lambda: source.fleet() is not first)
            assert source.missed_ticks == 0

    asyncio.run(main())


def test_a_node_without_devices_gets_its_labels_too(tmp_path: Path) -> None:
    targets = tmp_path / "targets.json"
    groups = [{"targets": ["127.0.0.1:1"], "labels": {"node": "n1", "rack": "r7"}}]
    targets.write_bytes(msgspec.json.encode(groups))

    async def main() -> None:
        async with hub(files=(str(targets),)) as fleet_hub, follow(fleet_hub.base) as source:
            await until(lambda: source.fleet() and shown(source).node_labels)
            assert shown(source).node_labels == {"n1": {"rack": "r7"}}

    asyncio.run(main())


def test_credentials_and_certificates_come_from_files(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("hub")
    web, access, password = (tmp_path / name for name in ("web.yaml", "access.yaml", "password"))
    hashed = bcrypt.hashpw(b"secret-word", bcrypt.gensalt(4)).decode()
    web.write_text(
        f"tls_server_config: {{cert_file: {certificate}, key_file: {key}}}\n"
        f"basic_auth_users: {{me: '{hashed}'}}\n"
    )
    password.write_text("secret-word\n")
    access.write_text(
        "basic_auth: {username: me, password_file: password}\n"
        f"tls_config: {{ca_file: {authority.file.name}}}\n"
    )

    async def main() -> None:
        async with hub(protection=load_protection(web)) as fleet_hub:
            port = fleet_hub.base.rpartition(":")[2]
            endpoint = hub_endpoint(f"127.0.0.1:{port}", access)
            assert endpoint.base == f"https://127.0.0.1:{port}"
            async with follow(endpoint) as source:
                await until(source.fleet)
                assert source.problem() is None
            password.write_text("another-word\n")
            async with follow(endpoint) as source:
                await until(source.problem)
                assert "answered 401" in trouble(source)

    asyncio.run(main())


def _frames(*messages: object) -> bytes:
    packed = [msgspec.msgpack.encode(message) for message in messages]
    return b"".join(len(one).to_bytes(4, "big") + one for one in packed)


def _numbered(sequence: int) -> dict[str, object]:
    parts: dict[str, object] = {
        "time": 1.0,
        "fleet": msgspec.to_builtins(fleet_document()),
        "nodes": [],
        "devices": [],
    }
    return {"type": "tick", "sequence": sequence, **parts}


def test_left_out_ticks_are_counted_and_garbage_ends_the_connection() -> None:
    hello = {
        "type": "hello",
        "schema": "accelwatch-fleet/1",
        "interval_s": 0.05,
        "fields": FIELDS,
    }
    sent = _frames(hello, {"type": "news"}, _numbered(1), _numbered(4))
    looked_at = asyncio.Event()

    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + sent)
        await writer.drain()
        await looked_at.wait()
        writer.write(_frames("noise"))
        await writer.drain()

    async def main() -> None:
        async with peer(handle) as address, follow(f"http://{address}") as source:
            await until(lambda: source.fleet() and shown(source).sequence == 4)
            assert source.missed_ticks == 2
            assert source.problem() is None
            looked_at.set()
            await until(source.problem)
            assert shown(source).sequence == 4

    asyncio.run(main())


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("503 Service Unavailable\r\nRetry-After: 1", "answered 503"),
        ("301 Moved Permanently\r\nLocation: http://127.0.0.1:1/", "redirects are not followed"),
        ("404 Not Found", "not as a hub does"),
        ("200 OK\r\nContent-Type: text/html", "not as a hub does"),
    ],
)
def test_whatever_is_no_hub_is_reported(head: str, message: str) -> None:
    async def main() -> None:
        async with peer(answer(head)) as address, follow(f"http://{address}") as source:
            await until(source.problem)
            assert message in trouble(source)
            assert source.fleet() is None

    asyncio.run(main())
