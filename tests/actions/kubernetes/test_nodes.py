"""The action on the nodes of a cluster: what it writes, and what becomes of what others write."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from accelwatch.action.contract import ActionContext, ActionUnavailableError
from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Committed, RefusalKind, Report, ReportStatus, Step
from accelwatch.remediation.execution.operations.ledger import rehearsal
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch_kubernetes import KubernetesAction
from accelwatch_kubernetes.marks.hold import DRAWN, HOLD
from accelwatch_kubernetes.proposals.quarantine import UID
from accelwatch_lab.cluster.kubernetes.access import Account
from support.kubernetes.action_on_cluster import (
    NODES,
    Object,
    Pursuits,
    action_on,
    change_node,
    intent,
    make_node,
    node_of,
    what_counts,
)
from support.kubernetes.nodes import GPU
from support.kubernetes.served import ServedCluster
from support.kubernetes.stand_in import StandInCluster

OURS = "accelwatch.io/quarantine"
QUARANTINE, RELEASE = IntentKind.QUARANTINE, IntentKind.RELEASE


def taints(document: Object) -> list[str]:
    return [taint["key"] for taint in document["spec"].get("taints", [])]


def ours(document: Object) -> list[Object]:
    return [taint for taint in document["spec"].get("taints", []) if taint["key"] == OURS]


@pytest.mark.parametrize("options", [{}, {"cordon": True}, {"no_execute": True}])
def test_a_node_is_held_and_given_back_as_it_was(
    cluster: ServedCluster, options: dict[str, Any]
) -> None:
    async def run() -> None:
        await make_node(cluster, taints=[GPU])
        before = await node_of(cluster)
        async with action_on(cluster, **options) as action:
            pursuits = Pursuits(action)
            held = await pursuits.pursue(intent(QUARANTINE))
            assert held.result is PursuitResult.ACHIEVED
            during = await node_of(cluster)
            (taint,) = ours(during)
            effect = "NoExecute" if options.get("no_execute") else "NoSchedule"
            assert (taint["value"], taint["effect"]) == ("nvidia.gpu.lost", effect)
            assert during["spec"].get("unschedulable", False) is options.get("cordon", False)
            assert json.loads(during["metadata"]["annotations"][HOLD])["incident"] == "inc-1"
            wanted = intent(RELEASE, original=dict(held.original))
            assert (await pursuits.pursue(wanted)).result is PursuitResult.ACHIEVED
            assert what_counts(await node_of(cluster)) == what_counts(before)

    asyncio.run(run())


def test_all_nodes_are_seen(cluster: ServedCluster) -> None:
    async def run() -> None:
        await make_node(cluster, "n1")
        await make_node(cluster, "n2", unschedulable=True)
        async with action_on(cluster) as action:
            await Pursuits(action).pursue(intent(QUARANTINE))
            seen = {node.name: node.hold_state for node in await action.observe_all()}
        assert seen == {"n1": HoldState.OURS, "n2": HoldState.FOREIGN}

    asyncio.run(run())


def meddled(
    action: KubernetesAction, before: Callable[[], Any] | None = None, after: Any = None
) -> KubernetesAction:
    """One beside whom somebody does something right before or after the first step."""
    perform = action.perform
    left = [before]

    async def and_then(step: Step, operation: Committed) -> Report:
        if (meddle := left.pop() if left else None) is not None:
            await meddle()
        report = await perform(step, operation)
        if after is not None:
            await after()
        return report

    action.perform = and_then  # type: ignore[method-assign]
    return action


def test_trap_14_what_somebody_writes_at_the_same_time_stays(cluster: ServedCluster) -> None:
    """The patch is refused with 409, the node read again, and the taint set beside theirs."""
    theirs = {"key": "example.com/theirs", "effect": "NoSchedule"}

    async def write() -> None:
        there = await node_of(cluster)
        listed = [*there["spec"].get("taints", []), theirs]
        await change_node(cluster, "n1", {"spec": {"taints": listed}})

    async def run() -> None:
        await make_node(cluster)
        async with action_on(cluster) as action:
            pursuits = Pursuits(meddled(action, write))
            wanted = intent(QUARANTINE)
            assert (await pursuits.pursue(wanted)).result is PursuitResult.ACHIEVED
            assert pursuits.done(wanted) == ["taint"]
        assert {"example.com/theirs", OURS} <= set(taints(await node_of(cluster)))

    asyncio.run(run())


def test_trap_01_who_cordons_at_the_same_time_has_the_node(cluster: ServedCluster) -> None:
    async def cordon() -> None:
        await change_node(cluster, "n1", {"spec": {"unschedulable": True}})

    async def run() -> None:
        await make_node(cluster)
        async with action_on(cluster) as action:
            ended = await Pursuits(meddled(action, cordon)).pursue(intent(QUARANTINE))
        assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
        document = await node_of(cluster)
        assert not ours(document)
        assert HOLD not in document["metadata"].get("annotations", {})

    asyncio.run(run())


def test_trap_03_who_removes_the_taint_right_after_us_ends_it(cluster: ServedCluster) -> None:
    async def remove() -> None:
        there = await node_of(cluster)
        left = [taint for taint in there["spec"]["taints"] if taint["key"] != OURS]
        await change_node(cluster, "n1", {"spec": {"taints": left}})

    async def run() -> None:
        await make_node(cluster)
        async with action_on(cluster) as action:
            pursuits = Pursuits(meddled(action, after=remove))
            ended = await pursuits.pursue(intent(QUARANTINE))
            assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.OVERRIDDEN)
            assert ended.was_applied
        assert not ours(await node_of(cluster))

    asyncio.run(run())


def test_trap_24_a_node_made_again_is_not_touched_by_the_old_hold(cluster: ServedCluster) -> None:
    async def make_again() -> None:
        await cluster.ask("DELETE", f"{NODES}/n1")
        await make_node(cluster)

    async def run() -> None:
        await make_node(cluster)
        async with action_on(cluster) as action:
            pursuits = Pursuits(action)
            held = await pursuits.pursue(intent(QUARANTINE))
            await make_again()
            (seen,) = await action.observe_all()
            assert (seen.hold_state, seen.annotation) == (HoldState.OPEN, None)
            before = await node_of(cluster)
            wanted = intent(RELEASE, original=dict(held.original))
            released = await pursuits.pursue(wanted)
            assert (released.result, pursuits.done(wanted)) == (PursuitResult.ACHIEVED, [])
            assert (await node_of(cluster))["metadata"]["uid"] == before["metadata"]["uid"]

    asyncio.run(run())


def test_a_node_made_again_between_look_and_patch_is_not_patched(cluster: ServedCluster) -> None:
    async def make_again() -> None:
        await cluster.ask("DELETE", f"{NODES}/n1")
        await make_node(cluster)

    async def run() -> None:
        first = await make_node(cluster)
        async with action_on(cluster) as action:
            wanted = intent(QUARANTINE)
            step = action.propose(wanted, await action.observe(wanted))
            assert isinstance(step, Step)
            assert step.precondition == {UID: first["metadata"]["uid"]}
            await make_again()
            report = await action.perform(step, committed(wanted.deadline))
            assert report.status is ReportStatus.RETRY
            assert "another node object" in report.text
        assert not ours(await node_of(cluster))

    asyncio.run(run())


def committed(deadline: float, **more: Any) -> Committed:
    return Committed(
        operation="op", attempt=1, annotation=intent(QUARANTINE).mark, deadline=deadline, **more
    )


def test_a_step_whose_permission_is_withdrawn_sends_nothing(cluster: ServedCluster) -> None:
    words = iter(["", "STOP"])

    async def run() -> None:
        await make_node(cluster)
        async with action_on(cluster) as action:
            wanted = intent(QUARANTINE)
            step = action.propose(wanted, await action.observe(wanted))
            assert isinstance(step, Step)
            permission = committed(wanted.deadline, withdrawn=lambda: next(words, "STOP"))
            report = await action.perform(step, permission)
            assert (report.status, report.text) == (ReportStatus.NOT_STARTED, "STOP")
        assert not ours(await node_of(cluster))

    asyncio.run(run())


def test_who_may_not_patch_gets_the_servers_own_words(cluster: ServedCluster) -> None:
    """As one who may read nodes only."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reads-nodes"},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reads-nodes"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "reads-nodes",
        },
        "subjects": [
            {"kind": "ServiceAccount", "namespace": "accelwatch", "name": "accelwatch-hub"}
        ],
    }

    async def run() -> None:
        await make_node(cluster)
        for kind, document in (("clusterroles", role), ("clusterrolebindings", binding)):
            await cluster.ask("POST", f"/apis/rbac.authorization.k8s.io/v1/{kind}", document)
        async with action_on(cluster, Account.HUB) as action:
            ended: Pursued | None = None
            async with asyncio.timeout(30):
                while ended is None or "does not answer" in ended.text:
                    ended = await Pursuits(action).pursue(intent(QUARANTINE))
        assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
        assert "cannot patch resource" in ended.text
        assert not ours(await node_of(cluster))

    asyncio.run(run())


