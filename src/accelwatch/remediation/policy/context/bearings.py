"""What bears on a node by itself, whatever rule or plan there is. Pure."""

from accelwatch.alerting.rules.document import Mode
from accelwatch.remediation.policy.context.views import CaseView, NodeView
from accelwatch.remediation.policy.guards.limits.ceiling import Bearing, Ceiling


def bearing_of_node(ctx: NodeView, node: str, *, goes_on: bool = False) -> Bearing:
    """The ceilings of the site and the profile, a stop and a person's hold; `node` is the hub's name.

    What goes on with a plan that was allowed needs no whole journal, and no label forbids it.
    """
    status, stop, veto = ctx.node_status(node), ctx.state.stop, ctx.state.vetoes.get(node)
    labelled = "" if goes_on else label_veto(ctx, node)
    return Bearing(
        node=node,
        mode=Mode.AUTO,
        loss_risk="" if goes_on else ctx.world.journal.loss_risk,
        site=Ceiling(ctx.settings.ceiling),
        profile=None if status is None else Ceiling(status.ceiling),
        stopped_by="" if stop is None else f"{stop.by}: {stop.reason}",
        vetoed_by=labelled if veto is None else f"{veto.by}: {veto.reason}",
    )


def label_veto(ctx: CaseView, node: str) -> str:
    """The label by which rules leave a node alone, as a reason; empty without it."""
    status, label = ctx.node_status(node), ctx.settings.no_auto_label
    labelled = status is not None and bool(label) and label in status.labels
    return f"it has the label {label}" if labelled else ""


def why_left_alone(ctx: CaseView, node: str) -> str:
    """Why a node may be neither spare nor peer of a test; it continues the name."""
    if node in ctx.state.vetoes:
        return "is held by a person"
    return label_veto(ctx, node).removeprefix("it ")
