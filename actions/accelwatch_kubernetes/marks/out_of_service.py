"""The taint by which a cluster replaces the pods of a node that is off, set with a proof only. Pure.

The hold annotation notes that it is ours, and by which proof: a taint of others is never removed,
and one of ours is not left behind.
"""

import msgspec

from accelwatch_kubernetes.marks.hold import (
    HOLD,
    OUT_OF_SERVICE,
    OUT_OF_SERVICE_EFFECT,
    Hold,
    hold_of,
    out_of_service_taints,
)
from accelwatch_kubernetes.objects.node import Node, Taint

_VALUE = "nodeshutdown"

Patch = dict[str, object]


def has_our_taint(node: Node) -> bool:
    """Whether it is tainted out of service, and by us."""
    hold = hold_of(node)
    return hold is not None and bool(hold.out_of_service) and _is_tainted(node)


def is_tainted_by_others(node: Node) -> bool:
    """Whether others have tainted it out of service."""
    return _is_tainted(node) and not has_our_taint(node)


def _is_tainted(node: Node) -> bool:
    return bool(out_of_service_taints(node))


def out_of_service_patch(node: Node, hold: Hold, proof: str) -> Patch:
    """The taint, and in the annotation why nothing runs there any more."""
    taint: Taint = {"key": OUT_OF_SERVICE, "value": _VALUE, "effect": OUT_OF_SERVICE_EFFECT}
    return _patch(
        node, msgspec.structs.replace(hold, out_of_service=proof), [*node.spec.taints, taint]
    )


def in_service_patch(node: Node, hold: Hold) -> Patch:
    """Our taint is gone; all others stay as they are."""
    ours = out_of_service_taints(node)
    others = [taint for taint in node.spec.taints if taint not in ours]
    return _patch(node, msgspec.structs.replace(hold, out_of_service=msgspec.UNSET), others)


def _patch(node: Node, hold: Hold, taints: list[Taint]) -> Patch:
    metadata = {
        "resourceVersion": node.metadata.resource_version,
        "annotations": {HOLD: hold.text()},
    }
    return {"metadata": metadata, "spec": {"taints": taints or None}}
