"""The latest state of one node, fed with a collector's reports and looked at as snapshots."""

from accelwatch.store.store import Store

__all__ = ["Store"]
