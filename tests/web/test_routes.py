"""Rows of routes: which of them a path finds, what it is given, and what is refused before it."""

import asyncio

import msgspec
import pytest

from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.web.pages.page import Change, Headers, Page, Query, plain
from accelwatch.web.pages.routes import LIMIT, Route, RouteTable
from accelwatch.web.protection.roles import Role

JSON = {"Content-Type": "application/json"}


class Sent(msgspec.Struct):
    """A body."""


def history(node: str, _query: Query, _headers: Headers) -> Page:
    return plain(200, f"history of {node}")


async def node(node: str, _query: Query, _headers: Headers) -> Page:
    return plain(200, f"node {node}")


def listed(query: Query, _headers: Headers) -> Page:
    return plain(200, f"all, {query.get('limit')}")


def created(_change: Change) -> Page:
    return plain(200, "created")


async def ended(id_: str, change: Change) -> Page:
    return plain(200, f"ended {id_} by {change.user}")


TABLE = RouteTable(
    (
        Route("GET", "/nodes", "Nodes", listed, parameters=(LIMIT,)),
        Route("POST", "/nodes", "A new one", created, body=Sent, role=Role.ACT),
        Route("DELETE", "/nodes/{id}/jobs", "End", ended, role=Role.ADMIN),
        Route("GET", "/nodes/{node:path}", "One", node),
        Route("GET", "/nodes/{node:path}/history", "Its past", history),
        Route("GET", "/-/healthy", "Alive", lambda _query, _headers: plain(200, "yes")),
    )
)


async def text_of(path: str, **query: str) -> str:
    page = TABLE.page(path, {name: [value] for name, value in query.items()}, {})
    return (page if isinstance(page, Page) else await page).body.decode().strip()


def answer(method: str, path: str, role: Role = Role.ADMIN, **sent: str) -> Page:
    headers = {"Content-Type": sent.pop("media", JSON["Content-Type"])}
    query = {name: [value] for name, value in sent.items()}
    change = Change(method=method, path=path, query=query, headers=headers, user="kim", role=role)
    return asyncio.run(TABLE.act(change, True))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/nodes", "all, None"),
        ("/nodes/n1", "node n1"),
        ("/nodes/rack/n1", "node rack/n1"),
        ("/nodes/n1/history", "history of n1"),
        ("/nodes/a\nb/history", "history of a\nb"),
        ("/nodes//history", "node /history"),
        ("/nodes/n1/jobs/history", "history of n1/jobs"),
    ],
)
def test_the_most_exact_path_answers(path: str, text: str) -> None:
    assert asyncio.run(text_of(path)) == text


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/nodes", ("GET", "HEAD", "POST")),
        ("/nodes/n1", ("GET", "HEAD")),
        ("/nodes/n1/jobs", ("DELETE",)),
        ("/nodes/", ()),
        ("/node", ()),
        ("/nodes.", ()),
    ],
)
def test_a_path_has_the_methods_of_its_rows(path: str, methods: tuple[str, ...]) -> None:
    assert TABLE.methods(path) == methods


def test_a_parameter_without_documentation_is_refused() -> None:
    assert asyncio.run(text_of("/nodes", limit="3")) == "all, ['3']"
    with pytest.raises(UsageError, match="did you mean limit"):
        asyncio.run(text_of("/nodes", limt="3"))
    with pytest.raises(UsageError, match="takes none"):
        answer("DELETE", "/nodes/n1/jobs", force="yes")


def test_a_probe_may_carry_what_it_likes() -> None:
    assert asyncio.run(text_of("/-/healthy", probe="7")) == "yes"


def test_a_change_needs_the_role_of_its_row() -> None:
    assert answer("DELETE", "/nodes/n1/jobs").body == b"ended n1 by kim\n"
    refused = answer("DELETE", "/nodes/n1/jobs", Role.ACT)
    assert (refused.code, b"this needs admin" in refused.body) == (403, True)


def test_a_body_is_json() -> None:
    assert answer("POST", "/nodes", media="application/json; charset=utf-8").code == 200
    assert answer("POST", "/nodes", media="text/plain").code == 415
    assert answer("DELETE", "/nodes/n1/jobs", media="text/plain").code == 200


def test_a_method_without_a_row_has_no_page() -> None:
    with pytest.raises(UnmetError):
        answer("DELETE", "/nodes")


def test_a_path_is_documented_as_openapi_writes_it() -> None:
    (_, _, _, _, past, _) = TABLE.routes
    assert (past.template, past.path_parameters) == ("/nodes/{node}/history", ("node",))
