"""An answer before it is sent, and the reading of query parameters."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.base.names.nearest import nearest
from accelwatch.web.protection.roles import Role

PLAIN = "text/plain; charset=utf-8"
JSON = "application/json"
_MAX_MESSAGE = 400
_DEFAULT_LIMIT = 1000
# Rows of one page at most.
LONGEST_LIST = 20_000

Query = Mapping[str, Sequence[str]]
Headers = Mapping[str, str]
# Answered without credentials, for probes; they say one word and nothing about devices.
OPEN_PATHS = frozenset({"/-/healthy", "/-/ready", "/-/leader"})


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Body, headers and code of an answer."""

    body: bytes
    headers: dict[str, str] = {}
    code: int = 200
    # Gives the body piece by piece, instead of `body`.
    chunks: Callable[[], AsyncIterator[bytes]] | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A request that changes something: POST or DELETE."""

    method: str
    path: str
    query: Query
    headers: Headers
    # As long as `bodies.MAX_BODY` at most.
    body: bytes = b""
    # Who has proved to be it; empty where nobody has to, or a token has no name.
    user: str = ""
    # What he may do.
    role: Role = Role.READ
    # Where it comes from; empty on a Unix socket.
    address: str = ""
    # Whether nothing but a link of the page has let him in.
    guest: bool = False


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a page that is not the same for all."""

    path: str
    query: Query
    headers: Headers
    # As of a change.
    user: str = ""
    role: Role = Role.READ
    # Whether nothing but the page's own link has let him in.
    guest: bool = False


class VisitedPages(Protocol):
    """Pages for people: what they show and do depends on who looks."""

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path allows; empty when it is none of these pages."""
        ...

    def guest(self, path: str, query: Query) -> str:
        """The name under which somebody is let in who has nothing but a link; empty for nobody.

        Raises AccelwatchError.
        """
        ...

    async def show(self, visit: Visit) -> Page:
        """The page for GET and HEAD, which change nothing. Raises AccelwatchError."""
        ...

    async def act(self, change: Change) -> Page:
        """The answer to a form. Raises AccelwatchError."""
        ...


class BusyError(AccelwatchError):
    """Too many requests at this time; the same may be sent again in a while."""


def plain(code: int, text: str, headers: dict[str, str] | None = None) -> Page:
    """A short answer in words."""
    line = text if len(text) <= _MAX_MESSAGE else text[: _MAX_MESSAGE - 3] + "..."
    body = (line + "\n").encode("utf-8", "replace")
    return Page(body=body, headers={"Content-Type": PLAIN, **(headers or {})}, code=code)


def many(query: Query, name: str) -> list[str]:
    """Values of a parameter that may be repeated or be separated by commas."""
    pieces = (piece.strip() for value in query.get(name, ()) for piece in value.split(","))
    return [piece for piece in pieces if piece]


def check_parameters(query: Query, recognised: Iterable[str]) -> None:
    """Raise UsageError for a parameter that is not known; a typo must not pass unseen."""
    names = list(recognised)
    for name in query:
        if name not in names:
            close = nearest(name, names)
            offered = f"there are {', '.join(names)}" if names else "this page takes none"
            hint = f"did you mean {close}?" if close else offered
            raise UsageError(f"no parameter {name!r}; {hint}")


def only(query: Query, name: str) -> str | None:
    """The value of a parameter that stands once or not at all. Raises UsageError."""
    values = query.get(name)
    if not values:
        return None
    if len(values) > 1:
        raise UsageError(f"{name} is given twice")
    return values[0]


def limit_of(query: Query) -> int:
    """Rows on a page. Raises UsageError."""
    text = only(query, "limit")
    if text is None:
        return _DEFAULT_LIMIT
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= LONGEST_LIST:
        raise UsageError(f"limit: a number from 1 to {LONGEST_LIST}")
    return int(text)
