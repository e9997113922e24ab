"""What the hub says of this node, and hubs that say nothing."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from accelwatch.agent.node_health.hub_hold import HubHold
from accelwatch.base.clock import ManualClock
from accelwatch.config.node_health import NodeHealth
from support.servers.scripted_api import ScriptedApi, answered, raw, scripted

HELD = {
    "nodes": [
        {"node": "n01", "host": "n01.example.net", "reasons": [{"text": "held for incident i7"}]},
        {"node": "n02", "host": "n02", "reasons": [{"text": "held for incident i8"}]},
    ]
}


def hub_after(
    script: Callable[[ScriptedApi, ManualClock, HubHold], Awaitable[None]],
    host: str = "n01",
    **settings: str,
) -> ScriptedApi:
    """The hub after a conversation with it."""

    async def converse() -> ScriptedApi:
        async with scripted() as hub:
            clock = ManualClock(1000.0)
            hold = HubHold(NodeHealth(hub=hub.base, **settings), lambda: host, clock)
            try:
                await script(hub, clock, hold)
            finally:
                await hold.close()
            return hub

    return asyncio.run(converse())


@pytest.mark.parametrize("host", ["n01", "N01.cluster", "n01.example.net"])
def test_a_held_node_gets_the_reason(host: str) -> None:
    async def script(hub: ScriptedApi, _clock: ManualClock, hold: HubHold) -> None:
        hub.script = [answered(200, HELD)]
        assert await hold.failures() == ("held by the hub: held for incident i7",)

    hub = hub_after(script, host)
    assert (hub.received[0].path, hub.received[0].query) == ("/v1/avoid", {"reason": "quarantined"})


def test_the_scheduler_may_have_another_name_for_it() -> None:
    async def script(hub: ScriptedApi, _clock: ManualClock, hold: HubHold) -> None:
        row = {"node": "a", "scheduler_name": "n01", "reasons": [{"text": "held"}]}
        hub.script = [answered(200, {"nodes": [row]})]
        assert await hold.failures() == ("held by the hub: held",)

    hub_after(script)


def test_another_node_is_not_concerned() -> None:
    async def script(hub: ScriptedApi, _clock: ManualClock, hold: HubHold) -> None:
        hub.script = [answered(200, HELD)]
        assert await hold.failures() == ()

    hub_after(script, "n03")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answered(500), "it answers 500"),
        (answered(401), "it answers 401"),
        (answered(200, ["no page"]), "Expected `object`"),
        (answered(200, {"other": 1}), "nodes"),
        (raw(200, b'{"nodes": [{"node": "\xff", "host": "", "reasons": []}]}'), "'utf-8' codec"),
        (raw(200, b'{"other": ' + b"[" * 100_000), "recursion"),
    ],
)
def test_a_hub_that_cannot_say_holds_nobody(
    answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def script(hub: ScriptedApi, clock: ManualClock, hold: HubHold) -> None:
        hub.script = [answer]
        assert await hold.failures() == ()
        clock.advance(10.0)
        assert await hold.failures() == ()

    with caplog.at_level(logging.WARNING):
        hub_after(script)
    # Once, however often it is asked.
    assert [reason in record.getMessage() for record in caplog.records] == [True]


def test_many_who_ask_are_one_request() -> None:
    async def script(hub: ScriptedApi, clock: ManualClock, hold: HubHold) -> None:
        hub.script = [answered(200, HELD)]
        await asyncio.gather(*(hold.failures() for _ in range(1000)))
        assert len(hub.received) == 1
        clock.advance(4.9)
        await hold.failures()
        assert len(hub.received) == 1
        clock.advance(0.2)
        await hold.failures()
        assert len(hub.received) == 2

    hub_after(script)


def test_who_gives_up_waiting_does_not_end_it_for_the_others() -> None:
    async def script(hub: ScriptedApi, _clock: ManualClock, hold: HubHold) -> None:
        released = asyncio.Event()
        granted = answered(200, HELD)

        async def late(request: web.BaseRequest) -> web.StreamResponse:
            await released.wait()
            return await granted(request)

        hub.script = [late]
        hasty = asyncio.ensure_future(hold.failures())
        patient = asyncio.ensure_future(hold.failures())
        while not hub.received:
            await asyncio.sleep(0)
        hasty.cancel()
        released.set()
        assert await patient == ("held by the hub: held for incident i7",)

    hub_after(script)


def test_the_token_comes_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret-token\n")
    (tmp_path / "token").chmod(0o600)

    async def script(hub: ScriptedApi, _clock: ManualClock, hold: HubHold) -> None:
        hub.script = [answered(200, HELD)]
        assert await hold.failures()

    hub = hub_after(script, hub_token_file=str(tmp_path / "token"))
    assert hub.received[0].headers["Authorization"] == "Bearer s3cret-token"


@pytest.mark.parametrize("mode", [0o666, 0o644])
def test_a_token_that_others_may_read_or_write_is_not_used(
    mode: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "token").write_text("s3cret-token\n")
    (tmp_path / "token").chmod(mode)

    async def script(hub: ScriptedApi, _clock: ManualClock, hold: HubHold) -> None:
        hub.script = [answered(200, HELD)]
        assert await hold.failures() == ()

    hub = hub_after(script, hub_token_file=str(tmp_path / "token"))
    assert hub.received == []
    assert "s3cret" not in caplog.text
