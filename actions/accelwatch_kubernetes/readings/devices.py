"""Our rules for devices, what drivers publish of a node, and who uses the devices that are out."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import quote

from accelwatch.action.intent import Intent, JobKey
from accelwatch.action.kit.effects import Reading
from accelwatch.api_client.kubernetes.errors import ApiError
from accelwatch_kubernetes.access.answers import unavailable_if_unread
from accelwatch_kubernetes.devices.claims import ResourceClaim, claims_of, holders_of, users
from accelwatch_kubernetes.devices.own_keys import RULES, SLICES, VERSION
from accelwatch_kubernetes.devices.taint_rule import (
    GROUP,
    HUB,
    MANAGED_BY,
    OURS,
    RESOURCE,
    RULE_VERSIONS,
    TaintRule,
    rules_of,
    rules_on,
)
from accelwatch_kubernetes.drain.leaving import rule_of
from accelwatch_kubernetes.marks.hold import label_value
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.objects.resource_slice import SLICE_VERSIONS, slices_of
from accelwatch_kubernetes.readings.owners import resolve_owners
from accelwatch_kubernetes.rows import Access

# The pods of a node. Raises ActionUnavailableError.
ReadPods = Callable[[], Awaitable[Sequence[Pod]]]

_NOT_FOUND = 404
_EMPTY = '{"items":[]}'


async def read_devices(access: Access, intent: Intent, _: Mapping[str, str]) -> Reading:
    """What an intent about devices needs; nothing where the options leave devices alone."""
    if access.options.devices is None:
        return Reading()
    version, rules = await read_rules(access)
    query = {"fieldSelector": f"spec.nodeName={intent.node}"}
    slices = await _listed(access, "resourceslices", SLICE_VERSIONS, query)
    with unavailable_if_unread():
        # Who proposes reads them from the observation.
        rules_of(rules), slices_of(slices)
    return Reading(own={VERSION: version, RULES: rules, SLICES: slices})


async def read_rules(access: Access) -> tuple[str, str]:
    """The version that serves rules, and ours as JSON. Raises ActionUnavailableError."""
    version = await _served(access, RESOURCE, RULE_VERSIONS)
    hub = label_value(access.options.hub) or OURS
    query = {"labelSelector": f"{MANAGED_BY}={OURS},{HUB}={hub}"}
    return version, await _listed(access, RESOURCE, (version,), query) if version else _EMPTY


async def read_claims(access: Access) -> tuple[ResourceClaim, ...]:
    """Those of the whole cluster: once for all nodes. Raises ActionUnavailableError."""
    with unavailable_if_unread():
        return claims_of(await _listed(access, "resourceclaims", SLICE_VERSIONS, {}))


async def claims_of_device(
    access: Access, node: str, device: str, pods: Sequence[Pod]
) -> dict[str, dict[str, frozenset[str]]]:
    """Which claims of some pods have a device of a node: by namespace as `claims.holders_of`.

    Empty where no drain rule goes by devices. Raises ActionUnavailableError.
    """
    namespaces = {
        pod.metadata.namespace
        for pod in pods
        if device and pod.spec.resource_claims and rule_of(pod, access.options).device_only
    }
    if not namespaces:
        return {}
    query = {"fieldSelector": f"spec.nodeName={node}"}
    with unavailable_if_unread():
        slices = slices_of(await _listed(access, "resourceslices", SLICE_VERSIONS, query))
        return {
            namespace: holders_of(
                device,
                claims_of(await _listed(access, "resourceclaims", SLICE_VERSIONS, {}, namespace)),
                slices,
            )
            for namespace in sorted(namespaces)
        }


async def device_jobs(
    access: Access,
    rules: Sequence[TaintRule],
    claims: Sequence[ResourceClaim],
    read_pods: ReadPods,
    *,
    as_far_as_answered: bool,
) -> tuple[JobKey, ...] | None:
    """Jobs that use the devices of some rules of a node; None where they are unknown.

    `read_pods` gives the pods of the node, `as_far_as_answered` as in `resolve_owners`.
    Raises ActionUnavailableError.
    """
    reserved = users(claims, {rule.device for rule in rules if rule.device is not None})
    if not reserved:
        return ()
    pods = {pod.uid: pod for pod in await read_pods()}
    uids = {uid for _, _, uid in reserved}
    if not uids <= pods.keys():
        # One that is not bound yet, or is over or gone: its claim is released in a moment.
        return None
    using = [pods[uid] for uid in sorted(uids) if not pods[uid].is_over]
    await resolve_owners(access, using, as_far_as_answered=as_far_as_answered)
    jobs = (access.owners.job_of_pod(pod) for pod in using)
    return tuple(sorted({job.key for job in jobs if job is not None}))


async def _listed(
    access: Access,
    resource: str,
    versions: Sequence[str],
    query: Mapping[str, str],
    namespace: str = "",
) -> str:
    version = await _served(access, resource, versions)
    if not version:
        return _EMPTY
    inside = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    with unavailable_if_unread():
        try:
            body = await access.client.get(f"/apis/{GROUP}/{version}{inside}/{resource}", query)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                access.versions.forget()
            raise
        return body.decode()


async def _served(access: Access, resource: str, versions: Sequence[str]) -> str:
    """The newest of some versions that has a resource; empty where none has."""
    with unavailable_if_unread():
        served = await access.versions.of_group(GROUP)
        for version in versions:
            if version in served and resource in await access.versions.resources(GROUP, version):
                return version
    return ""


async def rules_by_node(access: Access) -> dict[str, tuple[TaintRule, ...]]:
    """Our rules by node. Raises ActionUnavailableError."""
    if access.options.devices is None:
        return {}
    _, text = await read_rules(access)
    with unavailable_if_unread():
        # None would mean devices that a person has freed.
        rules = rules_of(text)
    nodes = {rule.hold.node for rule in rules if rule.hold is not None}
    return {node: rules_on(rules, node, access.options.hub) for node in nodes}
