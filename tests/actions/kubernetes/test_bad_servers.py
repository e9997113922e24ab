"""An API server that refuses, hesitates, breaks, or has webhooks that change what we send."""

import asyncio
import json
from typing import Any

import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import IntentKind
from accelwatch.action.step import RefusalKind, ReportStatus, Step
from accelwatch.remediation.execution.operations.ledger import rehearsal
from accelwatch.remediation.execution.operations.operation import Operation
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch_kubernetes.marks.hold import HOLD
from accelwatch_lab.cluster.kubernetes.api_server.faults import Fault, denied
from support.kubernetes.action_on_cluster import (
    Pursuits,
    action_on,
    intent,
    make_node,
    node_of,
    what_counts,
)
from support.kubernetes.stand_in import StandInCluster

OURS = "accelwatch.io/quarantine"
QUARANTINE, RELEASE = IntentKind.QUARANTINE, IntentKind.RELEASE
PATCH: dict[str, Any] = {"method": "PATCH", "path": "/nodes/"}


def patches(cluster: StandInCluster) -> list[int]:
    """What the server has answered to each patch of a node."""
    return [entry.status for entry in cluster.server.log.writes("/nodes/")]


async def quarantined(cluster: StandInCluster, *faults: Fault) -> tuple[Any, list[Operation]]:
    """How a quarantine ends on such a server, and what the journal has of it."""
    await make_node(cluster)
    cluster.server.log.clear()
    cluster.server.faults.add(*faults)
    async with action_on(cluster) as action:
        pursuits = Pursuits(action)
        ended = await pursuits.pursue(intent(QUARANTINE))
        return ended, pursuits.operations()


def test_one_request_changes_a_node(stand_in: StandInCluster) -> None:
    async def run() -> None:
        ended, _ = await quarantined(stand_in)
        assert ended.result is PursuitResult.ACHIEVED
        (entry,) = stand_in.server.log.writes("/nodes/")
        assert (entry.method, entry.content_type) == ("PATCH", "application/merge-patch+json")
        assert entry.query == {"fieldManager": "accelwatch", "fieldValidation": "Strict"}
        assert set(entry.body) == {"metadata", "spec"}
        assert set(entry.body["metadata"]) == {"resourceVersion", "annotations"}

    asyncio.run(run())


def test_trap_14_a_conflict_is_read_anew_and_decided_anew(stand_in: StandInCluster) -> None:
    async def run() -> None:
        ended, (known,) = await quarantined(stand_in, Fault(**PATCH, status=409))
        assert ended.result is PursuitResult.ACHIEVED
        assert patches(stand_in) == [409, 200]
        assert known.report is not None
        assert known.report.status is ReportStatus.DONE

    asyncio.run(run())


def test_two_conflicts_are_tried_again_later(stand_in: StandInCluster) -> None:
    async def run() -> None:
        ended, known = await quarantined(stand_in, Fault(**PATCH, status=409, times=2))
        assert ended.result is PursuitResult.ACHIEVED
        assert patches(stand_in) == [409, 409, 200]
        assert len(known) == 2
        assert known[0].report is not None
        assert known[0].report.status is ReportStatus.RETRY

    asyncio.run(run())


@pytest.mark.parametrize(
    "fault",
    [
        Fault(**PATCH, status=422, message="spec.taints[1].value: too long", times=None),
        denied("gate.example.com", "no taints today", **PATCH),
    ],
)
def test_what_the_server_refuses_is_reported_in_its_words(
    stand_in: StandInCluster, fault: Fault
) -> None:
    async def run() -> None:
        ended, _ = await quarantined(stand_in, fault)
        assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
        assert fault.message in ended.text
        assert len(patches(stand_in)) == 1

    asyncio.run(run())


@pytest.mark.parametrize("effect", ["drop", "drop_after"])
def test_a_patch_without_an_answer_is_known_by_the_node(
    stand_in: StandInCluster, effect: Any
) -> None:
    async def run() -> None:
        ended, known = await quarantined(stand_in, Fault(**PATCH, effect=effect))
        assert ended.result is PursuitResult.ACHIEVED
        assert known[0].report is not None
        assert known[0].report.status is ReportStatus.UNKNOWN
        # What was stored is not sent again.
        assert patches(stand_in).count(200) <= 1
        assert len(known) == (2 if effect == "drop" else 1)
        keys = [taint["key"] for taint in (await node_of(stand_in))["spec"]["taints"]]
        assert keys.count(OURS) == 1

    asyncio.run(run())


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_in_trouble_is_tried_again(stand_in: StandInCluster, status: int) -> None:
    async def run() -> None:
        ended, _ = await quarantined(stand_in, Fault(**PATCH, status=status))
        assert ended.result is PursuitResult.ACHIEVED
        assert patches(stand_in) == [status, 200]

    asyncio.run(run())


def test_a_server_that_is_away_for_a_while_is_waited_for(stand_in: StandInCluster) -> None:
    async def run() -> None:
        await make_node(stand_in)
        async with action_on(stand_in) as action:
            pursuits = Pursuits(action)
            stand_in.kill_api_server()
            with pytest.raises(ActionUnavailableError):
                await action.observe(intent(QUARANTINE))
            pursuit = asyncio.create_task(pursuits.pursue(intent(QUARANTINE)))
            await asyncio.sleep(0.5)
            stand_in.start_api_server()
            assert (await pursuit).result is PursuitResult.ACHIEVED

    asyncio.run(run())


