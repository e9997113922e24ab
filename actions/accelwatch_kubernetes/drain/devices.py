"""Which devices a pod holds, as far as the API server shows that. Pure.

A device plug-in shows it only where the kubelet writes it into the pod's status (ResourceHealthStatus);
a resource claim shows it once it is allocated.
"""

import re
from collections.abc import Iterator, Mapping

from accelwatch_kubernetes.objects.pod import Pod

# Behind the id of a device that a plug-in gives out several times (time slicing of NVIDIA's).
_REPLICA = re.compile(r"::\d+$")
_PCI = re.compile(r"(?:[0-9a-f]{4,8}:)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.IGNORECASE)
# Of a part of a GPU: of which GPU it is, the id does not say.
_PARTITION = "mig-"


def uses_device(pod: Pod, device: str, claims: Mapping[str, frozenset[str]]) -> bool | None:
    """Whether a pod holds a device (uuid, serial or PCI address); None where it is not known.

    `claims` are the ids of the devices of each allocated claim by the claim's name in the namespace.
    """
    ids, complete = set[str](), True
    for some in _devices(pod, claims):
        ids |= some or set()
        complete = complete and bool(some)
    requested = _plain(device)
    if requested in ids:
        return True
    partial = any(shown_id.startswith(_PARTITION) for shown_id in ids) and not requested.startswith(
        _PARTITION
    )
    return False if complete and not partial else None


def _devices(pod: Pod, claims: Mapping[str, frozenset[str]]) -> Iterator[set[str] | None]:
    """The ids of each resource that it requests; None where they are not shown."""
    shown = {
        (status.name, allocated.name): {_plain(entry.resource_id) for entry in allocated.resources}
        for status in pod.status.container_statuses
        for allocated in status.allocated_resources_status
    }
    for container in pod.spec.containers:
        requests = {*container.resources.requests, *container.resources.limits}
        for resource in sorted(filter(_is_extended, requests)):
            yield shown.get((container.name, resource))
    objects = {
        entry.name: entry.resource_claim_name for entry in pod.status.resource_claim_statuses
    }
    for claim in pod.spec.resource_claims:
        name = claim.resource_claim_name or objects.get(claim.name) or ""
        ids = claims.get(name)
        yield None if ids is None else {_plain(entry) for entry in ids}


def _is_extended(resource: str) -> bool:
    """Whether a device plug-in, or DRA instead, provides it."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io")


def _plain(device: str) -> str:
    """An id in the form in which two of them are compared; a PCI address without its domain's zeros."""
    text = _REPLICA.sub("", device.strip()).lower()
    match = _PCI.fullmatch(text)
    if match is None:
        return text
    domain = text[: match.start(1)].rstrip(":")
    return f"{int(domain or '0', 16):x}:{match[1]}"
