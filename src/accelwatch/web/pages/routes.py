"""Which path gives which page: one row a route, by which requests are answered and the API is described.

A page without a row cannot be requested, so none is without its documentation.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from accelwatch.base.errors import UnmetError
from accelwatch.web.pages.changing import refusal_of_change
from accelwatch.web.pages.page import (
    JSON,
    LONGEST_LIST,
    OPEN_PATHS,
    Change,
    Headers,
    Page,
    Query,
    check_parameters,
    plain,
)
from accelwatch.web.protection.roles import Role

Method = Literal["GET", "POST", "DELETE"]
# A value in a path: `{id}`, or `{node:path}` with slashes.
PLACEHOLDER = re.compile(r"\{(\w+)(:path)?\}")
_STRING: Mapping[str, object] = MappingProxyType({"type": "string"})


class Parameter(msgspec.Struct, frozen=True):
    """A query parameter of a route."""

    name: str
    text: str
    # JSON Schema of a value.
    schema: Mapping[str, object] = _STRING
    required: bool = False


class Route(msgspec.Struct, frozen=True):
    """One row: method and path, who answers, and with what."""

    # GET answers HEAD as well.
    method: Method
    # `/v1/silences/{id}`; `{node:path}` may have slashes in it.
    path: str
    summary: str
    # Gets the path's values in their order, then query and headers for GET, else the change.
    handler: Callable[..., Page | Awaitable[Page]]
    # The struct that is answered as JSON; None for text, streams and pages for people.
    answer: type[msgspec.Struct] | None = None
    media: tuple[str, ...] = (JSON,)
    # Others are refused.
    parameters: tuple[Parameter, ...] = ()
    # What is sent, as JSON.
    body: type[msgspec.Struct] | None = None
    # Who may request it.
    role: Role = Role.READ
    # Reasons of refusals by their code, beside those that any route may have.
    errors: Mapping[str, str] = {}

    @property
    def template(self) -> str:
        """The path as OpenAPI writes it."""
        return PLACEHOLDER.sub(r"{\1}", self.path)

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """Names of the path's values, in their order."""
        return tuple(name for name, _ in PLACEHOLDER.findall(self.path))


LIMIT = Parameter(
    "limit", "Rows on a page.", {"type": "integer", "minimum": 1, "maximum": LONGEST_LIST}
)
CURSOR = Parameter("cursor", "`next` of the page before.")
# Of a change without a body, which would say it in its reason.
ON_BEHALF_OF = Parameter("on_behalf_of", "Who asked for it, at a hub over this one.")


def choice(choices: Iterable[str]) -> Mapping[str, object]:
    """JSON Schema of one of some words."""
    return {"type": "string", "enum": [str(text) for text in choices]}


class RouteTable:
    """The pages of a server, found by path and method."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        self._exact: dict[str, dict[str, Route]] = {}
        templates: dict[str, dict[str, Route]] = {}
        for route in self.routes:
            by_path = templates if "{" in route.path else self._exact
            by_path.setdefault(route.path, {})[route.method] = route
        # `/v1/nodes/{node:path}/history` before `/v1/nodes/{node:path}`, which matches it too.
        longest_first = sorted(templates, key=lambda path: -len(PLACEHOLDER.sub("", path)))
        self._templates = [(_pattern(path), templates[path]) for path in longest_first]

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path allows; empty when there is no such path."""
        by_method, _ = self._find(path)
        return tuple(
            method
            for name in by_method
            for method in (("GET", "HEAD") if name == "GET" else (name,))
        )

    def page(self, path: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        """The page for GET and HEAD. Raises AccelwatchError for what makes no sense."""
        route, values = self._route(path, "GET")
        # Probes may carry what they like: whether we live does not depend on it.
        if path not in OPEN_PATHS:
            check_parameters(query, [parameter.name for parameter in route.parameters])
        return route.handler(*values, query, headers)

    async def act(self, change: Change, may_change: bool) -> Page:
        """What changes something, for those who may. Raises AccelwatchError.

        `may_change`: whether those who can reach the server may change something in it.
        """
        route, values = self._route(change.path, change.method)
        refusal = refusal_of_change(change, may_change, route.role)
        if refusal is not None:
            return refusal
        check_parameters(change.query, [parameter.name for parameter in route.parameters])
        media = change.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if route.body is not None and media != JSON:
            return plain(415, "the body is JSON: Content-Type: application/json")
        page = route.handler(*values, change)
        return page if isinstance(page, Page) else await page

    def _route(self, path: str, method: str) -> tuple[Route, tuple[str, ...]]:
        by_method, values = self._find(path)
        if method not in by_method:
            raise UnmetError("no such page")
        return by_method[method], values

    def _find(self, path: str) -> tuple[Mapping[str, Route], tuple[str, ...]]:
        """The routes of a path by method, and the values that stand in it."""
        if (exact := self._exact.get(path)) is not None:
            return exact, ()
        for pattern, by_method in self._templates:
            if match := pattern.fullmatch(path):
                return by_method, match.groups()
        return {}, ()


def _pattern(path: str) -> re.Pattern[Any]:
    literals = PLACEHOLDER.split(path)
    # Literal, name, `:path` or None, literal, ...
    pattern = re.escape(literals[0])
    for as_path, literal in zip(literals[2::3], literals[3::3], strict=True):
        pattern += ("(.+)" if as_path else "([^/]+)") + re.escape(literal)
    return re.compile(pattern, re.DOTALL)
