"""From pods, endpoint slices and nodes to addresses with labels. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from accelwatch.fleet.target import NODE_LABEL
from accelwatch.fleet.targets.kubernetes.objects import Anything, EndpointSlice, Pod, Port
from accelwatch.fleet.targets.settings import KubernetesSd

Place = tuple[str, dict[str, str]]
"""Host and port, labels."""
_ENDED = ("Succeeded", "Failed")
SERVICE_LABEL = "kubernetes.io/service-name"


def pod_places(
    pods: Iterable[Pod], nodes: Mapping[str, Anything], settings: KubernetesSd
) -> Iterator[Place]:
    """One of each pod that has an address and has not ended."""
    for pod in pods:
        ports = [port for container in pod.spec.containers for port in container.ports]
        number = _pod_port(ports, settings)
        if not pod.status.ip or pod.status.phase in _ENDED or number is None:
            continue
        labels = {
            **settings.labels,
            **_renamed(pod.metadata.labels, settings.pod_labels),
            **_of_node(pod.spec.node_name, nodes, settings),
            "namespace": pod.metadata.namespace,
            "pod": pod.metadata.name,
        }
        yield _joined(pod.status.ip, number), labels


def endpoint_places(
    slices: Iterable[EndpointSlice], nodes: Mapping[str, Anything], settings: KubernetesSd
) -> Iterator[Place]:
    """One of each endpoint, ready or not; of one with IPv4 and IPv6 that of IPv4."""
    seen: set[tuple[str, str, str]] = set()
    for part in sorted(slices, key=lambda part: (part.address_type, part.metadata.key)):
        number = _slice_port(part.ports or (), settings)
        service = part.metadata.labels.get(SERVICE_LABEL, "")
        for endpoint in part.endpoints or ():
            if number is None or not endpoint.addresses:
                continue
            labels = {
                **settings.labels,
                **_of_node(endpoint.node_name, nodes, settings),
                "namespace": part.metadata.namespace,
                "service": service,
            }
            reference = endpoint.target_ref
            if reference is not None and reference.kind == "Pod":
                labels["pod"] = reference.name
                key = (service, reference.namespace, reference.name)
                if key in seen:
                    continue
                seen.add(key)
            yield _joined(endpoint.addresses[0], number), labels


def _pod_port(ports: Iterable[Port], settings: KubernetesSd) -> int | None:
    if not settings.port_name:
        return settings.port
    return next((port.container_port for port in ports if port.name == settings.port_name), None)


def _slice_port(ports: Iterable[Port], settings: KubernetesSd) -> int | None:
    """The port by its name, else the only one, else the configured number."""
    known = list(ports)
    if settings.port_name:
        return next((port.port for port in known if port.name == settings.port_name), None)
    return known[0].port if len(known) == 1 else settings.port


def _of_node(name: str, nodes: Mapping[str, Anything], settings: KubernetesSd) -> dict[str, str]:
    if not name:
        return {}
    node = nodes.get(f"/{name}")
    labels = {} if node is None else _renamed(node.metadata.labels, settings.node_labels)
    return {**labels, NODE_LABEL: name}


def _renamed(labels: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """The wanted labels by their new names; of two for one name the first that is there."""
    labelled: dict[str, str] = {}
    for theirs, ours in wanted.items():
        if labels.get(theirs):
            labelled.setdefault(ours, labels[theirs])
    return labelled


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
