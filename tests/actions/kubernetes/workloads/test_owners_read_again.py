"""Owners that could not be read: their kind does not hide the cluster, and they are read again."""

import asyncio
from typing import Any

import msgspec
import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.base.clock import ManualClock
from accelwatch_kubernetes.objects.metadata import Metadata, OwnerReference
from accelwatch_kubernetes.workloads.owner_index import OwnerIndex
from accelwatch_lab.cluster.kubernetes.api_server.faults import Fault
from support.kubernetes.action_on_cluster import action_on, intent, make_node
from support.kubernetes.pods import pod, pod_of
from support.kubernetes.served import ServedCluster
from support.kubernetes.stand_in import StandInCluster
from support.kubernetes.workloads import controller, workload

JOBS, PODS = "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/pods"
JOB = workload("batch/v1", "Job", "j")
REFERENCE = msgspec.convert(controller(JOB), OwnerReference)
POD = pod_of(pod(owner=("batch/v1", "Job", "j")))


async def running_job(cluster: ServedCluster) -> Any:
    """A Job with one pod on n1."""
    await make_node(cluster, "n1")
    template = {"spec": {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Never"}}
    metadata = {"name": "llm"}
    spec = {"suspend": True, "template": template}
    job = await cluster.ask(
        "POST", JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    )
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "llm", "controller": True}
    references = [{**owner, "uid": job["metadata"]["uid"]}]
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "other", "ownerReferences": references},
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "x"}]},
    }
    return await cluster.ask("POST", PODS, body)


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_an_owner_that_cannot_be_read_is_read_again(
    bare_stand_in: StandInCluster, status: int
) -> None:
    """A role is given, a webhook mended, a kind served again: no restart is needed for it."""
    cluster, clock = bare_stand_in, ManualClock()

    async def run() -> None:
        await running_job(cluster)
        fault = Fault(method="GET", path="/jobs/llm", status=status, reason="x", times=None)
        cluster.server.faults.add(fault)
        async with action_on(cluster, clock=clock) as action:
            (node,) = await action.observe_all()
            assert node.jobs == (JobKey("cluster", "default/Job/llm", 0.0),)
            cluster.server.faults.clear()
            (node,) = await action.observe_all()
            assert [job.submitted for job in node.jobs] == [0.0]
            clock.advance(61.0)
            (node,) = await action.observe_all()
            assert [(job.id, job.submitted > 0.0) for job in node.jobs] == [
                ("default/Job/llm", True)
            ]

    asyncio.run(run())


def test_a_job_whose_kind_the_server_cannot_show_is_not_acted_upon(
    bare_stand_in: StandInCluster,
) -> None:
    cluster = bare_stand_in

    async def run() -> None:
        await running_job(cluster)
        cluster.server.faults.add(Fault(method="GET", path="/jobs/llm", status=500, times=None))
        async with action_on(cluster, clock=ManualClock()) as action:
            (node,) = await action.observe_all()
            with pytest.raises(ActionUnavailableError, match="500"):
                await action.observe(intent(IntentKind.MOVE_JOB, job=node.jobs[0]))

    asyncio.run(run())


def test_a_server_that_does_not_answer_at_all_is_unavailable(
    bare_stand_in: StandInCluster,
) -> None:
    cluster = bare_stand_in

    async def run() -> None:
        await running_job(cluster)
        cluster.server.faults.add(Fault(method="GET", path="/jobs/llm", effect="drop", times=None))
        async with action_on(cluster) as action:
            with pytest.raises(ActionUnavailableError):
                await action.observe_all()

    asyncio.run(run())


def test_what_may_not_be_read_is_due_after_a_minute_and_what_failed_sooner() -> None:
    for failed, due_s in ((False, 60.0), (True, 10.0)):
        index = OwnerIndex("k")
        index.add_unread(REFERENCE, "ml", 100.0, failed=failed)
        assert index.again_at == 100.0 + due_s
        assert not index.missing([POD], 100.0 + due_s - 0.1)
        assert index.missing([POD], 100.0 + due_s)
        job = index.job_of_pod(POD)
        assert job is not None
        assert job.key.id == "ml/Job/j"


def test_whoever_acts_reads_what_failed_at_once() -> None:
    index = OwnerIndex("k")
    index.add_unread(REFERENCE, "ml", 100.0, failed=False)
    assert not index.missing([POD], 101.0, failed_too=True)
    index.add_unread(REFERENCE, "ml", 100.0, failed=True)
    assert index.missing([POD], 101.0, failed_too=True)


def test_many_that_may_not_be_read_are_read_again_at_ten_a_second() -> None:
    index = OwnerIndex("k")
    for number in range(2001):
        reference = msgspec.structs.replace(REFERENCE, uid=f"uid-{number}")
        index.add_unread(reference, "ml", 0.0, failed=False)
    last = pod_of(pod(owner=("batch/v1", "Job", "j")))
    owners = [msgspec.structs.replace(REFERENCE, uid="uid-2000")]
    last = msgspec.structs.replace(
        last, metadata=msgspec.structs.replace(last.metadata, owner_references=tuple(owners))
    )
    assert not index.missing([last], 199.0)
    assert index.missing([last], 200.0)


def test_an_owner_that_was_read_at_last_is_kept() -> None:
    index = OwnerIndex("k")
    index.add_unread(REFERENCE, "ml", 0.0, failed=True)
    assert index.is_unread(POD)
    index.add(REFERENCE, "ml", msgspec.convert(JOB["metadata"], Metadata))
    assert not index.is_unread(POD)
    job = index.job_of_pod(POD)
    assert job is not None
    assert job.key.submitted > 0.0
