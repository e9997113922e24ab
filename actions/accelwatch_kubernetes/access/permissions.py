"""What the cluster does not let us do, as it says itself: a SelfSubjectAccessReview for each request.

Roles are changed by people while the hub runs, so we review again: sooner where one is missing.
"""

from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import IntentKind
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import KubernetesError, decoded
from accelwatch.base.clock import Clock

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
# Who has just been given a role waits for a minute at most; an hour's worth of questions are few.
_AGAIN_S, _AGAIN_REFUSED_S = 600.0, 60.0


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """A request as RBAC knows it."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        subresource = f"/{self.subresource}" if self.subresource else ""
        group = f".{self.group}" if self.group else ""
        return f"{self.verb} {self.resource}{group}{subresource}"


# Without which an intent fails whatever stands in the cluster.
NEEDED: Mapping[Permission, frozenset[IntentKind]] = {
    Permission(verb="get", resource="nodes"): frozenset(
        {
            IntentKind.QUARANTINE,
            IntentKind.RELEASE,
            IntentKind.DRAW_SPARE,
            IntentKind.RETURN_SPARE,
        }
    ),
    Permission(verb="patch", resource="nodes"): frozenset(
        {
            IntentKind.QUARANTINE,
            IntentKind.RELEASE,
            IntentKind.DRAW_SPARE,
            IntentKind.RETURN_SPARE,
        }
    ),
    Permission(verb="list", resource="pods"): frozenset(
        {IntentKind.MOVE_JOB, IntentKind.CANCEL_JOB, IntentKind.FOLLOW_JOB, IntentKind.FENCE}
    ),
    Permission(verb="create", resource="pods", subresource="eviction"): frozenset(
        {IntentKind.MOVE_JOB}
    ),
}


class _Status(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class Permissions:
    """For one event loop."""

    def __init__(self, client: KubernetesClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._due = float("-inf")
        self.refused: frozenset[Permission] = frozenset()

    @property
    def impossible(self) -> Mapping[IntentKind, str]:
        """What fails for want of a role, and which request it needs; empty before the first answer."""
        return {
            kind: f"the cluster does not allow the hub to {permission} (RBAC)"
            for permission in sorted(self.refused, key=str)
            for kind in sorted(NEEDED[permission])
        }

    async def refresh(self) -> None:
        """Ask again, if it is time to; what is not answered is as it was."""
        now = self._clock.monotonic()
        if now < self._due:
            return
        try:
            allowed = {permission: await self._allows(permission) for permission in NEEDED}
        except KubernetesError:
            self._due = now + _AGAIN_REFUSED_S
            return
        self.refused = frozenset(permission for permission, may in allowed.items() if not may)
        self._due = now + (_AGAIN_REFUSED_S if self.refused else _AGAIN_S)

    async def _allows(self, permission: Permission) -> bool:
        attributes = {
            "verb": permission.verb,
            "group": permission.group,
            "resource": permission.resource,
            "subresource": permission.subresource,
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {key: text for key, text in attributes.items() if text}},
        }
        answer = await self._client.create(REVIEWS, body)
        return decoded(answer, _Review).status.allowed
