"""What is read of the API server's objects; everything else in them is passed over.

Shapes: Kubernetes API reference, core/v1 Pod and Node, discovery.k8s.io/v1 EndpointSlice, meta/v1.
"""

import msgspec


class Metadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`metadata` of an object, without its version, which changes when nothing does that is read."""

    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}

    @property
    def key(self) -> str:
        """Identifies the object among those of its kind."""
        return f"{self.namespace}/{self.name}"


class Anything(msgspec.Struct, frozen=True, kw_only=True):
    """An object of which only the metadata matter: a node."""

    metadata: Metadata

    @property
    def key(self) -> str:
        """Identifies the object among those of its kind."""
        return self.metadata.key


class Port(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A port of a container (`containerPort`) or of a slice (`port`)."""

    name: str = ""
    container_port: int | None = None
    port: int | None = None


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """A container of a pod."""

    ports: tuple[Port, ...] = ()


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`spec` of a pod."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()


class PodStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`status` of a pod."""

    phase: str = ""
    ip: str = msgspec.field(default="", name="podIP")


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod."""

    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """Identifies the object among those of its kind."""
        return self.metadata.key


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """`targetRef` of an endpoint."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One endpoint of a slice."""

    addresses: tuple[str, ...] = ()
    node_name: str = ""
    target_ref: Reference | None = None


class EndpointSlice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Some endpoints of a service."""

    metadata: Metadata
    address_type: str = ""
    endpoints: tuple[Endpoint, ...] | None = ()
    ports: tuple[Port, ...] | None = ()

    @property
    def key(self) -> str:
        """Identifies the object among those of its kind."""
        return self.metadata.key
