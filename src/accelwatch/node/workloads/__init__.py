"""To which container, pod and batch job each device is allocated, and to which each process belongs."""

from accelwatch.node.workloads.facts import SourceState, SourceStatus
from accelwatch.node.workloads.settings import WorkloadSettings
from accelwatch.node.workloads.workloads import Workloads

__all__ = ["SourceState", "SourceStatus", "WorkloadSettings", "Workloads"]
