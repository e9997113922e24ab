"""Lists of several hubs as one: each is read at all hubs, and a hub that fails is named in it."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentsPage
from accelwatch.alerting.evaluation.paths import INCIDENTS, MAINTENANCE, SILENCES
from accelwatch.alerting.evaluation.silences.documents import MaintenancePage, SilencesPage
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.fleet.avoid.documents import AvoidPage
from accelwatch.fleet.documents.remedies import RemediesPage, SparesPage
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault, first_line
from accelwatch.fleet.hub_client.connection.session import Requests
from accelwatch.fleet.hub_client.several.fan_out import ask_all
from accelwatch.fleet.hub_client.several.merging.pages import (
    avoid_merged,
    incidents_merged,
    maintenance_merged,
    remedies_merged,
    silences_merged,
    spares_merged,
)
from accelwatch.fleet.hub_client.several.merging.usage import usage_added
from accelwatch.fleet.hub_client.several.names.shared_nodes import Ownership
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.hub_client.several.requests.routes import Routes
from accelwatch.node.usage.queries import PATH as USAGE
from accelwatch.node.usage.report import UsageReport

REMEDIES = "/v1/remedies"
NO_PAGE = 404
Document = TypeVar("Document", bound=msgspec.Struct)


class _Answers(NamedTuple):
    """What the hubs have answered, by the hub's number, and whose nodes are whose."""

    pages: dict[int, Any]
    faults: dict[int, str]
    owner: Ownership
    names: Sequence[str]


class _List(NamedTuple):
    """A page of a hub that is a list."""

    kind: type[msgspec.Struct]
    merged: Callable[[_Answers], msgspec.Struct]


def _usage(answers: _Answers) -> msgspec.Struct:
    names = answers.names
    reports = {names[hub]: report for hub, report in answers.pages.items()}
    texts = {names[hub]: text for hub, text in answers.faults.items()}
    return usage_added(reports, texts, answers.owner.sentence)


_LISTS: Mapping[str, _List] = MappingProxyType(
    {
        INCIDENTS: _List(IncidentsPage, lambda a: incidents_merged(a.pages, a.faults, a.owner)),
        USAGE: _List(UsageReport, _usage),
        SILENCES: _List(SilencesPage, lambda a: silences_merged(a.pages, a.faults, a.names)),
        MAINTENANCE: _List(
            MaintenancePage, lambda a: maintenance_merged(a.pages, a.faults, a.names)
        ),
        "/v1/avoid": _List(AvoidPage, lambda a: avoid_merged(a.pages, a.faults, a.owner)),
        "/v1/spares": _List(SparesPage, lambda a: spares_merged(a.pages, a.faults, a.owner)),
        REMEDIES: _List(RemediesPage, lambda a: remedies_merged(a.pages, a.owner, a.faults)),
    }
)


class SeveralLists:
    """Over hubs whose picture is known."""

    def __init__(
        self, sessions: Sequence[Requests], picture: SeveralPicture, routes: Routes
    ) -> None:
        self._sessions = sessions
        self._picture = picture
        self._routes = routes

    @staticmethod
    def has(path: str) -> bool:
        """Whether a page of a hub is a list."""
        return path in _LISTS

    async def document(self, path: str, query: dict[str, str]) -> bytes:
        """The list of all hubs that have such a page. Raises TargetFault, UnmetError."""
        of_incidents = path == INCIDENTS and "node" in query
        own_names = dict(self._routes.of_node(query["node"])) if of_incidents else {}
        page = _LISTS[path]
        pages, faults = await self.pages(path, query, page.kind, own_names)
        answers = _Answers(pages, faults, self._picture.owner, self._routes.hubs)
        return msgspec.json.encode(page.merged(answers))

    async def pages(
        self,
        path: str,
        query: Mapping[str, str],
        kind: type[Document],
        own_names: Mapping[int, str],
    ) -> tuple[dict[int, Document], dict[int, str]]:
        """(pages, faults) by hub; a hub that has no such page is neither. Raises TargetFault.

        `own_names` is what some hubs call the node of the query.
        """
        own = {self._sessions[hub]: {**query, "node": node} for hub, node in own_names.items()}

        async def read(session: Requests) -> Document:
            return await read_page(session, path, own.get(session, query), kind)

        pages, faults = await ask_all(self._sessions, read)
        return pages, {
            hub: first_line(fault) for hub, fault in faults.items() if fault.code != NO_PAGE
        }


async def read_page(
    session: Requests, path: str, query: Mapping[str, str], kind: type[Document]
) -> Document:
    """A page of one hub. Raises TargetFault."""
    return read_body(await session.document(path, query), kind)


def read_body(body: bytes, kind: type[Document]) -> Document:
    """What a hub has answered. Raises TargetFault for what cannot be read."""
    try:
        return msgspec.json.decode(body, type=kind)
    except DECODE_ERRORS as error:
        raise TargetFault(Reason.GARBAGE, f"its answer cannot be read: {error}") from error
