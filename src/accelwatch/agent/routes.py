"""Which path gives which page."""

from collections.abc import Callable, Sequence

from accelwatch.agent.documents import capabilities_page, snapshot_page
from accelwatch.agent.feed import Feed
from accelwatch.agent.own_metrics import OwnMetrics
from accelwatch.agent.scrape import Scrape
from accelwatch.exporter import Exporter
from accelwatch.web.index import index_page
from accelwatch.web.page import Headers, Page, Query, ask_again, plain
from accelwatch.web.stream import STREAM


class Pages:
    """Pages by path."""

    def __init__(
        self,
        feed: Feed,
        scrape: Scrape,
        own: OwnMetrics,
        *,
        document: Exporter,
        ready: Callable[[], bool],
        workloads: Callable[[], Sequence[object]],
    ) -> None:
        self._feed = feed
        self._scrape = scrape
        self._own = own
        self._ready = ready
        self._workloads = workloads
        self._pages: dict[str, Callable[[Query, Headers], Page]] = {
            "/": self._index,
            "/metrics": self._metrics,
            "/v1/snapshot": lambda query, _: snapshot_page(feed, document, query),
            "/capabilities": self._capabilities,
            "/-/healthy": lambda _query, _: plain(200, "healthy"),
            "/-/ready": self._readiness,
        }

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path takes; empty when there is no such path."""
        return ("GET", "HEAD") if path in self._pages or path == STREAM else ()

    def page(self, path: str, query: Query, headers: Headers) -> Page:
        """The page. Raises AccelwatchError for parameters that make no sense."""
        if path == STREAM:
            return plain(200, "")
        return self._pages[path](query, headers)

    async def act(self, path: str, query: Query, headers: Headers) -> Page:
        """There is nothing to be changed in an agent."""
        raise NotImplementedError(path)

    def _metrics(self, query: Query, headers: Headers) -> Page:
        accept, encoding = headers.get("Accept", ""), headers.get("Accept-Encoding", "")
        return self._scrape.page(query, accept, encoding)

    def _capabilities(self, query: Query, _headers: Headers) -> Page:
        ask_again(query, ())
        return capabilities_page(self._feed, self._own.reloads, self._workloads())

    def _readiness(self, _query: Query, _headers: Headers) -> Page:
        if self._ready():
            return plain(200, "ready")
        return plain(503, "the first readings are not complete")

    def _index(self, query: Query, _headers: Headers) -> Page:
        ask_again(query, ())
        return index_page(self._feed.snapshot())
