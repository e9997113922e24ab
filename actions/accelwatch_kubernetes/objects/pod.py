"""A pod object, with what decides whether and how it leaves its node."""

from functools import lru_cache

import msgspec

from accelwatch_kubernetes.objects.metadata import Metadata, OwnerReference, unix_seconds

# On a pod that a kubelet runs from a file of its own: the API server shows only a mirror of it.
MIRROR = "kubernetes.io/config.mirror"
_OVER = frozenset({"Succeeded", "Failed"})


class ResourceClaimName(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A claim of the pod that a container uses."""

    name: str = ""


class Resources(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a container requests: quantities by resource, and claims."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    claims: tuple[ResourceClaimName, ...] = ()


class Container(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A container of a pod."""

    name: str = ""
    resources: Resources = Resources()


class PodResourceClaim(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """A claim of the pod: one that exists, or one that is made from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """How a pod is wanted."""

    # Empty until it is bound.
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    termination_grace_period_seconds: int | None = None


class ResourceHealth(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A device that was given to a container, as the kubelet reports it."""

    resource_id: str = msgspec.field(default="", name="resourceID")
    # `Healthy`, `Unhealthy` or `Unknown`.
    health: str = ""


class AllocatedResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The devices of one resource (`nvidia.com/gpu`) or claim (`claim:gpu`)."""

    name: str = ""
    resources: tuple[ResourceHealth, ...] = ()


class ContainerStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """How a container fares."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    allocated_resources_status: tuple[AllocatedResource, ...] = ()


class ClaimStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Which object a claim of the pod is."""

    name: str = ""
    resource_claim_name: str | None = None


class PodCondition(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """One of a pod's conditions."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """How a pod fares."""

    # `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: str | None = None
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[ClaimStatus, ...] = ()


class Pod(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A pod."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """By which a copy knows it: that of a namesake is another."""
        return self.metadata.uid

    @property
    def uid(self) -> str:
        """Of this very pod: a namesake has another."""
        return self.metadata.uid

    @property
    def path(self) -> str:
        """`namespace/name`, as people write it."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def node(self) -> str:
        """Where it is bound; empty while it is not."""
        return self.spec.node_name

    @property
    def is_over(self) -> bool:
        """Whether all its containers have ended for good."""
        return self.status.phase in _OVER

    @property
    def is_terminating(self) -> bool:
        """Whether it was evicted or deleted, and is still there."""
        return bool(self.metadata.deletion_timestamp)

    @property
    def runs(self) -> bool:
        """Whether it runs, and goes on running as far as the API server knows."""
        return self.status.phase == "Running" and not self.is_terminating

    @property
    def is_mirror(self) -> bool:
        """Whether it is the mirror of a static pod: deleting it ends nothing."""
        return MIRROR in self.metadata.annotations

    @property
    def controller(self) -> OwnerReference | None:
        """What makes another one when it goes; None where nothing does."""
        owners = self.metadata.owner_references
        return next((owner for owner in owners if owner.controller), None)

    @property
    def started(self) -> float | None:
        """Unix seconds at which its kubelet accepted it; None before."""
        return unix_seconds(self.status.start_time or "")

    @property
    def waits_for(self) -> str:
        """Why it is not bound to a node, in the scheduler's words; empty where it says nothing."""
        unscheduled = (
            condition.message or condition.reason
            for condition in self.status.conditions
            if condition.type == "PodScheduled" and condition.status == "False"
        )
        return next(unscheduled, "")


class PodList(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Several pods."""

    items: tuple[Pod, ...] = ()


_DECODER = msgspec.json.Decoder(PodList)


# An observation is parsed several times: to propose, to decide and to report.
@lru_cache(maxsize=1024)
def pods_of(text: str) -> tuple[Pod, ...]:
    """The pods of a list as JSON, in its order. Raises ValueError for what is no list of pods."""
    return _DECODER.decode(text).items if text else ()
