"""The kubelet's pod resources, version 1: which container was given which device ids.

Messages: k8s.io/kubelet pkg/apis/podresources/v1/api.proto. The answer names no pod uid.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from accelwatch.backend.kit.grpc.call import unary
from accelwatch.backend.kit.grpc.protobuf import fields, messages, text, texts
from accelwatch.base.clock import Clock

METHOD = "/v1.PodResourcesLister/List"
# A node has at most some hundreds of pods; plug-ins of shared memory list thousands of ids each.
MAX_ALLOCATIONS = 65_536


class Allocation(msgspec.Struct, frozen=True, kw_only=True):
    """A device id given to a container, as its device plug-in or DRA driver names it."""

    namespace: str
    pod: str
    container: str
    # Of a device plug-in (`nvidia.com/gpu`), or the name of a DRA driver (`gpu.nvidia.com`).
    resource: str
    # Names of one device: an id, or for DRA the CDI names and the name within the pool.
    names: tuple[str, ...]


def fetch(socket: Path, *, timeout_s: float, clock: Clock) -> tuple[Allocation, ...]:
    """What the kubelet says now. Raises SourceError."""
    return decode(unary(socket, METHOD, b"", timeout_s=timeout_s, clock=clock))


def decode(message: bytes) -> tuple[Allocation, ...]:
    """Allocations in a ListPodResourcesResponse, at most MAX_ALLOCATIONS. Raises SourceError."""
    allocations: list[Allocation] = []
    for pod in messages(message, 1):
        who = (text(pod, 2), text(pod, 1))
        for container in messages(pod, 3):
            for allocation in _of_container(*who, container):
                allocations.append(allocation)
                if len(allocations) == MAX_ALLOCATIONS:
                    return tuple(allocations)
    return tuple(allocations)


def _of_container(namespace: str, pod: str, message: bytes) -> Iterator[Allocation]:
    container = text(message, 1)

    def allocation(resource: str, names: tuple[str, ...]) -> Allocation:
        return Allocation(
            namespace=namespace, pod=pod, container=container, resource=resource, names=names
        )

    for number, value in fields(message):
        if not isinstance(value, bytes):
            continue
        if number == 2:
            resource = text(value, 1)
            for name in texts(value, 2):
                yield allocation(resource, (name,))
        elif number == 5:
            for claimed in messages(value, 4):
                names = [text(device, 1) for device in messages(claimed, 1)]
                names.append(text(claimed, 4))
                yield allocation(text(claimed, 2), tuple(name for name in names if name))
