"""Every server is looked up on threads of its own: a look-up that hangs must hold up nothing else."""

import asyncio

import pytest

from accelwatch.fleet.follow.access import Access
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import BodyPrefix
from accelwatch.fleet.follow.http.resolver import Resolver
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.target_client import target_client
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.targets.http import endpoint
from accelwatch.fleet.targets.hub_endpoint import hub_endpoint
from accelwatch.fleet.tsdb.peer import Peer
from accelwatch.fleet.tsdb.settings import Store


async def of_a_store() -> None:
    peer = Peer(Store(url="http://store.invalid:9090"))
    try:
        await peer.request("GET", "", {}, lambda _code, _headers: None)
    finally:
        peer.close()


async def of_a_hub() -> None:
    session = HubSession(hub_endpoint("http://hub.invalid"))
    try:
        await session.document("/v1/fleet")
    finally:
        await session.close()


async def of_an_api_server() -> None:
    scrape = Scrape()
    server = endpoint("https://api.invalid")
    client = target_client(Client(scrape, Access(scrape)), server)
    try:
        await client.get(server.url("/api/v1/pods"), {}, lambda _headers: BodyPrefix(1), 5.0)
    finally:
        client.close()


@pytest.mark.parametrize("lookup", [of_a_store, of_a_hub, of_an_api_server])
def test_names_are_looked_up_by_our_resolver(
    lookup: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(*_given: object, **_more: object) -> None:
        raise OSError("our resolver")

    monkeypatch.setattr(Resolver, "resolve", resolve)
    with pytest.raises(TargetFault, match="our resolver") as caught:
        asyncio.run(lookup())  # type: ignore[operator]
    assert caught.value.reason is Reason.DNS
