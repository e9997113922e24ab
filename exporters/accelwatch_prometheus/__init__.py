"""The snapshot in Prometheus's text format or OpenMetrics."""

from collections.abc import Mapping
from typing import Any, cast

from accelwatch.exposition.selection import Selection, selection
from accelwatch.exposition.text import TEXT
from accelwatch.schema.snapshot import Snapshot
from accelwatch_prometheus.render import Renderer

_CHOICES = frozenset(Selection.__struct_fields__)


class PrometheusExporter:
    """Options: those of `selection`, and `own` and `own_histograms` as of `Renderer.render`."""

    name = "prometheus"
    content_type = TEXT
    options = _CHOICES | {"own", "own_histograms"}

    def __init__(self) -> None:
        self._renderer = Renderer()

    def render(self, snapshot: Snapshot, options: Mapping[str, object]) -> bytes:
        """One exposition. Raises UsageError for an unknown profile or group."""
        requested = cast(Mapping[str, Any], options)  # typed by the contract's names
        chosen = selection(**{name: requested[name] for name in _CHOICES if name in requested})
        text = self._renderer.render(
            snapshot,
            chosen,
            own=requested.get("own"),
            own_histograms=requested.get("own_histograms"),
        )
        return text.encode()  # whatever could not be is escaped in it
