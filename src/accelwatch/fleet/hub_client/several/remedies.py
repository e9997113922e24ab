"""What several hubs do about incidents as one page, and a person's word to the hub that it is about."""

from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.fleet.documents.remedies import (
    Commanded,
    RemediesPage,
)
from accelwatch.fleet.hub_client.several.fan_out import at_each
from accelwatch.fleet.hub_client.several.merging.pages import (
    commanded_in,
    commanded_merged,
    remedies_merged,
)
from accelwatch.fleet.hub_client.several.names.same_objects import same_objects
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.hub_client.several.requests.routes import Routes
from accelwatch.fleet.picture.remedies import Command, RemedySource
from accelwatch.remediation.policy.plan.model import Plan


class SeveralRemedies:
    """Implements `picture.remedies.RemedySource`; each hub decides by the roles of its own token."""

    def __init__(
        self, sources: Sequence[RemedySource], picture: SeveralPicture, routes: Routes
    ) -> None:
        self._sources = sources
        self._picture = picture
        self._routes = routes
        self._shown: tuple[tuple[object, ...], RemediesPage | None] = ((), None)

    def page(self) -> RemediesPage | None:
        """Of all hubs that act; the same object while none of theirs has changed."""
        pages = [source.page() for source in self._sources]
        key = (*pages, self._picture.owner)
        before, shown = self._shown
        if not same_objects(key, before):
            existing = {hub: page for hub, page in enumerate(pages) if page is not None}
            shown = remedies_merged(existing, self._picture.owner) if existing else None
            self._shown = key, shown
        return shown

    def problem(self) -> str:
        """Why there is nothing new from some hub."""
        texts = {
            hub: source.problem() for hub, source in enumerate(self._sources) if source.problem()
        }
        return "; ".join(f"{self._routes.hubs[hub]}: {text}" for hub, text in texts.items())

    async def plan(self, node: str) -> Plan:
        """What the node's hub would do now. Raises AccelwatchError."""
        hub, own = self._routes.acting(node, self._pages())
        return await self._sources[hub].plan(own)

    async def send_command(self, command: Command) -> Commanded:
        """To the node's hub; what is about all nodes, to every hub that acts or may act.

        Raises AccelwatchError, UncertainError.
        """
        if command.node:
            hub, own = self._routes.acting(command.node, self._pages())
            answer = await self._sources[hub].send_command(
                msgspec.structs.replace(command, node=own)
            )
            return commanded_in(answer, hub, self._picture.owner)
        hubs = self._may_act()
        answers: dict[int, Commanded] = {}

        async def send(hub: int) -> str:
            answers[hub] = await self._sources[hub].send_command(command)
            return "done"

        await at_each([self._routes.hubs[hub] for hub in hubs], [send(hub) for hub in hubs])
        return commanded_merged(answers, self._picture.owner)

    def _may_act(self) -> list[int]:
        """The hubs that act, and those that have said nothing yet; all where none does."""
        pages = self._pages()
        hubs = range(len(self._sources))
        acting = [hub for hub in hubs if hub in pages and pages[hub].acts]
        unknown = [hub for hub in hubs if hub not in pages and self._is_silent(hub)]
        return sorted((*acting, *unknown)) or list(hubs)

    def _is_silent(self, hub: int) -> bool:
        """Whether a hub does not answer, or never has: it may act all the same."""
        return bool(self._sources[hub].problem()) or not self._routes.has_answered(hub)

    def _pages(self) -> Mapping[int, RemediesPage]:
        pages = {hub: source.page() for hub, source in enumerate(self._sources)}
        return {hub: page for hub, page in pages.items() if page is not None}
