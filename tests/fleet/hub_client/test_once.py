"""A hub that is asked once, as soon as its nodes have answered."""

import asyncio

from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.once import fetch_fleet, wait_for_answers
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.targets.hub_endpoint import hub_endpoint
from support.fleet.hub_peers import agent, hub, peer
from support.processes.waiting import GUARD_S


def test_nobody_waits_for_nodes_that_hang_on_purpose_and_for_all_others() -> None:
    async def hang(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        scrape = Scrape(timeout_s=300.0)
        async with agent() as one, peer(hang) as hung, hub(one.address, hung, scrape=scrape) as at:
            session = HubSession(hub_endpoint(at.base))
            try:
                async with asyncio.timeout(GUARD_S):
                    await wait_for_answers(session, 3600.0, hung=frozenset({hung}))
                answer = await fetch_fleet(session, rows="nodes")
            finally:
                await session.close()
            assert {node.node: node.state for node in answer.nodes} == {
                one.address: "up",
                hung: "never",
            }

    asyncio.run(main())
