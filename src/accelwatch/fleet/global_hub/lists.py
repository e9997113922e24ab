"""`/v1/nodes`, `/v1/devices`, `/v1/groups` of all hubs: page by page from one hub after the other.

Nothing is kept of what is passed on. Of a hub that does not answer come the rows that its last picture
has; where a filter would have to be evaluated there are none, and the page says so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import UsageError
from accelwatch.base.slices import LongWork
from accelwatch.fleet.api.http import listed, states_of
from accelwatch.fleet.api.query.groups import page_of
from accelwatch.fleet.api.query.names import columns
from accelwatch.fleet.api.query.rows import cursor_of, position_of
from accelwatch.fleet.documents.fleet import DeviceRow, GroupRow, NodeSummary
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault, first_line
from accelwatch.fleet.global_hub.feed import check_condition
from accelwatch.fleet.global_hub.followed import FollowedHubs
from accelwatch.fleet.global_hub.silent_rows import device_rows, node_rows
from accelwatch.fleet.hub_client.several.fan_out import gathered
from accelwatch.fleet.hub_client.several.groups import HubGroups
from accelwatch.fleet.hub_client.several.hub_picture import HubPicture
from accelwatch.fleet.hub_client.several.hub_rows import shown_rows
from accelwatch.fleet.hub_client.several.merging.totals import groups_added
from accelwatch.fleet.targets.hub_endpoint import MOST_DEVICES
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, limit_of, many, only

_REFUSED = 400
_decode_page = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_rows = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_texts = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_next = msgspec.json.Decoder(str | None).decode
_to_json = msgspec.json.Encoder().encode

# Of a hub by number, from its last picture, with why it is not queried: its rows from a number on.
SilentRows = Callable[[int, HubPicture, str, int], Iterator[NodeSummary] | Iterator[DeviceRow]]


class HubLists:
    """The loop's thread only."""

    def __init__(self, followed: FollowedHubs) -> None:
        self._followed = followed

    async def nodes(self, query: Query, headers: Headers) -> Page:
        """Nodes, hub by hub. Raises UsageError."""
        states = states_of(query)

        def silent(hub: int, picture: HubPicture, fault: str, start: int) -> Iterator[NodeSummary]:
            owner = self._followed.hubs.picture.owner
            now = self._followed.clock.wall()
            return node_rows(hub, picture, owner, fault, now, states=states, start=start)

        parameters = {"state": ",".join(sorted(states))} if states else {}
        return await _Walk(self._followed, "nodes", parameters, silent).page(query, headers)

    async def devices(self, query: Query, headers: Headers) -> Page:
        """Devices, hub by hub. Raises ExpressionError, UsageError."""
        text, fields = only(query, "filter"), many(query, "fields")
        names = tuple(name for name, _ in columns(fields))
        parameters = {"fields": ",".join(names)}
        if text:
            check_condition(text, self._followed.view())
            parameters["filter"] = text

        def silent(hub: int, picture: HubPicture, _fault: str, start: int) -> Iterator[DeviceRow]:
            owner = self._followed.hubs.picture.owner
            return device_rows(hub, picture, owner, names, start=start)

        walk = _Walk(self._followed, "devices", parameters, None if text else silent)
        return await walk.page(query, headers)

    async def groups(self, query: Query, headers: Headers) -> Page:
        """Groups of the devices of all hubs that answer. Raises ExpressionError, UsageError."""
        by, text, cursor = only(query, "by"), only(query, "filter"), only(query, "cursor")
        if by is None:
            raise UsageError("by: say by what, such as rack, partition, job, user or hub")
        limit, after = limit_of(query), position_of(cursor)[0] if cursor else None
        if text:
            check_condition(text, self._followed.view())
        requested = HubGroups({"by": by, **({"filter": text} if text else {})})
        rows, problems = await self._groups(requested)
        return json_page(page_of(by, rows, limit, after, problems), headers)

    async def _groups(self, requested: HubGroups) -> tuple[tuple[GroupRow, ...], tuple[str, ...]]:
        """(groups, why those of a hub are missing). Raises UsageError when all hubs refuse."""
        followed = self._followed

        async def of(hub: int) -> Sequence[GroupRow]:
            session, picture = followed.sessions[hub], followed.hubs.picture_of(hub)
            nodes = set() if picture is None else {node.node for node in picture.view.nodes}
            hidden = followed.hubs.picture.owner.hidden[hub]
            own = await requested.fetch(session)
            return await requested.own(session, own, nodes=nodes, hidden=hidden, silent=False)

        names = followed.names
        answers, faults = await gathered([of(hub) for hub in range(len(names))], TargetFault)
        _refuse(list(faults.values()), len(names))
        rows = [row for groups in answers.values() for row in groups]
        return groups_added(rows), tuple(
            _missing(names[hub], fault) for hub, fault in faults.items()
        )


