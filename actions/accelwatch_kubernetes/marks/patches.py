"""The merge patches that set our marks and remove them. Pure.

Each has the whole list of taints, for a patch replaces it, and the resourceVersion of the node that it
was made from: where anybody has written since, the server answers 409 and nothing has happened. Taints
of others are sent as they were read; of ours key, value and effect, for `timeAdded` is the server's.
"""

from accelwatch_kubernetes.marks.foreign import CORDON_TAINT
from accelwatch_kubernetes.marks.hold import DRAWN, HOLD, Before, Drawn, Hold, label_value
from accelwatch_kubernetes.objects.node import Node, Taint
from accelwatch_kubernetes.settings.options import KubernetesOptions

Patch = dict[str, object]


def new_hold(
    node: Node,
    options: KubernetesOptions,
    *,
    incident: str,
    token: int,
    since: float,
    rule: str,
    reason: str,
) -> Hold:
    """The hold that a node gets; `since` in Unix seconds."""
    return Hold(
        incident=incident,
        token=token,
        by=options.hub,
        since=since,
        rule=rule,
        reason=reason,
        uid=node.metadata.uid,
        taint=options.taint,
        effect=_effect(options),
        cordoned_by_us=options.cordon and not node.spec.unschedulable,
        before=Before(unschedulable=node.spec.unschedulable, taints=node.spec.taints),
    )


def hold_patch(node: Node, hold: Hold, options: KubernetesOptions) -> Patch:
    """Taint and annotation, and the cordon where that is configured."""
    spec: Patch = {"taints": [*_others(node, hold.taints_on(node)), taint_of(hold, options)]}
    if hold.cordoned_by_us:
        spec["unschedulable"] = True
    return _patch(node, {HOLD: hold.text()}, spec)


def taint_of(hold: Hold, options: KubernetesOptions) -> Taint:
    """The taint that goes with a hold."""
    taint = {"key": hold.taint, "effect": _effect(options)}
    if value := label_value(hold.rule):
        taint["value"] = value
    return taint


def _effect(options: KubernetesOptions) -> str:
    return "NoExecute" if options.no_execute else "NoSchedule"


def release_patch(node: Node, hold: Hold) -> Patch:
    """All of a hold is gone; what others have set stays as it is."""
    taints = _others(node, hold.all_taints_on(node))
    spec: Patch = {}
    if hold.cordoned_by_us and node.spec.unschedulable:
        spec["unschedulable"] = None
        # The node controller removes this taint after an uncordon; sent along, none is left behind
        # where that controller is away.
        taints = [taint for taint in taints if taint.get("key") != CORDON_TAINT]
    spec["taints"] = taints or None
    return _patch(node, {HOLD: None}, spec)


def draw_patch(node: Node, drawn: Drawn, options: KubernetesOptions) -> Patch:
    """A spare accepts work: its taint is off, and the annotation says for whom."""
    return _patch(
        node, {DRAWN: drawn.text()}, {"taints": _without(node, options.spare_taint) or None}
    )


def return_patch(node: Node, options: KubernetesOptions) -> Patch:
    """A spare is idle again."""
    taint = {"key": options.spare_taint, "effect": "NoSchedule"}
    return _patch(node, {DRAWN: None}, {"taints": [*_without(node, options.spare_taint), taint]})


def _without(node: Node, key: str) -> list[Taint]:
    return [taint for taint in node.spec.taints if taint.get("key") != key]


def _others(node: Node, ours: list[Taint]) -> list[Taint]:
    return [taint for taint in node.spec.taints if taint not in ours]


def _patch(node: Node, annotations: dict[str, str | None], spec: Patch) -> Patch:
    metadata = {
        # A node that was deleted and made again under its name has another one.
        "resourceVersion": node.metadata.resource_version,
        "annotations": annotations,
    }
    return {"metadata": metadata, "spec": spec}
