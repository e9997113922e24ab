"""One query of a fleet: waits until its targets have answered, then reads it as it is."""

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Protocol, TypeVar

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.base.exit_codes import PERMISSION
from accelwatch.fleet.documents.fleet import DeviceRow, GroupRow, NodeSummary
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.hub_client.connection.messages import Received
from accelwatch.fleet.hub_client.connection.session import HubSession, Requests
from accelwatch.fleet.hub_client.connection.stream import NO_HUB, follow
from accelwatch.fleet.hub_client.picture import Picture
from accelwatch.fleet.hub_states import HubState
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import DeviceSlot, FleetDocument, FleetTick, StoreState

_POLL_S = 0.1
_PAGE = "5000"
_REFUSED, _NO_PAGE = 400, 404
Row = TypeVar("Row")
_decode_page = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_rows = msgspec.json.Decoder(list[msgspec.Raw]).decode


class HubError(AccelwatchError):
    """The hub could not be queried."""


class HubForbids(AccelwatchError):  # noqa: N818 - a state, not a mistake
    """The hub wants other credentials."""

    exit_code = PERMISSION


class FleetDocuments(msgspec.Struct, frozen=True, kw_only=True):
    """The documents of one moment, decoded and as they came."""

    fleet: FleetDocument
    fleet_json: msgspec.Raw
    nodes: tuple[NodeSummary, ...]
    nodes_json: tuple[msgspec.Raw, ...]
    devices: tuple[DeviceRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    # Devices or groups.
    more_json: tuple[msgspec.Raw, ...] = ()
    # The hubs that it comes from, where they are several.
    hubs: tuple[HubState, ...] = ()


class FleetReader(Protocol):
    """A hub, or several as one, queried now. Each raises TargetFault when there is no answer."""

    async def fetch(self, rows: str, query: Mapping[str, str]) -> FleetDocuments:
        """Totals and nodes, and `devices` or `groups` where they are wanted."""
        ...

    async def view(self) -> FleetView:
        """All nodes and devices as a picture."""
        ...

    async def metrics(self) -> bytes:
        """Text for Prometheus."""
        ...


class HubReader:
    """Implements `FleetReader` over one hub."""

    def __init__(self, session: HubSession) -> None:
        self._session = session

    async def fetch(self, rows: str, query: Mapping[str, str]) -> FleetDocuments:
        """Totals and nodes, and `devices` or `groups` where they are wanted. Raises TargetFault."""
        return await fetch_fleet(self._session, rows=rows, query=query)

    async def view(self) -> FleetView:
        """The first tick of its stream. Raises TargetFault."""
        return await first_view(self._session)

    async def metrics(self) -> bytes:
        """Its own page. Raises TargetFault."""
        return await self._session.document("/metrics")


def plainly(fault: TargetFault, name: str) -> AccelwatchError:
    """A fault as the error of a command that queries once."""
    text = f"{name}: {NO_HUB if fault.code == _NO_PAGE else fault}"
    if fault.code == _REFUSED:
        return UsageError(str(fault))
    return HubForbids(text) if fault.reason is Reason.CREDENTIALS else HubError(text)


async def wait_for_answers(
    session: HubSession,
    timeout_s: float,
    report_progress: Callable[[int, int], None] = lambda _done, _total: None,
    hung: Set[str] = frozenset(),
) -> None:
    """Return when discoveries, store and targets have answered or failed, or the time is over.

    Raises TargetFault. `report_progress` gets how many nodes of how many have answered or failed; for
    the nodes in `hung` nobody waits.
    """
    try:
        async with asyncio.timeout(timeout_s):
            while not await _are_targets_discovered(session) or await _waits(
                session, report_progress, hung
            ):
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        return


async def _waits(
    session: HubSession, report_progress: Callable[[int, int], None], hung: Set[str]
) -> bool:
    """Whether a node has neither answered nor failed yet, besides those of which none is expected."""
    nodes = await all_rows(session, "nodes")
    left = silent(nodes)
    report_progress(len(nodes) - len(left), len(nodes))
    return not set(left) <= hung


async def _are_targets_discovered(session: HubSession) -> bool:
    body = await session.document("/v1/fleet")
    try:
        status = msgspec.json.decode(body, type=FleetDocument)
    except DECODE_ERRORS as error:
        raise TargetFault(Reason.GARBAGE, NO_HUB) from error
    return not status.discovering and (status.store is None or not unread(status.store))


def unread(store: StoreState) -> bool:
    """Whether the store has neither answered nor failed yet."""
    return store.read_at is None and not store.fault


def silent(nodes: Sequence[msgspec.Raw]) -> list[str]:
    """The nodes of which a target has neither answered nor failed."""
    summaries = [msgspec.json.decode(raw, type=NodeSummary) for raw in nodes]
    return [
        summary.node
        for summary in summaries
        if any(not target.connected and target.fault is None for target in summary.targets)
    ]


async def check_filter(session: HubSession, condition: str) -> None:
    """Return when the hub accepts the condition, or cannot be queried now. Raises UsageError."""
    try:
        await session.document("/v1/devices", {"filter": condition, "limit": "1"})
    except TargetFault as fault:
        if fault.code == _REFUSED:
            raise UsageError(str(fault)) from fault


async def fetch_fleet(
    session: HubSession, *, rows: str = "nodes", query: Mapping[str, str] | None = None
) -> FleetDocuments:
    """Totals and nodes, and besides them `devices` or `groups` when they are wanted.

    Raises TargetFault.
    """
    fleet = await session.document("/v1/fleet")
    nodes = await all_rows(session, "nodes")
    more = () if rows == "nodes" else await all_rows(session, rows, query)
    try:
        document = msgspec.json.decode(fleet, type=FleetDocument)
        return FleetDocuments(
            fleet=document,
            fleet_json=msgspec.Raw(fleet.strip()),
            nodes=tuple(msgspec.json.decode(raw, type=NodeSummary) for raw in nodes),
            nodes_json=nodes,
            devices=_all(more, DeviceRow) if rows == "devices" else (),
            groups=_all(more, GroupRow) if rows == "groups" else (),
            more_json=more,
            hubs=document.hubs,
        )
    except DECODE_ERRORS as error:
        raise TargetFault(Reason.GARBAGE, f"{NO_HUB} ({error})") from error


def _all(rows: Sequence[msgspec.Raw], shape: type[Row]) -> tuple[Row, ...]:
    return tuple(msgspec.json.decode(raw, type=shape) for raw in rows)


async def all_rows(
    session: Requests, what: str, query: Mapping[str, str] | None = None
) -> tuple[msgspec.Raw, ...]:
    """All pages of `/v1/nodes`, `/v1/devices` or `/v1/groups`, a row each, undecoded.

    Raises TargetFault.
    """
    parameters = {"limit": _PAGE, **(query or {})}
    rows: list[msgspec.Raw] = []
    while True:
        body = await session.document(f"/v1/{what}", parameters)
        try:
            page = _decode_page(body)
            rows += _decode_rows(page[what])
            following = msgspec.json.decode(page["next"])
        except (*DECODE_ERRORS, KeyError) as error:
            raise TargetFault(Reason.GARBAGE, NO_HUB) from error
        if following is None:
            return tuple(rows)
        parameters["cursor"] = str(following)


async def first_view(session: HubSession) -> FleetView:
    """The first tick of the hub's stream. Raises TargetFault."""
    picture = Picture()
    first: asyncio.Future[FleetTick] = asyncio.get_running_loop().create_future()

    def receive(message: Received) -> None:
        if isinstance(message, DeviceSlot):
            picture.assign_slot(message)
        elif isinstance(message, FleetTick) and not first.done():
            first.set_result(message)

    following = asyncio.ensure_future(follow(session, "", receive, lambda _: True))
    try:
        await asyncio.wait((following, first), return_when=asyncio.FIRST_COMPLETED)
        if not first.done():
            following.result()
        return picture.view(first.result(), 0.0, 1.0, "")
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
