"""Faults that the kernel reports in its log: NVIDIA Xid and SXid, amdgpu, i915, xe, NFS, disks, PCIe."""

from accelwatch_kernel_log.backend import KernelLogBackend

__all__ = ["KernelLogBackend"]
