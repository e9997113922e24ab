"""To which container, pod and batch job each device is allocated, and to which each process belongs."""

from accelwatch.workloads.known import SourceState, SourceStatus
from accelwatch.workloads.settings import WorkloadSettings
from accelwatch.workloads.workloads import Workloads

__all__ = ["SourceState", "SourceStatus", "WorkloadSettings", "Workloads"]
