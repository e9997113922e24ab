"""A hub's actions on incidents, polled once in a while, and a person's commands to it."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from urllib.parse import quote

import msgspec

from accelwatch.base.errors import AccelwatchError, UncertainError
from accelwatch.fleet.documents.remedies import Commanded, PlanPage, RemediesPage
from accelwatch.fleet.follow.failures.faults import TargetFault, first_line, leaves_doubt
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.documents import decoded
from accelwatch.fleet.hub_client.incident_changes import user_name
from accelwatch.fleet.picture.remedies import RESET_BREAKER, START, STOP, Command
from accelwatch.remediation.policy.plan.model import Plan

# How often a hub that acts is polled.
EVERY_S = 2.0
# The same of one that does not, or is too old.
SELDOM_S = 30.0
_UNKNOWN_PAGE = 404
_COUNTS_NOT = "it does not count: "
_OF_ALL: Mapping[str, str] = MappingProxyType(
    {STOP: "/v1/stop", START: "/v1/start", RESET_BREAKER: "/v1/breaker/reset"}
)


class Remedies:
    """Implements `picture.remedies.RemedySource`; the loop's thread only."""

    def __init__(self, session: HubSession, is_enabled: Callable[[], bool]) -> None:
        """`is_enabled` says whether there is a hub that judges, so that it may act."""
        # With whom is spoken.
        self.session = session
        self._is_enabled = is_enabled
        self._page: RemediesPage | None = None
        self._problem = ""
        self._soon = asyncio.Event()

    def page(self) -> RemediesPage | None:
        """The newest page; None until the hub has sent one."""
        return self._page

    def problem(self) -> str:
        """Why there is nothing new; empty while there is."""
        return self._problem

    def poll_soon(self) -> None:
        """A command was sent: poll now, and not only when it is time."""
        self._soon.set()

    async def run(self, changed: Callable[[], None]) -> None:
        """Poll until cancelled; `changed` is called when something has changed."""
        while True:
            before = self._page, self._problem
            wait_s = EVERY_S
            self._soon.clear()
            if self._is_enabled():
                wait_s = await self._poll()
            if (self._page, self._problem) != before:
                changed()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._soon.wait()

    async def _poll(self) -> float:
        """Poll once; after how many seconds again."""
        try:
            body = await self.session.document("/v1/remedies")
            self._page = decoded(body, RemediesPage)
        except TargetFault as fault:
            if fault.code == _UNKNOWN_PAGE:
                self._page, self._problem = None, ""
                return SELDOM_S
            self._problem = f"remedies: {first_line(fault)}"
            return EVERY_S
        except AccelwatchError as error:
            self._problem = f"remedies: {error}"
            return SELDOM_S
        self._problem = ""
        return EVERY_S if self._page.acts else SELDOM_S

    async def plan(self, node: str) -> Plan:
        """What would be done for a node now. Raises AccelwatchError."""
        try:
            body = await self.session.document("/v1/plan", {"node": node})
        except TargetFault as fault:
            raise AccelwatchError(f"the hub shows no plan: {first_line(fault)}") from fault
        return decoded(body, PlanPage).plan

    async def send_command(self, command: Command) -> Commanded:
        """Say it; it counts when this returns. Raises AccelwatchError, UncertainError."""
        document = {"reason": command.reason, "by": user_name()}
        document |= {"for": command.lasts} if command.lasts else {}
        document |= {"plan": command.plan} if command.plan else {}
        path = (
            _OF_ALL.get(command.verb)
            or f"/v1/remedies/{quote(command.node, safe='')}/{command.verb}"
        )
        try:
            answer = await self.session.change("POST", path, None, msgspec.json.encode(document))
        except TargetFault as fault:
            if leaves_doubt(fault):
                raise UncertainError(
                    f"unknown whether it was accepted: {first_line(fault)}; check before you repeat it"
                ) from fault
            text = first_line(fault).removeprefix(_COUNTS_NOT)
            raise AccelwatchError(f"{_COUNTS_NOT}{text}") from fault
        finally:
            self.poll_soon()
        return decoded(answer, Commanded)