def rewritten(**merge: Any) -> Fault:
    """A mutating webhook that merges this into each patch of a node."""
    return Fault(**PATCH, effect="rewrite", merge=merge, times=1)


def test_a_webhook_that_takes_our_taint_out_leaves_no_half_of_a_mark(
    stand_in: StandInCluster,
) -> None:
    async def run() -> None:
        ended, _ = await quarantined(stand_in, rewritten(spec={"taints": []}))
        assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
        assert "an admission webhook of the cluster has changed the taint" in ended.text
        document = await node_of(stand_in)
        assert HOLD not in document["metadata"].get("annotations", {})

    asyncio.run(run())


def test_a_webhook_that_takes_our_annotation_out_leaves_no_taint_that_nobody_knows(
    stand_in: StandInCluster,
) -> None:
    async def run() -> None:
        ended, _ = await quarantined(stand_in, rewritten(metadata={"annotations": {HOLD: None}}))
        assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
        assert "changed the annotation" in ended.text
        keys = [taint["key"] for taint in (await node_of(stand_in))["spec"].get("taints", [])]
        assert OURS not in keys

    asyncio.run(run())


def test_what_a_webhook_makes_of_our_mark_is_undone_whoever_writes_in_between(
    stand_in: StandInCluster,
) -> None:
    """As the node controller does at once to a node that is cordoned."""

    async def run() -> None:
        half = rewritten(metadata={"annotations": {HOLD: None}})
        ended, _ = await quarantined(stand_in, half, Fault(**PATCH, status=409))
        assert ended.result is PursuitResult.REFUSED
        assert patches(stand_in) == [200, 409, 200]
        taints = (await node_of(stand_in))["spec"].get("taints", [])
        assert OURS not in [taint["key"] for taint in taints]

    asyncio.run(run())


def test_a_webhook_that_changes_our_taint_is_reported_and_the_node_is_released_all_the_same(
    stand_in: StandInCluster,
) -> None:
    changed = [{"key": OURS, "value": "by-policy", "effect": "NoSchedule"}]

    async def run() -> None:
        await make_node(stand_in)
        before = await node_of(stand_in)
        stand_in.server.faults.add(rewritten(spec={"taints": changed}))
        async with action_on(stand_in) as action:
            pursuits = Pursuits(action)
            held = await pursuits.pursue(intent(QUARANTINE))
            assert held.result is PursuitResult.ACHIEVED
            (known,) = pursuits.operations()
            assert known.report is not None
            assert "the taint is accelwatch.io/quarantine=by-policy:NoSchedule" in known.report.text
            released = await pursuits.pursue(intent(RELEASE, original=dict(held.original)))
            assert released.result is PursuitResult.ACHIEVED
        assert what_counts(await node_of(stand_in)) == what_counts(before)

    asyncio.run(run())


def test_a_webhook_that_keeps_our_mark_is_reported(stand_in: StandInCluster) -> None:
    async def run() -> None:
        ended, _ = await quarantined(stand_in)
        annotations = (await node_of(stand_in))["metadata"]["annotations"]
        stand_in.server.faults.add(rewritten(metadata={"annotations": annotations}))
        async with action_on(stand_in) as action:
            released = await Pursuits(action).pursue(intent(RELEASE, original=dict(ended.original)))
        assert released.refusal is RefusalKind.NOT_ALLOWED
        assert "has kept our mark" in released.text

    asyncio.run(run())


def test_answers_that_are_no_node_are_no_knowledge(stand_in: StandInCluster) -> None:
    async def run() -> None:
        await make_node(stand_in)
        for status in (401, 403, 500, 503):
            async with action_on(stand_in) as action:
                stand_in.server.faults.add(Fault(method="GET", status=status, times=None))
                with pytest.raises(ActionUnavailableError):
                    await action.observe(intent(QUARANTINE))
            stand_in.server.faults.clear()

    asyncio.run(run())


def test_a_404_of_what_is_between_us_and_the_server_does_not_end_a_release(
    stand_in: StandInCluster,
) -> None:
    """The page of a load balancer is no word of the server: our taint is there still."""

    async def run() -> None:
        await quarantined(stand_in)
        page = Fault(method="GET", path="/nodes/n1", status=404, reason="NoRoute", times=None)
        async with action_on(stand_in) as action:
            stand_in.server.faults.add(page)
            with pytest.raises(ActionUnavailableError):
                await action.observe(intent(RELEASE))

    asyncio.run(run())


def test_a_dry_run_sends_nothing(stand_in: StandInCluster) -> None:
    async def run() -> None:
        await make_node(stand_in)
        async with action_on(stand_in) as action:
            wanted = intent(QUARANTINE)
            step = action.propose(wanted, await action.observe(wanted))
            assert isinstance(step, Step)
            stand_in.server.log.clear()
            report = await action.perform(step, rehearsal(wanted))
            assert report.status is ReportStatus.DONE
            assert stand_in.server.log.entries == []

    asyncio.run(run())


def test_the_hold_survives_a_round_trip_through_the_server(stand_in: StandInCluster) -> None:
    async def run() -> None:
        await quarantined(stand_in)
        written = json.loads((await node_of(stand_in))["metadata"]["annotations"][HOLD])
        assert (written["by"], written["incident"], written["token"]) == ("accelwatch", "inc-1", 3)

    asyncio.run(run())
