"""What pages are given of a request: its query, what it changes with its body, who looks."""

import asyncio
from urllib.parse import parse_qs

from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.web.http.admission import Admitted
from accelwatch.web.http.request import Request
from accelwatch.web.pages.page import (
    Change,
    Query,
    Visit,
    VisitedPages,
)

_MAX_PARAMETERS = 64
# Longer than any honest client needs for the small bodies that are accepted.
_BODY_WAIT_S = 5.0


def query_of(request: Request) -> Query:
    """Its parameters. Raises AccelwatchError."""
    try:
        return parse_qs(
            request.raw_query,
            keep_blank_values=True,
            max_num_fields=_MAX_PARAMETERS,
        )
    except ValueError as error:
        raise AccelwatchError("the query cannot be read") from error


async def change_of(request: Request, query: Query, admitted: Admitted) -> Change:
    """The request with its body, whose length was checked before. Raises UsageError."""
    try:
        async with asyncio.timeout(_BODY_WAIT_S):
            body = await request.read()
    except (TimeoutError, ConnectionError) as error:
        raise UsageError("the body did not arrive") from error
    return Change(
        method=request.method,
        path=request.path,
        query=query,
        headers=request.headers,
        body=body,
        user=admitted.user,
        role=admitted.role,
        address=request.remote,
        guest=admitted.guest,
    )


def guest_of(request: Request, visited: VisitedPages | None) -> str:
    """Under which name a request without credentials is let in by a link; empty when it is not."""
    if visited is None:
        return ""
    try:
        return visited.guest(request.path, query_of(request))
    except AccelwatchError:
        return ""


def visit_of(request: Request, query: Query, admitted: Admitted) -> Visit:
    """The page that an admitted client requests."""
    return Visit(
        path=request.path,
        query=query,
        headers=request.headers,
        user=admitted.user,
        role=admitted.role,
        guest=admitted.guest,
    )
