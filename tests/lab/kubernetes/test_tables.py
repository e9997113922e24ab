"""What `kubectl get` prints: rows that the server makes, alike on both."""

import asyncio
from typing import Any

import aiohttp
import pytest

from accelwatch_lab.cluster.kubernetes.access import Account
from accelwatch_lab.cluster.kubernetes.api_server.verbs.tables import duration_text
from support.kubernetes.objects import JOBS, MERGE, NAMESPACE, NODES, PODS, node, pod
from support.kubernetes.served import ServedCluster

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
READY = {"type": "Ready", "status": "True"}


async def rows(cluster: ServedCluster, path: str) -> list[dict[str, Any]]:
    """Cells by the names of their columns."""
    url, _, token = cluster.access(Account.ADMIN)
    headers = {"Authorization": f"Bearer {token}", "Accept": TABLE}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(url + path, ssl=cluster.tls) as answer,
    ):
        table = await answer.json()
    assert (answer.status, table["kind"]) == (200, "Table"), table
    names = [column["name"] for column in table["columnDefinitions"]]
    # No column of a wide list comes before one that is always shown.
    usual = [column["name"] for column in table["columnDefinitions"] if not column["priority"]]
    return [
        {**dict(zip(names, row["cells"], strict=True)), "usual": usual} for row in table["rows"]
    ]


def test_nodes_are_listed_with_their_status(cluster: ServedCluster) -> None:
    async def main() -> None:
        for name in ("n1", "n2", "n3"):
            await cluster.ask("POST", NODES, node(name))
        silent = {**READY, "status": "Unknown"}
        info = {"kubeletVersion": "v1.37.2"}
        for name, condition in (("n1", READY), ("n2", silent)):
            status = {"status": {"conditions": [condition], "nodeInfo": info}}
            await cluster.ask("PATCH", f"{NODES}/{name}/status", status, MERGE)
        cordon = {"spec": {"unschedulable": True}}
        await cluster.ask("PATCH", f"{NODES}/n1", cordon, MERGE)
        listed = await rows(cluster, NODES)
        assert [(row["Name"], row["Status"]) for row in listed] == [
            ("n1", "Ready,SchedulingDisabled"),
            ("n2", "NotReady"),
            ("n3", "Unknown"),
        ]
        assert listed[0]["usual"] == ["Name", "Status", "Roles", "Age", "Version"]
        assert listed[0]["Version"] == "v1.37.2"
        (single,) = await rows(cluster, f"{NODES}/n2")
        assert single["Name"] == "n2"

    asyncio.run(main())


def test_pods_are_listed_with_what_became_of_them(cluster: ServedCluster) -> None:
    async def main() -> None:
        await cluster.ask("POST", NODES, node())
        for name in ("p1", "p2", "p3", "p4"):
            await cluster.ask("POST", PODS, pod(name))
        container = {"name": "main", "image": "i", "imageID": "", "restartCount": 0}
        runs = {**container, "ready": True, "state": {"running": {}}}
        ended = {"terminated": {"exitCode": 1, "reason": "Error"}}
        states = {
            "p2": {"phase": "Running", "containerStatuses": [runs], "conditions": [READY]},
            "p3": {
                "phase": "Failed",
                "containerStatuses": [{**container, "ready": False, "state": ended}],
            },
            "p4": {"phase": "Running", "containerStatuses": [runs]},
        }
        for name, status in states.items():
            await cluster.ask("PATCH", f"{PODS}/{name}/status", {"status": status}, MERGE)
        await cluster.ask("DELETE", f"{PODS}/p4")
        listed = await rows(cluster, PODS)
        assert [(row["Name"], row["Ready"], row["Status"]) for row in listed] == [
            ("p1", "0/1", "Pending"),
            ("p2", "1/1", "Running"),
            ("p3", "0/1", "Error"),
            ("p4", "1/1", "Terminating"),
        ]
        assert {row["Node"] for row in listed} == {"n1"}
        assert listed[0]["usual"] == ["Name", "Ready", "Status", "Restarts", "Age"]

    asyncio.run(main())


def test_events_and_jobs_are_listed(cluster: ServedCluster) -> None:
    async def main() -> None:
        template = pod("", "")
        spec = {**template["spec"], "restartPolicy": "Never"}
        await cluster.ask(
            "POST",
            JOBS,
            {
                "metadata": {"name": "j"},
                "spec": {"completions": 2, "suspend": True, "template": {"spec": spec}},
            },
        )
        (job,) = await rows(cluster, JOBS)
        assert (job["Name"], job["Completions"]) == ("j", "0/2")
        assert job["usual"] == ["Name", "Status", "Completions", "Duration", "Age"]
        at = "2030-01-01T00:00:00Z"
        about = {"kind": "Pod", "name": "p1", "namespace": "default", "apiVersion": "v1"}
        await cluster.ask(
            "POST",
            f"{NAMESPACE}/events",
            {
                "metadata": {"name": "e1", "namespace": "default"},
                "involvedObject": about,
                **{"type": "Warning", "reason": "Evicted", "message": "a GPU is lost"},
                **{"firstTimestamp": at, "lastTimestamp": at, "count": 1},
                "source": {"component": "accelwatch"},
            },
        )
        events = await rows(cluster, f"{NAMESPACE}/events")
        (event,) = (row for row in events if row["Name"] == "e1")
        cells = {name: event[name] for name in ("Type", "Reason", "Object", "Message", "Source")}
        assert cells == {
            "Type": "Warning",
            "Reason": "Evicted",
            "Object": "pod/p1",
            "Message": "a GPU is lost",
            "Source": "accelwatch",
        }
        assert event["usual"] == ["Last Seen", "Type", "Reason", "Object", "Message"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0s"),
        (119, "119s"),
        (120, "2m"),
        (303, "5m3s"),
        (3599, "59m"),
        (3 * 3600 + 720, "3h12m"),
        (4 * 3600, "4h"),
        (9 * 3600 + 720, "9h"),
        (52 * 3600, "2d4h"),
        (72 * 3600, "3d"),
        (9 * 86400 + 3600, "9d"),
    ],
)
def test_ages_are_as_kubectl_writes_them(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
