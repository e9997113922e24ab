"""The host that the accelerators are in: processor, memory, disks, network, RDMA, NFS, clock."""

from accelwatch_host.backend import HostBackend

__all__ = ["HostBackend"]
