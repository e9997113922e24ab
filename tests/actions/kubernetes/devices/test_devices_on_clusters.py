"""A device is taken out and given back on a cluster that runs, by the engine's own pursuits."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from accelwatch.action.contract import ActionUnavailableError, QuarantinesDevices
from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.action.step import RefusalKind
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import ApiError
from accelwatch.api_client.kubernetes.server import Server
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch_kubernetes import KubernetesAction
from accelwatch_kubernetes.steps import TAINT_DEVICE, UNTAINT_DEVICE
from accelwatch_lab.cluster.kubernetes.access import Account
from accelwatch_lab.cluster.kubernetes.api_server.faults import Fault
from support.kubernetes.action_on_cluster import (
    Pursuits,
    action_on,
    change_node,
    intent,
    make_node,
    node_of,
    what_counts,
)
from support.kubernetes.devices import GPU_0, GPU_1, NVIDIA, resource_slice
from support.kubernetes.served import ServedCluster
from support.kubernetes.stand_in import StandInCluster

RULES = "/apis/resource.k8s.io/v1/devicetaintrules"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
RELEASE = IntentKind.RELEASE
Object = dict[str, Any]
Scenario = Callable[[KubernetesAction], Awaitable[None]]


def run(cluster: ServedCluster, scenario: Scenario, effect: str = "NoSchedule") -> None:
    """With a node that has two devices."""

    async def all_of_it() -> None:
        await cluster.needs(RULES)
        await make_node(cluster)
        await cluster.ask("POST", SLICES, resource_slice())
        async with action_on(cluster, devices={"effect": effect}) as action:
            await scenario(action)

    asyncio.run(all_of_it())


async def rules_in(cluster: ServedCluster) -> list[Object]:
    found: list[Object] = (await cluster.ask("GET", RULES))["items"]
    return found


async def shown(action: KubernetesAction) -> NodeObservation:
    (found,) = [node for node in await action.observe_all() if node.name == "n1"]
    return found


def requested(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Mapping[str, str]]]:
    """The path and query of each request from now on that reads."""
    get = KubernetesClient.get
    requests: list[tuple[str, Mapping[str, str]]] = []

    async def recording(
        client: KubernetesClient,
        path: str,
        query: Mapping[str, str] | None = None,
        **options: Any,
    ) -> bytes:
        requests.append((path, query or {}))
        return await get(client, path, query, **options)

    monkeypatch.setattr(KubernetesClient, "get", recording)
    return requests


async def use_device(cluster: ServedCluster, node: str, *owners: Object) -> None:
    """A pod on a node that has its first device, by a claim of its own."""
    name = f"of-{node}"
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [request]}},
    }
    await cluster.ask("POST", CLAIMS, claim)
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "ownerReferences": list(owners)},
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "example.com/train:1"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
        },
    }
    pod = await cluster.ask("POST", PODS, body)
    result = {"request": "gpu", "driver": NVIDIA, "pool": node, "device": "gpu-0"}
    reserved = {"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [reserved]}
    await cluster.ask("PATCH", f"{CLAIMS}/{name}/status", {"status": status}, "merge-patch+json")


async def jobs_of_devices(action: KubernetesAction, nodes: int = 1) -> list[str]:
    """The jobs of the devices that are out, once some nodes have one: a watch comes after the write."""
    async with asyncio.timeout(20):
        while True:
            shown_now = await action.observe_all()
            jobs = [job.id for node in shown_now for job in node.device_jobs or ()]
            if len(jobs) == nodes:
                return jobs
            await asyncio.sleep(0.02)


def out(*devices: Any) -> Any:
    return intent(IntentKind.QUARANTINE, devices=devices or (GPU_0,))


def test_a_device_is_out_and_back(cluster: ServedCluster) -> None:
    async def scenario(action: KubernetesAction) -> None:
        assert isinstance(action, QuarantinesDevices)
        assert action.quarantines_devices
        before = await node_of(cluster)
        pursuits = Pursuits(action)
        wanted = out()
        ended = await pursuits.pursue(wanted)
        assert ended.result is PursuitResult.ACHIEVED, ended.text
        assert pursuits.done(wanted) == [TAINT_DEVICE]
        (rule,) = await rules_in(cluster)
        selector = {"driver": NVIDIA, "pool": "n1", "device": "gpu-0"}
        assert rule["spec"]["deviceSelector"] == selector
        assert rule["spec"]["taint"]["effect"] == "NoSchedule"
        seen = await shown(action)
        assert (seen.hold_state, seen.quarantined_devices) == (HoldState.OURS, (GPU_0.id,))
        assert seen.annotation == wanted.mark
        assert seen.device_jobs == ()
        assert ended.observed is not None
        assert ended.observed.node is not None
        assert ended.observed.node.quarantined_devices == (GPU_0.id,)

        back = intent(RELEASE)
        ended = await pursuits.pursue(back)
        assert ended.result is PursuitResult.ACHIEVED, ended.text
        assert pursuits.done(back) == [UNTAINT_DEVICE]
        assert await rules_in(cluster) == []
        assert (await shown(action)).hold_state is HoldState.OPEN
        assert what_counts(await node_of(cluster)) == what_counts(before)

    run(cluster, scenario)


def test_a_second_device_and_then_the_whole_node(cluster: ServedCluster) -> None:
    async def scenario(action: KubernetesAction) -> None:
        pursuits = Pursuits(action)
        await pursuits.pursue(out())
        await pursuits.pursue(out(GPU_0, GPU_1))
        assert len(await rules_in(cluster)) == 2
        assert (await shown(action)).quarantined_devices == (GPU_0.id, GPU_1.id)
        await pursuits.pursue(intent(IntentKind.QUARANTINE))
        seen = await shown(action)
        assert (seen.hold_state, seen.quarantined_devices) == (HoldState.OURS, ())
        ended = await pursuits.pursue(intent(RELEASE))
        assert ended.result is PursuitResult.ACHIEVED, ended.text
        assert await rules_in(cluster) == []
        assert (await shown(action)).hold_state is HoldState.OPEN

    run(cluster, scenario)


def test_the_claims_of_a_cluster_are_read_once_for_all_its_nodes(
    cluster: ServedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(action: KubernetesAction) -> None:
        await make_node(cluster, "n2")
        await cluster.ask("POST", SLICES, resource_slice(node_name="n2"))
        await Pursuits(action).pursue(out())
        ended = await Pursuits(action).pursue(intent(IntentKind.QUARANTINE, "n2", devices=(GPU_0,)))
        assert ended.result is PursuitResult.ACHIEVED, ended.text
        requests = requested(monkeypatch)
        nodes = await action.observe_all()
        assert len([node for node in nodes if node.quarantined_devices]) == 2
        assert len([path for path, _ in requests if path.endswith("/resourceclaims")]) == 1

    run(cluster, scenario)


def test_who_deletes_our_rule_gives_the_device_back(cluster: ServedCluster) -> None:
    async def scenario(action: KubernetesAction) -> None:
        await Pursuits(action).pursue(out())
        (rule,) = await rules_in(cluster)
        await cluster.ask("DELETE", f"{RULES}/{rule['metadata']['name']}")
        assert (await shown(action)).hold_state is HoldState.OPEN

    run(cluster, scenario)


def test_a_cordon_of_somebody_else_stays_when_the_device_is_given_back(
    cluster: ServedCluster,
) -> None:
    async def scenario(action: KubernetesAction) -> None:
        pursuits = Pursuits(action)
        await pursuits.pursue(out())
        await change_node(cluster, "n1", {"spec": {"unschedulable": True}})
        assert (await shown(action)).hold_state is HoldState.OURS
        ended = await pursuits.pursue(intent(IntentKind.QUARANTINE, incident="inc-1"))
        assert ended.refusal is RefusalKind.NOT_ALLOWED
        ended = await pursuits.pursue(intent(RELEASE))
        assert ended.result is PursuitResult.ACHIEVED, ended.text
        assert (await node_of(cluster))["spec"]["unschedulable"] is True
        assert (await shown(action)).hold_state is HoldState.FOREIGN

    run(cluster, scenario)


def test_whose_the_device_is_is_known_once_a_pod_has_it(cluster: ServedCluster) -> None:
    async def scenario(action: KubernetesAction) -> None:
        await Pursuits(action).pursue(out())
        assert (await shown(action)).device_jobs == ()
        await use_device(cluster, "n1")
        assert await jobs_of_devices(action) == ["default/Pod/of-n1"]
        (job,) = (await shown(action)).device_jobs or ()
        assert job.cluster == "cluster"

    run(cluster, scenario)


def test_a_look_at_all_nodes_makes_no_request_per_node(
    cluster: ServedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(action: KubernetesAction) -> None:
        await make_node(cluster, "n2")
        await cluster.ask("POST", SLICES, resource_slice(node_name="n2"))
        for name in ("n1", "n2"):
            await Pursuits(action).pursue(intent(IntentKind.QUARANTINE, name, devices=(GPU_0,)))
            await use_device(cluster, name)
        await jobs_of_devices(action, nodes=2)
        requests = requested(monkeypatch)
        await jobs_of_devices(action, nodes=2)
        assert requests
        selectors = [query.get("fieldSelector", "") for _, query in requests]
        assert not [text for text in selectors if "spec.nodeName=" in text]
        assert not [path for path, _ in requests if path.endswith(("/n1", "/n2"))]

    run(cluster, scenario)


def test_an_owner_that_the_server_cannot_show_hides_no_node_with_a_device_out(
    bare_stand_in: StandInCluster,
) -> None:
    """Whoever acts upon the node has to read it all the same."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "llm", "uid": "uid-of-llm"}

    async def scenario(action: KubernetesAction) -> None:
        await Pursuits(action).pursue(out())
        fault = Fault(method="GET", path="/jobs/llm", status=500, times=None)
        bare_stand_in.server.faults.add(fault)
        await use_device(bare_stand_in, "n1", {**owner, "controller": True})
        assert await jobs_of_devices(action) == ["default/Job/llm"]
        with pytest.raises(ActionUnavailableError, match="500"):
            await action.observe(out())

    run(bare_stand_in, scenario)


