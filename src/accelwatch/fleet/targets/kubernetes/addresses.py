"""From pods, endpoint slices and nodes to addresses with labels. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from accelwatch.fleet.target import NODE_LABEL
from accelwatch.fleet.targets.kubernetes.objects import Anything, EndpointSlice, Pod, Port
from accelwatch.fleet.targets.settings import KubernetesSd

# Host and port, labels.
DiscoveredAddress = tuple[str, dict[str, str]]
_TERMINAL_PHASES = ("Succeeded", "Failed")
SERVICE_LABEL = "kubernetes.io/service-name"


def pod_addresses(
    pods: Iterable[Pod], nodes: Mapping[str, Anything], settings: KubernetesSd
) -> Iterator[DiscoveredAddress]:
    """One of each pod that has an address and has not ended."""
    for pod in pods:
        ports = [port for container in pod.spec.containers for port in container.ports]
        number = _pod_port(ports, settings)
        if not pod.status.ip or pod.status.phase in _TERMINAL_PHASES or number is None:
            continue
        labels = {
            **settings.labels,
            **_renamed(pod.metadata.labels, settings.pod_labels),
            **_of_node(pod.spec.node_name, nodes, settings),
            "namespace": pod.metadata.namespace,
            "pod": pod.metadata.name,
        }
        yield _joined(pod.status.ip, number), labels


def endpoint_addresses(
    slices: Iterable[EndpointSlice], nodes: Mapping[str, Anything], settings: KubernetesSd
) -> Iterator[DiscoveredAddress]:
    """One of each endpoint, ready or not; of one with IPv4 and IPv6 that of IPv4."""
    visited: set[tuple[str, str, str]] = set()
    for endpoint_slice in sorted(
        slices,
        key=lambda endpoint_slice: (endpoint_slice.address_type, endpoint_slice.metadata.key),
    ):
        number = _slice_port(endpoint_slice.ports or (), settings)
        service = endpoint_slice.metadata.labels.get(SERVICE_LABEL, "")
        for endpoint in endpoint_slice.endpoints or ():
            if number is None or not endpoint.addresses:
                continue
            labels = {
                **settings.labels,
                **_of_node(endpoint.node_name, nodes, settings),
                "namespace": endpoint_slice.metadata.namespace,
                "service": service,
            }
            reference = endpoint.target_ref
            if reference is not None and reference.kind == "Pod":
                labels["pod"] = reference.name
                key = (service, reference.namespace, reference.name)
                if key in visited:
                    continue
                visited.add(key)
            yield _joined(endpoint.addresses[0], number), labels


def _pod_port(ports: Iterable[Port], settings: KubernetesSd) -> int | None:
    if not settings.port_name:
        return settings.port
    return next((port.container_port for port in ports if port.name == settings.port_name), None)


def _slice_port(ports: Iterable[Port], settings: KubernetesSd) -> int | None:
    """The port by its name, else the only one, else the configured number."""
    listed = list(ports)
    if settings.port_name:
        return next((port.port for port in listed if port.name == settings.port_name), None)
    return listed[0].port if len(listed) == 1 else settings.port


def _of_node(name: str, nodes: Mapping[str, Anything], settings: KubernetesSd) -> dict[str, str]:
    if not name:
        return {}
    node = nodes.get(f"/{name}")
    labels = {} if node is None else _renamed(node.metadata.labels, settings.node_labels)
    return {**labels, NODE_LABEL: name}


def _renamed(labels: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """The wanted labels by their new names; of two for one name the first that is there."""
    labelled: dict[str, str] = {}
    for theirs, ours in names.items():
        if labels.get(theirs):
            labelled.setdefault(ours, labels[theirs])
    return labelled


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
