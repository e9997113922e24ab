"""Silences and windows of maintenance that are to be set: which of several hubs they are for. Pure."""

from typing import Any

from accelwatch.base.names.host_ranges import expand
from accelwatch.fleet.hub_client.several.requests.routes import Routes

# A body of an API request.
Document = dict[str, Any]


def silence_at(routes: Routes, silence: Document) -> tuple[int, Document] | None:
    """(hub, the silence by its names) where one hub is meant; None for several.

    Raises UnmetError, UsageError.
    """
    targets = routes.matchers(silence.get("matchers", ()))
    if len(targets) != 1:
        return None
    ((hub, matchers),) = targets
    return hub, {**silence, "matchers": matchers}


def window_at(routes: Routes, window: Document) -> tuple[int, Document] | None:
    """(hub, the window by its names) where one hub follows all of its nodes, and no other any of them.

    Raises UnmetError, UsageError.
    """
    names = [name for text in window.get("nodes", ()) for name in expand(text)]
    matches = [match for name in names for match in routes.machine(name)]
    hubs = {hub for hub, _ in matches}
    if len(hubs) != 1:
        return None
    own_names = [own for _, own in matches]
    # Ranges stay as they were written, as long as the hub knows the names.
    return hubs.pop(), window if own_names == names else {**window, "nodes": own_names}
