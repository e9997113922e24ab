"""Steps that create and delete our DeviceTaintRules; no other object is written."""

from collections.abc import Mapping
from urllib.parse import quote

from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.step import Committed, Report, ReportStatus, Step, StepKind
from accelwatch.api_client.kubernetes.errors import ApiError, decoded
from accelwatch_kubernetes.access.answers import DONE, write_errors
from accelwatch_kubernetes.devices.drivers import PublishedDevice
from accelwatch_kubernetes.devices.own_keys import RULES
from accelwatch_kubernetes.devices.taint_rule import (
    GROUP,
    RESOURCE,
    DeviceHold,
    TaintRule,
    new_rule,
    rules_of,
    taint_of_rule,
)
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.rows import Access, Effect
from accelwatch_kubernetes.steps import TAINT_DEVICE, UNTAINT_DEVICE

_NOT_FOUND, _CONFLICT = 404, 409
# By a name that is the same for the same device: a second request finds what the first has made. One
# that got no answer may come later, but only within the server's own time limit.
_RULE = StepKind(
    idempotent=True, reversible=True, timeout_s=20.0, settle_s=10.0, observe_for_s=1.0, at_once=16
)


async def _taint(access: Access, step: Step, operation: Committed) -> Report:
    arguments = step.arguments
    device = PublishedDevice(arguments["driver"], arguments["pool"], arguments["device"])
    hold = DeviceHold(
        node=arguments["node"],
        device=arguments["id"],
        incident=arguments["incident"],
        token=operation.annotation.token,
        by=access.options.hub,
        since=access.clock.wall(),
        rule=arguments["rule"],
        reason=arguments["reason"],
    )
    collection = _collection(step)
    if step.precondition["uid"]:
        return await _change(access, step, operation)
    body = new_rule(device, hold, access.options, arguments["version"])
    with write_errors():
        answer = await access.client.create(collection, body, withdrawn=operation.withdrawn)
    stored = decoded(answer, TaintRule)
    if stored.device == device:
        return DONE
    # What an admission webhook has made of it would taint other devices, too.
    await access.client.delete(
        f"{collection}/{quote(stored.metadata.name, safe='')}", uid=stored.metadata.uid
    )
    text = "the server has stored the rule for other devices; it is deleted again"
    return Report(status=ReportStatus.REFUSED, text=text)


async def _change(access: Access, step: Step, operation: Committed) -> Report:
    """Another effect for a rule of ours, where it is still the one that was seen."""
    path = _path(step)
    with write_errors():
        rule = decoded(await access.client.get(path), TaintRule)
        if rule.metadata.uid != step.precondition["uid"]:
            raise ChangedError(f"{rule.metadata.name} is another rule by now")
        patch = {
            "metadata": {"resourceVersion": rule.metadata.resource_version},
            "spec": {"taint": taint_of_rule(step.arguments["rule"], access.options)},
        }
        await access.client.patch(path, patch, withdrawn=operation.withdrawn)
    return DONE


async def _untaint(access: Access, step: Step, operation: Committed) -> Report:
    path = _path(step)
    try:
        with write_errors():
            await access.client.delete(
                path, uid=step.precondition["uid"], withdrawn=operation.withdrawn
            )
    except ChangedError as error:
        cause = error.__cause__
        if isinstance(cause, ApiError) and cause.status == _NOT_FOUND:
            return DONE
        raise
    return DONE


def _collection(step: Step) -> str:
    return f"/apis/{GROUP}/{step.arguments['version']}/{RESOURCE}"


def _path(step: Step) -> str:
    return f"{_collection(step)}/{quote(step.arguments['name'], safe='')}"


def _rules(context: ObservedContext) -> Mapping[str, TaintRule] | None:
    text = context.own.get(RULES)
    return None if text is None else {rule.metadata.name: rule for rule in rules_of(text)}


def _is_tainted(step: Step, context: ObservedContext) -> bool | None:
    rules = _rules(context)
    if rules is None:
        return None
    rule = rules.get(step.arguments["name"])
    return rule is not None and rule.spec.taint.effect == step.arguments["effect"]


def _is_untainted(step: Step, context: ObservedContext) -> bool | None:
    rules = _rules(context)
    if rules is None:
        return None
    rule = rules.get(step.arguments["name"])
    return rule is None or rule.metadata.uid != step.precondition["uid"]


DEVICE_EFFECTS: Mapping[str, Effect] = {
    TAINT_DEVICE: Effect(kind=_RULE, perform=_taint, is_observed=_is_tainted),
    UNTAINT_DEVICE: Effect(kind=_RULE, perform=_untaint, is_observed=_is_untainted),
}
