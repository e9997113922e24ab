"""Who uses a GPU and how much, from /proc/PID/fdinfo: any DRM or accel driver, no library needed."""

from accelwatch.system.kernel.drm_fdinfo.client import (
    DrmClient,
    client_memory_bytes,
    parse_fdinfo,
    unshared_bytes,
)
from accelwatch.system.kernel.drm_fdinfo.meter import UsageMeter
from accelwatch.system.kernel.drm_fdinfo.scan import FdinfoScan, FdinfoScanner

__all__ = [
    "DrmClient",
    "FdinfoScan",
    "FdinfoScanner",
    "UsageMeter",
    "client_memory_bytes",
    "parse_fdinfo",
    "unshared_bytes",
]