def test_a_node_without_a_driver_says_what_remains(cluster: ServedCluster) -> None:
    async def scenario(action: KubernetesAction) -> None:
        await make_node(cluster, "n2")
        plain = intent(IntentKind.QUARANTINE, "n2", devices=(GPU_0,))
        ended = await Pursuits(action).pursue(plain)
        assert ended.refusal is RefusalKind.IMPOSSIBLE
        assert "n2 has no DRA driver" in ended.text
        assert await rules_in(cluster) == []

    run(cluster, scenario)


def test_trap_06_a_rule_of_older_servers_is_refused_and_not_stored_empty(
    cluster: ServedCluster,
) -> None:
    """A server drops selectors that it does not know: an empty one would taint every device."""

    async def scenario(_: KubernetesAction) -> None:
        access = cluster.access(Account.ADMIN)
        server = Server(
            base=access.url,
            ca_file=str(access.ca_file),
            token_file=str(cluster.token_file(Account.ADMIN)),
        )
        client = KubernetesClient(server)
        old = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "old"},
            "spec": {
                "deviceSelector": {"selectors": [{"cel": {"expression": "true"}}]},
                "taint": {"key": "example.com/x", "effect": "NoExecute"},
            },
        }
        try:
            with pytest.raises(ApiError) as refused:
                await client.create(RULES, old)
        finally:
            await client.close()
        assert refused.value.status == 400
        assert await rules_in(cluster) == []

    run(cluster, scenario)


def test_effect_none_reports_whom_it_would_evict(cluster: ServedCluster) -> None:
    async def scenario(action: KubernetesAction) -> None:
        pursuits = Pursuits(action)
        ended = await pursuits.pursue(out())
        assert ended.refusal is RefusalKind.NOT_ALLOWED
        (rule,) = await rules_in(cluster)
        assert rule["spec"]["taint"]["effect"] == "None"
        assert (await shown(action)).hold_state is HoldState.OPEN

    run(cluster, scenario, effect="None")
