"""Steps of a fence: power off, and the taint by which a cluster replaces the pods of such a node."""

from collections.abc import Mapping

from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.observed import HoldState
from accelwatch.action.power_switch import power_off_kind
from accelwatch.action.step import Committed, Report, Step
from accelwatch.base.errors import WithdrawnError
from accelwatch_kubernetes.access.answers import DONE
from accelwatch_kubernetes.drain import steps
from accelwatch_kubernetes.effects.node_patch import patched
from accelwatch_kubernetes.marks.hold import Hold, hold_of
from accelwatch_kubernetes.marks.hold_state import hold_state_of
from accelwatch_kubernetes.marks.out_of_service import (
    has_our_taint,
    in_service_patch,
    is_tainted_by_others,
    out_of_service_patch,
)
from accelwatch_kubernetes.marks.patches import Patch
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.rows import Access, Effect
from accelwatch_kubernetes.settings.options import KubernetesOptions


def _our_hold(access: Access, node: Node) -> Hold:
    """Raises ChangedError where the node is not held by us."""
    hold = hold_of(node)
    if hold is None or hold_state_of(node, access.options) is not HoldState.OURS:
        raise ChangedError(f"{node.name} is not held by us any more")
    return hold


async def _power_off(access: Access, step: Step, operation: Committed) -> Report:
    name = step.arguments["node"]
    node = await access.nodes.node(name)
    if node is None or node.metadata.uid != step.precondition["uid"]:
        raise ChangedError(f"the cluster has no node {name} any more, or another one")
    _our_hold(access, node)
    if node.ready:
        raise ChangedError(f"the kubelet of {name} answers again")
    if why := operation.withdrawn():
        raise WithdrawnError(why)
    return await access.power.turn_off(name)


async def _out_of_service(access: Access, step: Step, operation: Committed) -> Report:
    name = step.arguments["node"]
    # The proof is read again: the node may have been powered on since it was proposed.
    if not await access.power.is_off(name):
        raise ChangedError(f"{name} is not known to be off any more")

    def decide(node: Node) -> Patch | None:
        hold = _our_hold(access, node)
        if node.ready:
            raise ChangedError(f"the kubelet of {name} answers again")
        if is_tainted_by_others(node):
            return None
        return (
            None
            if has_our_taint(node)
            else out_of_service_patch(node, hold, step.arguments["proof"])
        )

    await patched(access, step, operation, decide)
    return DONE


async def _in_service(access: Access, step: Step, operation: Committed) -> Report:
    def decide(node: Node) -> Patch | None:
        hold = hold_of(node)
        if hold is None or not has_our_taint(node) or hold.by != access.options.hub:
            return None
        return in_service_patch(node, hold)

    await patched(access, step, operation, decide)
    return DONE


def _is_off(step: Step, context: ObservedContext) -> bool | None:
    return step.arguments["node"] in context.off


def _is_out_of_service(_: Step, context: ObservedContext) -> bool | None:
    if context.node is None:
        return None
    return has_our_taint(context.node) or is_tainted_by_others(context.node)


def _is_in_service(_: Step, context: ObservedContext) -> bool | None:
    return context.node is None or not has_our_taint(context.node)


def fence_effects(options: KubernetesOptions) -> Mapping[str, Effect]:
    """By the kind of a step; powering off may run as long as the site's command."""
    return {
        steps.POWER_OFF: Effect(
            kind=power_off_kind(options.power_timeout_s), perform=_power_off, is_observed=_is_off
        ),
        steps.OUT_OF_SERVICE: Effect(
            kind=steps.KINDS[steps.OUT_OF_SERVICE],
            perform=_out_of_service,
            is_observed=_is_out_of_service,
        ),
        steps.IN_SERVICE: Effect(
            kind=steps.KINDS[steps.IN_SERVICE], perform=_in_service, is_observed=_is_in_service
        ),
    }
