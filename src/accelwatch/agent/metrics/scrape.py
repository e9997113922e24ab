"""/metrics: the format and families a client requests, rendered once for a state of the store."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from accelwatch.agent.feed import Feed
from accelwatch.agent.metrics.own_metrics import OwnMetrics
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UsageError
from accelwatch.base.names.nearest import nearest
from accelwatch.exposition.exporter import Exporter
from accelwatch.exposition.selection import Selection
from accelwatch.exposition.text import OPENMETRICS, TEXT
from accelwatch.node.rendering import rendered
from accelwatch.web.pages.negotiation import accepts_gzip, choose, gzipped
from accelwatch.web.pages.page import Page, many
from accelwatch.web.pages.routes import Parameter

SCRAPE_PARAMETERS = (
    Parameter("profile", "default or minimal."),
    Parameter("group", "Opt-in group; may be repeated."),
    Parameter("collect[]", "Only this backend; may be repeated."),
)
_MAX_CACHED = 16


class Rendered:
    """An exposition and, once somebody wanted it, its compressed form."""

    def __init__(self, body: bytes, made_at: float) -> None:
        self.body = body
        self.made_at = made_at
        self._packed: bytes | None = None

    def packed(self) -> bytes:
        """The body compressed."""
        if self._packed is None:
            self._packed = gzipped(self.body)
        return self._packed


class Scrape:
    """Answers scrapes; keeps a few expositions of the latest version of the store."""

    def __init__(
        self,
        feed: Feed,
        exporter: Exporter,
        own: OwnMetrics,
        clock: Clock,
        default_selection: Selection,
    ) -> None:
        self._feed = feed
        self._exporter = exporter
        self._own = own
        self._clock = clock
        # Several scrapers share a rendering. Cleared when the store changes (`_version`); one older
        # than `max_age_s` is rendered again.
        self._cached: dict[Selection, Rendered] = {}
        self._version = -1
        # The selection for a scrape without parameters.
        self.default_selection = default_selection
        # An older exposition is rendered again although the store did not change: ages did.
        self.max_age_s = 1.0

    def page(self, query: Mapping[str, Sequence[str]], accept: str, accept_encoding: str) -> Page:
        """The exposition. Raises UsageError for what does not exist."""
        chosen = choose(accept, (TEXT, OPENMETRICS)) or TEXT
        rendered = self._rendered(self._selection(query, openmetrics=chosen == OPENMETRICS))
        headers = {"Content-Type": chosen, "Vary": "Accept, Accept-Encoding"}
        if accepts_gzip(accept_encoding):
            return Page(body=rendered.packed(), headers={**headers, "Content-Encoding": "gzip"})
        return Page(body=rendered.body, headers=headers)

    def _selection(self, query: Mapping[str, Sequence[str]], *, openmetrics: bool) -> Selection:
        groups = frozenset(many(query, "group"))
        return msgspec.structs.replace(
            self.default_selection,
            profile=query["profile"][-1] if "profile" in query else self.default_selection.profile,
            groups=groups or self.default_selection.groups,
            backends=frozenset(self._checked_backends(many(query, "collect[]"))),
            openmetrics=openmetrics,
        )

    def _checked_backends(self, backends: Iterable[str]) -> Iterable[str]:
        requested = list(backends)
        if requested:
            names = sorted(status.name for status in self._feed.snapshot().backends)
            for name in requested:
                if name not in names:
                    close = nearest(name, names)
                    hint = f"did you mean {close}?" if close else f"there are {', '.join(names)}"
                    raise UsageError(f"no backend {name!r}; {hint}")
        return requested

    def _rendered(self, selection: Selection) -> Rendered:
        now = self._clock.monotonic()
        if self._version != self._feed.version or len(self._cached) >= _MAX_CACHED:
            self._cached.clear()
            self._version = self._feed.version
        cached = self._cached.get(selection)
        if cached is None or now - cached.made_at >= self.max_age_s:
            options = {
                **msgspec.structs.asdict(selection),
                "own": self._own.series(),
                "own_histograms": self._own.histograms(),
            }
            body = rendered(self._exporter, self._feed.snapshot(), options)
            cached = self._cached[selection] = Rendered(body, now)
        return cached
