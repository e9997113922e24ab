"""Binds the Prometheus exporter's renderer to what the agent's server expects of an exposition."""

from collections.abc import Iterable

from accelwatch.agent.feed import Exposition, Histograms, Own
from accelwatch.schema.snapshot import Snapshot


def prometheus_text() -> Exposition:
    """A renderer of its own, with its own line cache."""
    from accelwatch_prometheus.render import Renderer
    from accelwatch_prometheus.selection import selection

    renderer = Renderer()

    def render(
        snapshot: Snapshot,
        *,
        profile: str,
        groups: Iterable[str],
        backends: Iterable[str],
        inventory: bool,
        openmetrics: bool,
        own: Own,
        own_histograms: Histograms,
    ) -> str:
        chosen = selection(
            profile=profile,
            groups=groups,
            backends=backends,
            inventory=inventory,
            openmetrics=openmetrics,
        )
        return renderer.render(snapshot, chosen, own=own, own_histograms=own_histograms)

    return render
