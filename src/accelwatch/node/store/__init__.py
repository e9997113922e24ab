"""The latest state of one node, fed with a collector's reports and looked at as snapshots."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelwatch.node.store.store import Store

__all__ = ["Store"]


def __getattr__(name: str) -> object:
    """Store, imported when first asked for: a collector process needs the reports only."""
    if name == "Store":
        from accelwatch.node.store.store import Store

        return Store
    raise AttributeError(name)
