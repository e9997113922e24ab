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
        ports = [port for one in pod.spec.containers for port in one.ports]
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
    told: set[tuple[str, str, str]] = set()
    for one in sorted(slices, key=lambda one: (one.address_type, one.metadata.key)):
        number = _slice_port(one.ports or (), settings)
        service = one.metadata.labels.get(SERVICE_LABEL, "")
        for endpoint in one.endpoints or ():
            if number is None or not endpoint.addresses:
                continue
            labels = {
                **settings.labels,
                **_of_node(endpoint.node_name, nodes, settings),
                "namespace": one.metadata.namespace,
                "service": service,
            }
            reference = endpoint.target_ref
            if reference is not None and reference.kind == "Pod":
                labels["pod"] = reference.name
                key = (service, reference.namespace, reference.name)
                if key in told:
                    continue
                told.add(key)
            yield _joined(endpoint.addresses[0], number), labels


def _pod_port(ports: Iterable[Port], settings: KubernetesSd) -> int | None:
    if not settings.port_name:
        return settings.port
    return next((one.container_port for one in ports if one.name == settings.port_name), None)


def _slice_port(ports: Iterable[Port], settings: KubernetesSd) -> int | None:
    """The port by its name, else the only one, else the configured number."""
    known = list(ports)
    if settings.port_name:
        return next((one.port for one in known if one.name == settings.port_name), None)
    return known[0].port if len(known) == 1 else settings.port


def _of_node(name: str, nodes: Mapping[str, Anything], settings: KubernetesSd) -> dict[str, str]:
    if not name:
        return {}
    node = nodes.get(f"/{name}")
    labels = {} if node is None else _renamed(node.metadata.labels, settings.node_labels)
    return {**labels, NODE_LABEL: name}


def _renamed(labels: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """The wanted labels by their new names; of two for one name the first that is there."""
    found: dict[str, str] = {}
    for theirs, ours in wanted.items():
        if labels.get(theirs):
            found.setdefault(ours, labels[theirs])
    return found


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
