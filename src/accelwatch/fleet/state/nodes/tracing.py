"""Where the values of a node are from: the class of each source, and of the one that a value is of."""

from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.fleet.state.nodes.devices import FleetDevice
from accelwatch.fleet.state.nodes.joined import Joined
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import OURS, TargetSource
from accelwatch.schema.provenance import Provenance, weakest


def class_of(source: TargetSource) -> Provenance:
    """The class of all data of a source; of one that never answered by how it is polled."""
    if source.target.is_stored:
        return Provenance.STORE
    if source.dialect not in ("", OURS):
        return Provenance.EXPORTER
    verified = source.target.scheme == "https" and source.verified
    return Provenance.AUTHENTICATED if verified else Provenance.PLAIN


def of_node(node: Node) -> Provenance:
    """The weakest of a node's sources: for statements on the whole node, as that it is silent."""
    if not node.sources:
        return Provenance.UNKNOWN
    return weakest(class_of(source) for source in node.sources.values())


def of_device(node: Node, device: FleetDevice | None) -> Provenance:
    """The weakest of the sources that report a device; of a missing device that of its node."""
    if device is None:
        return of_node(node)
    components = device.components if isinstance(device, Joined) else (device,)
    return weakest(_of_component(node, component) for component in components)


def of_value(node: Node, device: FleetDevice | None, key: Key) -> Provenance:
    """That of the source that a value is from; of words all sources of the device have a say in."""
    if isinstance(key, tuple) and of_host(key):
        return _of_host(node)
    if device is None or isinstance(key, str):
        return of_device(node, device)
    return _of_component(node, device.component_of(key) if isinstance(device, Joined) else device)


def _of_host(node: Node) -> Provenance:
    host = node.host
    if host is not None:
        return _of_component(node, host)
    own = next((source for source in node.sources.values() if source.own), None)
    return of_node(node) if own is None else class_of(own)


def _of_component(node: Node, component: FleetDevice) -> Provenance:
    source = node.origin(component)
    return of_node(node) if source is None else class_of(source)
