"""The latest state of one node, fed with a collector's reports and read as snapshots."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelwatch.node.store.store import Store

__all__ = ["Store"]


def __getattr__(name: str) -> object:
    """Store, imported at the first use: a collector process needs the reports only."""
    if name == "Store":
        from accelwatch.node.store.store import Store

        return Store
    raise AttributeError(name)