class _Walk:
    """One page of a list: from the hub of its cursor on, until it is full."""

    def __init__(
        self,
        followed: FollowedHubs,
        what: str,
        parameters: Mapping[str, str],
        silent: SilentRows | None,
    ) -> None:
        """`silent` gives the rows of a hub that does not answer; None where nothing can."""
        self._followed = followed
        self._what = what
        self._parameters = parameters
        self._silent = silent
        self._work = LongWork()
        self._problems: list[str] = []
        self._refusals: list[TargetFault] = []

    async def page(self, query: Query, headers: Headers) -> Page:
        """The page. Raises UsageError for a bad cursor, and when all hubs refuse the request."""
        limit, cursor = limit_of(query), only(query, "cursor")
        names = self._followed.names
        name, offset, own_cursor = position_of(cursor) if cursor else (names[0], 0, "")
        if not 0 <= offset <= MOST_DEVICES:
            raise UsageError("cursor: take it from `next` of the page before")
        if name not in names:
            raise UsageError(
                "cursor: the hub that it names is no longer followed; start again without it"
            )
        rows: list[bytes] = []
        for hub in range(names.index(name), len(names)):
            more, following = await self._of(hub, limit - len(rows), offset, own_cursor)
            rows += more
            if following is not None:
                return self._listed(rows, cursor_of((names[hub], *following)), headers)
            if len(rows) >= limit and hub + 1 < len(names):
                return self._listed(rows, cursor_of((names[hub + 1], 0, "")), headers)
            offset, own_cursor = 0, ""
        _refuse(self._refusals, len(names))
        return self._listed(rows, None, headers)

    def _listed(self, rows: list[bytes], following: str | None, headers: Headers) -> Page:
        return listed(self._what, rows, following, headers, problems=self._problems)

    async def _of(
        self, hub: int, limit: int, offset: int, cursor: str
    ) -> tuple[list[bytes], tuple[int, str] | None]:
        """(rows of a hub, where the next page begins; None at its end).

        An offset is among the rows of its last picture, a cursor its own.
        """
        name, text = self._followed.names[hub], self._followed.hubs.fault(hub)
        if not offset:
            try:
                return await self._request(hub, limit, cursor)
            except TargetFault as fault:
                text = first_line(fault)
                if fault.code == _REFUSED:
                    self._refusals.append(fault)
                if self._silent is None or cursor or fault.code == _REFUSED:
                    self._problems.append(_missing(name, fault))
                    return [], None
        picture = self._followed.hubs.picture_of(hub)
        if picture is None or self._silent is None:
            self._problems.append(f"hub {name} is missing: {text}")
            return [], None
        rows: list[bytes] = []
        for row in self._silent(hub, picture, text, offset):
            if len(rows) == limit:
                return rows, (offset + limit, "")
            rows.append(_to_json(row))
            await self._work.yield_control()
        return rows, None

    async def _request(
        self, hub: int, limit: int, cursor: str
    ) -> tuple[list[bytes], tuple[int, str] | None]:
        parameters = {**self._parameters, "limit": str(limit)}
        if cursor:
            parameters["cursor"] = cursor
        body = await self._followed.sessions[hub].document(f"/v1/{self._what}", parameters)
        try:
            page = _decode_page(body)
            raws = _decode_rows(page[self._what])
            following = _decode_next(page["next"])
            # Of one that follows hubs itself.
            problems = _decode_texts(page.get("problems", msgspec.Raw(b"[]")))
            owner = self._followed.hubs.picture.owner
            rows = []
            for row in shown_rows(hub, raws, owner):
                rows.append(_to_json(row))
                await self._work.yield_control()
        except (*DECODE_ERRORS, KeyError, TypeError) as error:
            text = f"its list of {self._what} cannot be read"
            raise TargetFault(Reason.GARBAGE, text) from error
        name = self._followed.names[hub]
        self._problems += [f"{name}: {problem}" for problem in problems]
        return rows, None if following is None else (0, following)


def _refuse(refusals: list[TargetFault], hubs: int) -> None:
    """Raise UsageError when all hubs refuse a request."""
    refused = [fault for fault in refusals if fault.code == _REFUSED]
    if refused and len(refused) == hubs:
        raise UsageError(str(refused[0]))


def _missing(hub: str, fault: TargetFault) -> str:
    return f"hub {hub} is missing: {first_line(fault)}"
