"""What pods belong to: each owner is read once, and again where it could not be read.

A role may be given to us, and a webhook may be mended: what was refused or failed is due again after a
while (`workloads.owner_index`).
"""

import asyncio
from collections.abc import Sequence

import msgspec

from accelwatch.api_client.kubernetes.errors import (
    NOT_FOUND,
    ApiError,
    ApiUnavailableError,
    decoded,
)
from accelwatch_kubernetes.access.answers import unavailable_if_unread
from accelwatch_kubernetes.objects.metadata import Metadata, OwnerReference
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.objects.workload import version_of
from accelwatch_kubernetes.rows import Access
from accelwatch_kubernetes.workloads.kinds.table import kind_of
from accelwatch_kubernetes.workloads.owner_index import MOST_STEPS

# Owners that are read together, the first time that a namespace is read.
_AT_ONCE = 16
# No role allows it, or the cluster serves no such kind.
_UNREAD = frozenset({403, 404})


class _AnyObject(msgspec.Struct, frozen=True):
    metadata: Metadata = Metadata()


async def resolve_owners(
    access: Access, pods: Sequence[Pod], *, as_far_as_answered: bool = False
) -> None:
    """Read what leads from some pods to their jobs, as far as it was not read before.

    Raises ActionUnavailableError; with `as_far_as_answered` not where the server answers 5xx for some
    kinds, as it does while a webhook cannot convert them: their jobs are known by what is below.
    """
    reads = _OwnerReads(access, as_far_as_answered=as_far_as_answered)
    for _ in range(MOST_STEPS):
        missing = access.owners.missing(
            pods, access.clock.monotonic(), failed_too=not as_far_as_answered
        )
        if not missing:
            return
        await asyncio.gather(*(reads.read(*entry) for entry in missing.values()))


class _OwnerReads:
    """Of one turn."""

    def __init__(self, access: Access, *, as_far_as_answered: bool) -> None:
        self._access = access
        self._as_far_as_answered = as_far_as_answered
        self._gate = asyncio.Semaphore(_AT_ONCE)
        # Kinds for which the server has failed: each further request may wait its whole time, too.
        self._failing: set[tuple[str, str]] = set()

    async def read(self, namespace: str, reference: OwnerReference) -> None:
        """Raises ActionUnavailableError."""
        kind = reference.api_version, reference.kind
        async with self._gate:
            if kind in self._failing:
                self._add_unread(namespace, reference, failed=True)
                return
            with unavailable_if_unread():
                try:
                    await self._add(namespace, reference)
                except ApiUnavailableError as error:
                    if not (self._as_far_as_answered and error.status):
                        raise
                    self._failing.add(kind)
                    self._add_unread(namespace, reference, failed=True)

    async def _add(self, namespace: str, reference: OwnerReference) -> None:
        """Raises KubernetesError."""
        access, kind = self._access, kind_of(reference.api_version, reference.kind)
        if not kind.versions:
            access.owners.add(reference, namespace, None)
            return
        path = kind.path(namespace, reference.name, version_of(reference.api_version))
        try:
            body = await access.client.get(path)
        except ApiError as error:
            if error.status not in _UNREAD:
                raise
            if error.status == 404 and error.reason == NOT_FOUND:
                access.owners.add(reference, namespace, None)
            else:
                self._add_unread(namespace, reference, failed=False)
            return
        metadata = decoded(body, _AnyObject).metadata
        access.owners.add(reference, namespace, metadata)

    def _add_unread(self, namespace: str, reference: OwnerReference, *, failed: bool) -> None:
        now = self._access.clock.monotonic()
        self._access.owners.add_unread(reference, namespace, now, failed=failed)
