"""The snapshot in Prometheus's text format or OpenMetrics."""

from collections.abc import Mapping

from accelwatch.exposition.selection import selection
from accelwatch.exposition.text import TEXT
from accelwatch.schema.snapshot import Snapshot
from accelwatch_prometheus.render import Renderer


class PrometheusExporter:
    """Options: `profile`, `groups`, `backends`, `openmetrics`, as in `selection`."""

    name = "prometheus"
    content_type = TEXT

    def __init__(self) -> None:
        self._renderer = Renderer()

    def render(self, snapshot: Snapshot, options: Mapping[str, object]) -> bytes:
        """One exposition. Raises UsageError for an unknown profile or group."""
        profile, groups = options.get("profile"), options.get("groups")
        chosen = selection(
            profile=profile if isinstance(profile, str) else "default",
            groups=groups if isinstance(groups, list | tuple | frozenset) else (),
            openmetrics=bool(options.get("openmetrics")),
        )
        return self._renderer.render(snapshot, chosen).encode()
