"""What becomes of an eviction whose end nobody has seen: it is never sent twice."""

import asyncio
from typing import Any

import pytest

from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.action.step import Committed, Recovery, Report, ReportStatus, StartedStep, Step
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch_kubernetes.drain.job_steps import evict
from accelwatch_kubernetes.effects.eviction import POD_EFFECTS
from accelwatch_kubernetes.objects.metadata import unix_seconds
from support.kubernetes.action_on_cluster import NAME, Pursuits, action_on, intent
from support.kubernetes.moving import fence_context, held_node
from support.kubernetes.nodes import NOW, Object
from support.kubernetes.pods import pod, pod_of
from support.kubernetes.running_pods import kubelets, make_job, pods_of, settled_pods
from support.kubernetes.served import ServedCluster

STEP = evict(pod_of(pod("a")))
SETTLE_S = POD_EFFECTS["evict"].kind.settle_s
THERE = [pod("a")]


def recovered(
    pods: list[Object], *, started: float | None = NOW - 1.0, status: ReportStatus | None = None
) -> Recovery:
    recover = POD_EFFECTS["evict"].recover
    assert recover is not None
    report = None if status is None else Report(status=status)
    context = fence_context(held_node(), pods)
    return recover(StartedStep(step=STEP, started=started, report=report), context)


@pytest.mark.parametrize(
    "pods",
    [[], [pod("a", ending=True)], [pod("a", phase="Failed")], [pod("a", uid="another")]],
)
def test_a_pod_that_is_gone_or_going_was_evicted(pods: list[Object]) -> None:
    assert recovered(pods) is Recovery.DONE


def test_what_may_still_come_is_not_sent_again() -> None:
    assert recovered(THERE) is Recovery.UNKNOWN
    assert recovered(THERE, status=ReportStatus.UNKNOWN) is Recovery.UNKNOWN
    assert recovered(THERE, started=NOW - SETTLE_S + 0.1) is Recovery.UNKNOWN


@pytest.mark.parametrize(
    ("started", "status"),
    [
        (None, None),
        (NOW - 1.0, ReportStatus.REFUSED),
        (NOW - 1.0, ReportStatus.RETRY),
        (NOW - 1.0, ReportStatus.NOT_STARTED),
        # No server executes a request for that long.
        (NOW - SETTLE_S, None),
    ],
)
def test_what_cannot_come_any_more_is_sent_again(
    started: float | None, status: ReportStatus | None
) -> None:
    assert recovered(THERE, started=started, status=status) is Recovery.REDO


def test_an_engine_that_is_killed_after_an_eviction_does_not_evict_again(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        sent: list[str] = []
        async with kubelets(cluster, "n1", "n2") as running, action_on(cluster) as action:
            ignores = [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            ]
            job = await make_job(cluster, podFailurePolicy={"rules": ignores})
            await settled_pods(cluster, 1)
            first = Pursuits(action)
            await first.pursue(intent(IntentKind.QUARANTINE))
            metadata: Any = job["metadata"]
            submitted = unix_seconds(metadata["creationTimestamp"]) or 0.0
            key = JobKey(NAME, f"default/Job/{metadata['name']}", submitted)
            wanted = intent(IntentKind.MOVE_JOB, job=key, bad_nodes=("n1",))
            perform = action.perform

            async def counted(step: Step, operation: Committed) -> Report:
                sent.append(step.precondition["uid"])
                return await perform(step, operation)

            async def killed(step: Step, operation: Committed) -> Report:
                await counted(step, operation)
                raise asyncio.CancelledError

            running.keeps = True
            action.perform = killed  # type: ignore[method-assign]
            with pytest.raises((asyncio.CancelledError, TimeoutError)):
                await first.pursue(wanted)
            (left,) = await pods_of(cluster)
            assert "deletionTimestamp" in left["metadata"]
            running.keeps = False
            action.perform = counted  # type: ignore[method-assign]
            moved = await Pursuits(action, first.journal).pursue(wanted)
            assert (moved.result, moved.moved_to) == (PursuitResult.ACHIEVED, ("n2",)), moved.text
            assert len(sent) == 1

    asyncio.run(run())
