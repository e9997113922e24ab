"""What proves that nothing runs on a node any more; time that has passed does not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import Achieved, Refusal, RefusalKind, Step, Wait
from accelwatch.plugins.options import checked
from accelwatch_kubernetes.marks.hold import hold_of
from accelwatch_kubernetes.marks.hold_state import foreign_claims
from accelwatch_kubernetes.marks.out_of_service import (
    has_our_taint,
    in_service_patch,
    is_tainted_by_others,
    out_of_service_patch,
)
from accelwatch_kubernetes.marks.patches import release_patch
from accelwatch_kubernetes.proposals.fencing import ANSWERS_S, propose_fence
from accelwatch_kubernetes.settings.options import KubernetesOptions
from support.kubernetes.action_on_cluster import action_on, make_node
from support.kubernetes.action_on_cluster import intent as wanted
from support.kubernetes.moving import fence_context, held_node
from support.kubernetes.nodes import GPU, OPTIONS, Object, intent, node, parsed, stored
from support.kubernetes.pods import pod
from support.kubernetes.stand_in import StandInCluster, stand_in_cluster

SWITCH = checked({"power_off": ["/bmc", "off"], "power_state": ["/bmc", "off?"]}, KubernetesOptions)
WANTED = intent(IntentKind.FENCE, boot_id="boot-of-n1")
OUT = "node.kubernetes.io/out-of-service"


def keys(document: Object) -> list[str]:
    return [taint["key"] for taint in document["spec"].get("taints", [])]


def test_trap_24_a_silent_kubelet_is_not_believed_to_be_dead_however_long() -> None:
    shown = held_node(ready="Unknown", since=0.0)
    waits = propose_fence(WANTED, fence_context(shown, [pod()]))
    assert isinstance(waits, Wait)
    assert waits.text.startswith("unsafe: the kubelet of n1 does not answer")


def test_its_power_is_switched_off_where_the_site_can() -> None:
    step = propose_fence(WANTED, fence_context(held_node(ready="Unknown"), options=SWITCH))
    assert isinstance(step, Step)
    assert (step.kind, step.precondition) == ("power_off", {"uid": "uid-of-n1"})


def test_a_node_that_is_not_ours_is_not_switched_off() -> None:
    refusal = propose_fence(WANTED, fence_context(node(ready="Unknown"), options=SWITCH))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.FOREIGN


def test_trap_24_with_the_proof_alone_it_is_tainted_out_of_service_and_that_is_removed_again() -> (
    None
):
    shown = held_node(ready="Unknown")
    step = propose_fence(WANTED, fence_context(shown, [pod()], off=True))
    assert isinstance(step, Step)
    assert (step.kind, step.arguments["proof"]) == ("out_of_service", "its power is off")
    hold = hold_of(parsed(shown))
    assert hold is not None
    tainted = stored(shown, out_of_service_patch(parsed(shown), hold, "its power is off"))
    assert OUT in keys(tainted)
    assert has_our_taint(parsed(tainted))
    waits = propose_fence(WANTED, fence_context(tainted, [pod(ending=True)], off=True))
    assert isinstance(waits, Wait)
    off = propose_fence(WANTED, fence_context(tainted, [], off=True))
    assert isinstance(off, Step)
    assert off.kind == "in_service"
    noted = hold_of(parsed(tainted))
    assert noted is not None
    after = stored(tainted, in_service_patch(parsed(tainted), noted), version="9")
    assert keys(after) == keys(shown)
    assert not has_our_taint(parsed(after))
    assert isinstance(propose_fence(WANTED, fence_context(after, [], off=True)), Achieved)


def test_the_volumes_of_a_dead_node_are_detached_before_the_taint_goes() -> None:
    shown = held_node(ready="Unknown", out_of_service="its power is off", volumes=["v"])
    assert isinstance(propose_fence(WANTED, fence_context(shown, [], off=True)), Wait)


def test_trap_24_a_node_that_is_back_has_our_taint_removed_at_once() -> None:
    shown = held_node(out_of_service="its power is off")
    step = propose_fence(WANTED, fence_context(shown, [pod()]))
    assert isinstance(step, Step)
    assert step.kind == "in_service"


def test_trap_24_a_release_takes_all_of_ours_off_and_nothing_else() -> None:
    ours = held_node(out_of_service="its power is off")
    hold = hold_of(parsed(ours))
    assert hold is not None
    assert foreign_claims(parsed(ours), hold, OPTIONS) == []
    assert keys(stored(ours, release_patch(parsed(ours), hold))) == []
    theirs = held_node()
    theirs["spec"]["taints"] += [GPU, {"key": OUT, "effect": "NoExecute"}]
    hold = hold_of(parsed(theirs))
    assert hold is not None
    assert is_tainted_by_others(parsed(theirs))
    assert keys(stored(theirs, release_patch(parsed(theirs), hold))) == ["nvidia.com/gpu", OUT]


def test_a_kubelet_that_answers_again_proves_it_only_after_its_pods_had_time_to_end() -> None:
    waits = propose_fence(WANTED, fence_context(held_node(), answers_for=ANSWERS_S - 1))
    assert isinstance(waits, Wait)
    assert isinstance(
        propose_fence(WANTED, fence_context(held_node(), answers_for=ANSWERS_S)), Achieved
    )


def test_a_reboot_proves_it_at_once() -> None:
    rebooted = held_node(boot="another")
    assert isinstance(propose_fence(WANTED, fence_context(rebooted)), Achieved)
    unknown = intent(IntentKind.FENCE, boot_id="")
    assert isinstance(propose_fence(unknown, fence_context(rebooted)), Wait)


def test_a_pod_that_is_still_terminating_proves_the_contrary() -> None:
    rebooted = held_node(boot="another")
    waits = propose_fence(WANTED, fence_context(rebooted, [pod(ending=True)], answers_for=999.0))
    assert isinstance(waits, Wait)


def test_pods_of_the_node_itself_are_not_waited_for() -> None:
    daemon = pod("dcgm", owner=("apps/v1", "DaemonSet", "dcgm"))
    shown = held_node(ready="Unknown")
    assert isinstance(propose_fence(WANTED, fence_context(shown, [daemon], off=True)), Achieved)


@pytest.mark.parametrize(("off", "kind"), [(True, Achieved), (False, Refusal)])
def test_trap_24_a_node_object_that_is_gone_proves_nothing(off: bool, kind: type) -> None:
    ended = propose_fence(WANTED, fence_context(None, off=off))
    assert isinstance(ended, kind)
    if isinstance(ended, Refusal):
        assert ended.kind is RefusalKind.UNSAFE


def test_where_the_job_keeps_a_second_copy_off_no_proof_is_needed() -> None:
    by_job = intent(IntentKind.FENCE, fenced_by_job=True)
    assert isinstance(propose_fence(by_job, fence_context(held_node(ready="Unknown"))), Achieved)


def test_the_switch_is_queried_for_a_node_that_no_kubelet_has_reported(tmp_path: Path) -> None:
    """It is switched off like a silent one: unasked, that would never be seen and be done for ever."""

    async def run(cluster: StandInCluster) -> None:
        await make_node(cluster)
        switch: Any = {"power_off": ["/bin/true"], "power_state": ["/bin/true"]}
        async with action_on(cluster, **switch) as action:
            assert (await action.observe(wanted(IntentKind.FENCE))).proven_dead

    with stand_in_cluster(tmp_path, ()) as cluster:
        asyncio.run(run(cluster))
