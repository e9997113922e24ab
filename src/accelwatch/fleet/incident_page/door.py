"""The route of the pages of incidents; the code that shows one is loaded at the first request."""

from collections.abc import Callable
from functools import cached_property
from urllib.parse import unquote

from accelwatch.web.pages.page import Change, Page, Query, Visit, VisitedPages

PAGE = "/incidents/"


def id_in(path: str) -> str:
    """The id in `/incidents/i3`; empty for other paths."""
    segment = path.removeprefix(PAGE)
    return unquote(segment) if segment != path and segment and "/" not in segment else ""


class IncidentDoor:
    """Knows the paths, and lets others do the rest."""

    def __init__(self, make: Callable[[], VisitedPages]) -> None:
        """`make` gives the pages; it is called once, for the first who comes."""
        self._make = make

    # Made at the first request: its templates and modules are not loaded in a hub whose pages
    # nobody opens.
    @cached_property
    def _pages(self) -> VisitedPages:
        return self._make()

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path allows; empty for other paths."""
        return ("GET", "HEAD", "POST") if id_in(path) else ()

    def guest(self, path: str, query: Query) -> str:
        """The name under which somebody is let in by a link. Raises AccelwatchError."""
        return self._pages.guest(path, query)

    async def show(self, visit: Visit) -> Page:
        """The page. Raises AccelwatchError."""
        return await self._pages.show(visit)

    async def act(self, change: Change) -> Page:
        """The answer to a form. Raises AccelwatchError."""
        return await self._pages.act(change)
