"""A hub that leads and does not reach the database asks the other hubs whether one of them leads.

A database that is away for all hubs keeps none from evaluating and notifying. One that is away for this
hub only has another lead, and people would be notified by both.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from accelwatch.alerting.incidents.journal.lease import Lease
from accelwatch.alerting.incidents.journal.shared import HubEntry
from accelwatch.fleet.api.hub_pages import LEADER_PATH, LEADS
from accelwatch.fleet.follow.access import Access
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.follow.http.body import Body
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.target_client import target_client
from accelwatch.fleet.hub.leadership.journal_lease import CHECK_EVERY_S
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.target import Target

_ANSWER_S = 1.0
# Hubs that are asked, those that were listed first.
_MOST_REQUESTS = 16
_MOST_BYTES = 1000


class CutOffCheck:
    """For one event loop."""

    def __init__(
        self, lease: Callable[[], Lease | None], others: Callable[[], Sequence[HubEntry]]
    ) -> None:
        """`lease` is that of this hub, None while it waits; `others` are those that were listed last."""
        self._lease = lease
        self._others = others

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            await self.check()

    async def check(self) -> None:
        """Give the lease up where it was not renewed in time, and another hub leads."""
        lease = self._lease()
        if lease is None or lease.lost or not lease.problem:
            return
        if name := await other_leader(self._others()):
            lease.lost = f"{name} leads, and this hub does not reach the database"


async def other_leader(hubs: Iterable[HubEntry]) -> str:
    """The name of one that leads and has the lease; empty where none says so.

    A hub that does not answer, has an address that is none, or serves TLS, says nothing.
    """
    candidates = [hub for hub in hubs if hub.address][:_MOST_REQUESTS]
    answers = await asyncio.gather(*(_leads(hub.address) for hub in candidates))
    return next((hub.name for hub, leads in zip(candidates, answers, strict=True) if leads), "")


async def _leads(address: str) -> bool:
    scrape, target = Scrape(), Target(node="", scheme="http", address=address)
    try:
        client = target_client(Client(scrape, Access(scrape)), target)
    except ValueError:  # another version's, or written by hand
        return False
    try:
        body = await client.get(
            f"http://{address}{LEADER_PATH}", {}, lambda _: Body(None, _MOST_BYTES), _ANSWER_S
        )
    except TargetFault:
        return False
    finally:
        client.close()
    return body.decode("utf-8", "replace").strip() == LEADS
