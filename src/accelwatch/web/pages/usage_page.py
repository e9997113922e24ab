"""/v1/usage: who uses the devices, as an agent or a hub has counted it."""

from collections.abc import Awaitable, Callable

from accelwatch.base.errors import UnmetError
from accelwatch.base.slices import YieldControl
from accelwatch.config.usage import UsageSettings
from accelwatch.node.usage.ledger import By, Ledger
from accelwatch.node.usage.price import price_of
from accelwatch.node.usage.queries import (
    BY_DEFAULT,
    NOT_COUNTED,
    PATH,
    SINCE_DEFAULT,
    by_of,
    window_of,
)
from accelwatch.node.usage.report import Reporting, UsageReport
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, only
from accelwatch.web.pages.routes import Parameter, Route, choice

_PARAMETERS = (
    Parameter("by", "What a row is.", choice(By)),
    Parameter("since", "A time from 1m to 1h, or `job`: since it is counted."),
)


def usage_route(page: Callable[[Query, Headers], Page | Awaitable[Page]]) -> Route:
    """The route of the report; `page` answers."""
    return Route(
        "GET", PATH, "Who uses the devices", page, parameters=_PARAMETERS, answer=UsageReport
    )


def reporting(ledger: Ledger, query: Query, settings: UsageSettings, source: str) -> Reporting:
    """The request. Raises UsageError for parameters that make no sense, UnmetError uncounted."""
    if not settings.count:
        raise UnmetError(NOT_COUNTED)
    by, since = only(query, "by"), only(query, "since")
    by_ = by_of(BY_DEFAULT if by is None else by)
    window_s = window_of(SINCE_DEFAULT if since is None else since)
    return Reporting(ledger, by_, window_s, price=price_of(settings), source=source)


def usage_page(
    ledger: Ledger, query: Query, headers: Headers, settings: UsageSettings, source: str
) -> Page:
    """The report at once. Raises UsageError and UnmetError."""
    return json_page(reporting(ledger, query, settings, source).report(), headers)


async def usage_page_in_slices(
    builder: Reporting, headers: Headers, yield_control: YieldControl
) -> Page:
    """The same; control is yielded after every row."""
    for _ in builder.steps():
        await yield_control()
    return json_page(builder.report(), headers)
