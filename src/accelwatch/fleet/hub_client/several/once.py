"""Several hubs queried once, at the same time, as one answer; one that fails costs its own part only."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from accelwatch.base.clock import Clock, SystemClock
from accelwatch.fleet.documents.fleet import DeviceRow, GroupRow, NodeSummary
from accelwatch.fleet.follow.failures.faults import TargetFault, first_line
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.once import FleetDocuments, fetch_fleet, first_view
from accelwatch.fleet.hub_client.several.fan_out import ask_all
from accelwatch.fleet.hub_client.several.groups import HubGroups
from accelwatch.fleet.hub_client.several.hub_picture import HubPicture
from accelwatch.fleet.hub_client.several.hub_rows import (
    Row,
    device_as_of_now,
    node_as_of_now,
    shown_rows,
)
from accelwatch.fleet.hub_client.several.merging.exposition import pages_merged
from accelwatch.fleet.hub_client.several.merging.totals import groups_added
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.picture.model import FleetView


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """What one hub answered, and when on the monotonic clock."""

    answer: FleetDocuments
    view: FleetView
    groups: tuple[GroupRow, ...]
    at: float


class SeveralReader:
    """Implements `FleetReader`; what a hub said last stays, stale, when it fails later."""

    def __init__(self, sessions: Sequence[HubSession], clock: Clock | None = None) -> None:
        """Names of the sessions' hubs differ."""
        self.names = tuple(session.endpoint.name for session in sessions)
        self._sessions = sessions
        self._clock = clock or SystemClock()
        self._picture = SeveralPicture(self.names)
        self._fetched: dict[int, Fetched] = {}
        self._view: FleetView | None = None

    async def fetch(self, rows: str, query: Mapping[str, str]) -> FleetDocuments:
        """Totals, nodes, and `devices` or `groups` of all hubs. Raises TargetFault when none answers."""
        groups = HubGroups(query) if rows == "groups" else None

        async def ask(session: HubSession) -> Fetched:
            view = await first_view(session)
            answer = await fetch_fleet(
                session, rows="nodes" if groups is not None else rows, query=query
            )
            matches = () if groups is None else await groups.fetch(session)
            return Fetched(answer=answer, view=view, groups=matches, at=self._clock.monotonic())

        answered, refusals = await ask_all(self._sessions, ask)
        faults = {hub: first_line(fault) for hub, fault in refusals.items()}
        self._fetched |= answered
        pictures = {
            hub: HubPicture(
                view=msgspec.structs.replace(fetched.view, arrived_s=fetched.at),
                fault=faults.get(hub, ""),
                age_s=0.0 if hub in answered else self._clock.monotonic() - fetched.at,
                silent=hub not in answered,
            )
            for hub, fetched in self._fetched.items()
        }
        self._view = view = self._picture.view(pictures, "", faults)
        nodes = [
            row for hub, picture in sorted(pictures.items()) for row in self._nodes(hub, picture)
        ]
        more: tuple[msgspec.Raw, ...] = ()
        matches: tuple[GroupRow, ...] = ()
        if rows == "devices":
            more = tuple(
                _raw(row)
                for hub, picture in sorted(pictures.items())
                for row in self._devices(hub, picture)
            )
        elif groups is not None:
            matches = groups_added(await self._groups(groups, pictures))
            more = tuple(_raw(row) for row in matches)
        return FleetDocuments(
            fleet=view.sums,
            fleet_json=_raw(view.sums),
            nodes=tuple(msgspec.convert(row, NodeSummary) for row in nodes),
            nodes_json=tuple(_raw(row) for row in nodes),
            devices=tuple(msgspec.json.decode(raw, type=DeviceRow) for raw in more)
            if rows == "devices"
            else (),
            groups=matches,
            more_json=more,
            hubs=tuple(view.hubs),
        )

    async def view(self) -> FleetView:
        """The picture of what was fetched last."""
        assert self._view is not None, "fetch comes first"
        return self._view

    async def metrics(self) -> bytes:
        """The pages of all hubs with the label `hub`. Raises TargetFault when none answers."""
        pages, _ = await ask_all(self._sessions, lambda session: session.document("/metrics"))
        return pages_merged(
            {self.names[hub]: page.decode("utf-8", "replace") for hub, page in pages.items()},
            self.names,
        )

    def _nodes(self, hub: int, picture: HubPicture) -> Iterator[Row]:
        raws = self._fetched[hub].answer.nodes_json
        for row in shown_rows(hub, raws, self._picture.owner):
            yield node_as_of_now(row, picture)

    def _devices(self, hub: int, picture: HubPicture) -> Iterator[Row]:
        raws = self._fetched[hub].answer.more_json
        for row in shown_rows(hub, raws, self._picture.owner):
            yield device_as_of_now(row, picture)

    async def _groups(
        self, groups: HubGroups, pictures: Mapping[int, HubPicture]
    ) -> list[GroupRow]:
        owner = self._picture.owner
        rows: list[GroupRow] = []
        for hub, picture in pictures.items():
            session, own = self._sessions[hub], self._fetched[hub].groups
            nodes, hidden = {node.node for node in picture.view.nodes}, owner.hidden[hub]
            try:
                rows += await groups.own(
                    session, own, nodes=nodes, hidden=hidden, silent=picture.silent
                )
            except TargetFault:  # it has just fallen silent
                rows += await groups.own(session, own, nodes=nodes, hidden=hidden, silent=True)
        return rows


def _raw(document: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(document))