def test_who_may_not_read_knows_nothing(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with action_on(cluster, Account.HUB) as action:
            with pytest.raises(ActionUnavailableError, match="403 Forbidden"):
                await action.observe_all()
            with pytest.raises(ActionUnavailableError, match="403 Forbidden"):
                await action.observe(intent(QUARANTINE))

    asyncio.run(run())


def test_a_node_that_is_not_there(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with action_on(cluster) as action:
            pursuits = Pursuits(action)
            refused = await pursuits.pursue(intent(QUARANTINE, "gone"))
            assert refused.refusal is RefusalKind.IMPOSSIBLE
            assert (await pursuits.pursue(intent(RELEASE, "gone"))).result is PursuitResult.ACHIEVED

    asyncio.run(run())


def test_two_hubs_by_mistake_leave_each_others_nodes_alone(cluster: ServedCluster) -> None:
    async def run() -> None:
        await make_node(cluster)
        async with action_on(cluster, hub="a") as one, action_on(cluster, hub="b") as other:
            results = await asyncio.gather(
                Pursuits(one).pursue(intent(QUARANTINE, incident="of-a")),
                Pursuits(other).pursue(intent(QUARANTINE, incident="of-b")),
            )
            assert sorted(result.result for result in results) == [
                PursuitResult.ACHIEVED,
                PursuitResult.REFUSED,
            ]
            document = await node_of(cluster)
            (taint,) = ours(document)
            winner = json.loads(document["metadata"]["annotations"][HOLD])["by"]
            loser, incident = (other, "of-b") if winner == "a" else (one, "of-a")
            refused = await Pursuits(loser).pursue(intent(RELEASE, incident=incident))
            assert refused.refusal is RefusalKind.FOREIGN
            assert ours(await node_of(cluster)) == [taint]

    asyncio.run(run())


def test_a_spare_is_drawn_and_returned(cluster: ServedCluster) -> None:
    idle = {"key": "accelwatch.io/spare", "effect": "NoSchedule"}

    async def run() -> None:
        await make_node(cluster, "n1")
        await make_node(cluster, "s1", taints=[idle])
        before = await node_of(cluster, "s1")
        async with action_on(cluster) as action:
            pursuits = Pursuits(action)
            drawn = intent(IntentKind.DRAW_SPARE, spare="s1")
            assert (await pursuits.pursue(drawn)).result is PursuitResult.ACHIEVED
            during = await node_of(cluster, "s1")
            assert "accelwatch.io/spare" not in taints(during)
            assert json.loads(during["metadata"]["annotations"][DRAWN])["incident"] == "inc-1"
            back = intent(IntentKind.RETURN_SPARE, "s1")
            assert (await pursuits.pursue(back)).result is PursuitResult.ACHIEVED
            assert pursuits.done(drawn) + pursuits.done(back) == ["draw", "return"]
        assert what_counts(await node_of(cluster, "s1")) == what_counts(before)

    asyncio.run(run())


def test_a_spare_that_was_drawn_anew_at_the_same_time_is_not_returned(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        note = {"incident": "inc-1", "token": 3, "by": "accelwatch", "since": 1.0}
        await make_node(cluster, "n1")
        uid = (await node_of(cluster, "n1"))["metadata"]["uid"]

        async def draw_for(incident: str) -> None:
            text = json.dumps({**note, "incident": incident, "uid": uid})
            await change_node(cluster, "n1", {"metadata": {"annotations": {DRAWN: text}}})

        await draw_for("inc-1")
        async with action_on(cluster) as action:
            wanted = intent(IntentKind.RETURN_SPARE, "n1")
            step = action.propose(wanted, await action.observe(wanted))
            assert isinstance(step, Step)
            await draw_for("inc-2")
            operation = msgspec.structs.replace(rehearsal(wanted), dry_run=False)
            report = await action.perform(step, operation)
            assert report.status is ReportStatus.RETRY
            assert "drawn for inc-2 by now" in report.text
        after = await node_of(cluster, "n1")
        assert json.loads(after["metadata"]["annotations"][DRAWN])["incident"] == "inc-2"
        assert "accelwatch.io/spare" not in taints(after)

    asyncio.run(run())


def test_the_command_by_hand_names_what_we_set() -> None:
    server = {"api_server": "https://k8s.example:6443"}

    def command(**options: Any) -> str:
        context = ActionContext(name="c", options={"server": server, **options})
        return KubernetesAction(context).release_command("n1")

    assert command() == (
        "kubectl taint nodes n1 accelwatch.io/quarantine- && "
        "kubectl annotate node n1 accelwatch.io/hold-"
    )
    assert command(cordon=True).endswith("&& kubectl uncordon n1")


@pytest.mark.parametrize("proof", ["power_state", None])
def test_the_command_by_hand_removes_the_out_of_service_taint_where_it_is_ours(
    stand_in: StandInCluster, proof: str | None
) -> None:
    out = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}

    async def run() -> None:
        await make_node(stand_in)
        async with action_on(stand_in) as action:
            await Pursuits(action).pursue(intent(QUARANTINE))
            document = await node_of(stand_in)
            note = json.loads(document["metadata"]["annotations"][HOLD])
            if proof:
                note["out_of_service"] = proof
            patch = {
                "metadata": {"annotations": {HOLD: json.dumps(note)}},
                "spec": {"taints": [*document["spec"]["taints"], out]},
            }
            await change_node(stand_in, "n1", patch)
            async with asyncio.timeout(20):
                while ("out-of-service:NoExecute- " in action.release_command("n1")) != bool(proof):
                    await action.observe_all()
            assert action.release_command("n1").endswith("accelwatch.io/hold-")

    asyncio.run(run())
