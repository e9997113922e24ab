"""A leading hub that cannot reach the database queries the other hubs for who leads.

A database that is away for all hubs keeps none from evaluating and notifying. One that is away for this
hub only has another lead, and people would be notified by both.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.alerting.incidents.journal.lease import Lease
from accelwatch.alerting.incidents.journal.shared import HubEntry
from accelwatch.fleet.api.hub_pages import LEADER_PATH, LEADS
from accelwatch.fleet.follow.access import Access
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.follow.http.body import Body
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.target_client import target_client
from accelwatch.fleet.hub.leadership.journal_lease import CHECK_EVERY_S
from accelwatch.fleet.scrape_settings import Scrape, TlsConfig
from accelwatch.fleet.target import Target

logger = logging.getLogger(__name__)

_ANSWER_S = 1.0
# Hubs that are queried, those that were listed first.
_MOST_REQUESTS = 16
_MOST_BYTES = 1000
_UNAVAILABLE = 503


class HubAnswer(NamedTuple):
    """The answer of another hub."""

    hub: HubEntry
    leads: bool = False
    # Why the query failed.
    problem: str = ""


class CutOffCheck:
    """For one event loop."""

    def __init__(
        self,
        lease: Callable[[], Lease | None],
        others: Callable[[], Sequence[HubEntry]],
        tls: Callable[[], TlsConfig | None],
    ) -> None:
        """`lease` is that of this hub, None while it waits; `others` are those that were listed last.

        `tls` says whom another hub has to be signed by, and what it is shown; None: hubs serve http.
        """
        self._lease = lease
        self._others = others
        self._tls = tls
        # Why queries of others failed, by their addresses, when that was last logged.
        self._logged: Mapping[str, str] = {}

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
        answers = await ask(self._others(), self._tls())
        self._log(answers)
        if name := leader_among(answers):
            lease.lost = f"{name} leads, and this hub does not reach the database"

    def _log(self, answers: Iterable[HubAnswer]) -> None:
        """Log each failed query once: if that hub leads, people are notified by both hubs."""
        failed = {answer.hub.address: answer for answer in answers if answer.problem}
        for address, answer in failed.items():
            if self._logged.get(address) != answer.problem:
                text = "the hub %s at %s cannot be asked whether it leads: %s"
                logger.warning(text, answer.hub.name, address, answer.problem)
        self._logged = {address: answer.problem for address, answer in failed.items()}


async def ask(hubs: Iterable[HubEntry], tls: TlsConfig | None) -> list[HubAnswer]:
    """Query hubs for whether they lead and have the lease.

    Queries go over TLS unless `tls` is None, and carry no credentials: anybody may send them.
    """
    # Agents may share a name in their certificates that no hub has.
    shown = TlsConfig() if tls is None else msgspec.structs.replace(tls, server_name=None)
    scrape = Scrape(tls_config=shown)
    client = Client(scrape, Access(scrape))
    scheme = "http" if tls is None else "https"
    candidates = [hub for hub in hubs if hub.address][:_MOST_REQUESTS]
    return list(await asyncio.gather(*(_request_answer(client, scheme, hub) for hub in candidates)))


def leader_among(answers: Iterable[HubAnswer]) -> str:
    """The name of the hub that leads and has the lease; empty where none says so."""
    return next((answer.hub.name for answer in answers if answer.leads), "")


async def _request_answer(client: Client, scheme: str, hub: HubEntry) -> HubAnswer:
    target = Target(node="", scheme=scheme, address=hub.address)
    try:
        connection = target_client(client, target)
    except ValueError:  # another version's, or written by hand
        return HubAnswer(hub, problem="this is no address")
    try:
        body = await connection.get(
            f"{scheme}://{hub.address}{LEADER_PATH}",
            {},
            lambda _: Body(None, _MOST_BYTES),
            _ANSWER_S,
        )
    except TargetFault as fault:
        # A hub that does not lead answers so.
        return HubAnswer(hub, problem="" if fault.code == _UNAVAILABLE else str(fault))
    finally:
        connection.close()
    return HubAnswer(hub, leads=body.decode("utf-8", "replace").strip() == LEADS)
