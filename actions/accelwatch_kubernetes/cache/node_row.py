"""What is kept of a node: how it is observed, by the words of the contract. Pure."""

import msgspec

from accelwatch.action.observed import NodeObservation
from accelwatch_kubernetes.marks.hold_state import observed_node
from accelwatch_kubernetes.marks.out_of_service import has_our_taint
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.settings.options import KubernetesOptions


class NodeRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A node."""

    # Without its jobs.
    observation: NodeObservation
    uid: str
    # Of the object; 0 for a version that is no number.
    version: int
    # Whether we have tainted it out of service.
    out_of_service: bool = False

    @property
    def key(self) -> str:
        """Its name."""
        return self.observation.name


def node_row(node: Node, options: KubernetesOptions) -> NodeRow:
    """What is kept of it."""
    version = node.metadata.resource_version
    return NodeRow(
        observation=observed_node(node, options),
        uid=node.metadata.uid,
        version=int(version) if version.isascii() and version.isdecimal() else 0,
        out_of_service=has_our_taint(node),
    )


def is_older(row: NodeRow, other: NodeRow) -> bool:
    """Whether it is the same object as the other, as it was before.

    Versions of one kind grow (Kubernetes 1.35 promises it, etcd has always done so).
    """
    return row.uid == other.uid and row.version < other.version
