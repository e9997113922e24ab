"""What a person reads of a drain before it is done."""

import asyncio
from pathlib import Path

from accelwatch_kubernetes.drain.leaving import leaving
from accelwatch_kubernetes.drain.preview import preview_texts
from accelwatch_kubernetes.drain.verdicts import EvictionVerdict, Verdict
from accelwatch_lab.cluster.kubernetes.api_server.faults import Fault
from support.kubernetes.action_on_cluster import action_on, make_node
from support.kubernetes.nodes import OPTIONS
from support.kubernetes.pods import pod, pod_of
from support.kubernetes.running_pods import kubelets, make_budget, make_job, pods_of, settled_pods
from support.kubernetes.served import ServedCluster
from support.kubernetes.stand_in import StandInCluster, stand_in_cluster


def test_the_pods_are_counted_and_each_refusal_names_its_pods() -> None:
    documents = [pod("a"), pod("b"), pod("bare", owner=None), pod("d", namespace="kube-system")]
    entries = [leaving(pod_of(document), OPTIONS) for document in documents]
    refused = Verdict(
        uid="uid-of-b", answer=EvictionVerdict.BUDGET, text="PDB ml/trainers allows none"
    )
    granted = Verdict(uid="uid-of-a", answer=EvictionVerdict.ALLOWED)
    texts = list(preview_texts(entries, {"uid-of-a": granted, "uid-of-b": refused}))
    assert texts == [
        "1 pod would be evicted",
        "refused now: ml/b: PDB ml/trainers allows none",
        "stays: ml/bare: no controller would create it again",
    ]


def test_many_pods_are_not_all_named() -> None:
    entries = [leaving(pod_of(pod(f"p{number}")), OPTIONS) for number in range(12)]
    refused = {
        entry.pod.uid: Verdict(uid=entry.pod.uid, answer=EvictionVerdict.BUDGET, text="no")
        for entry in entries
    }
    (text,) = preview_texts(entries, refused)
    assert text.endswith("ml/p9 and 2 more: no")


def test_a_node_without_pods_needs_no_words() -> None:
    assert list(preview_texts([], {})) == []


def test_the_server_is_queried_and_spends_nothing(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1"), action_on(cluster) as action:
            await make_job(cluster)
            (before,) = await settled_pods(cluster, 1)
            await make_budget(cluster, "trainers", "trainer", maxUnavailable=0)
            path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/trainers"
            async with asyncio.timeout(30):
                while "conditions" not in (await cluster.ask("GET", path)).get("status", {}):
                    await asyncio.sleep(0.05)
            first = await action.preview("n1", "")
            assert len(first) == 1
            assert first[0].startswith("refused now: default/trainer-")
            assert "PDB default/trainers" in first[0]
            assert await action.preview("n1", "") == first
            (after,) = await pods_of(cluster)
            assert after["metadata"]["uid"] == before["metadata"]["uid"]
            assert "deletionTimestamp" not in after["metadata"]

    asyncio.run(run())


def test_a_server_that_does_not_answer_is_queried_about_one_pod(tmp_path: Path) -> None:
    """Of a hundred pods each would wait its whole time."""
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u"}
    pods = "/api/v1/namespaces/default/pods"

    async def run(cluster: StandInCluster) -> None:
        await make_node(cluster, "n1")
        for name in ("a", "b", "c"):
            metadata = {"name": name, "ownerReferences": [{**owner, "controller": True}]}
            spec = {"nodeName": "n1", "containers": [{"name": "main", "image": "x"}]}
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            await cluster.ask("POST", pods, body)
        cluster.server.faults.add(Fault(method="POST", path="/eviction", effect="drop", times=None))
        async with action_on(cluster) as action:
            count, refused = await action.preview("n1", "")
        assert count == "2 pods would be evicted"
        assert refused.startswith("refused now: default/a: ")

    # Without controllers: the garbage collector would remove pods whose owner it cannot find.
    with stand_in_cluster(tmp_path, ()) as cluster:
        asyncio.run(run(cluster))
