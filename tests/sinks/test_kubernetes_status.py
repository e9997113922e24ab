"""Condition and Events on the Node objects of a cluster that runs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import NoticeKind, Outcome, Status
from accelwatch.base.errors import ConfigError
from accelwatch_kubernetes_status.status_writing import StatusWriter
from accelwatch_lab.cluster.kubernetes.access import Account
from support.incidents.notices import NOTICE, notice
from support.incidents.sinks import sink
from support.kubernetes.action_on_cluster import change_node, make_node, node_of
from support.kubernetes.served import ServedCluster
from support.servers.receivers import receiver
from support.servers.unreadable_json import UNREADABLE

EVENTS = "/api/v1/namespaces/default/events"
CLOSED = NOTICE.time + 60.0
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}
Object = dict[str, Any]


def made(cluster: ServedCluster, *write: str, account: Account = Account.ADMIN, **more: Any) -> Any:
    access = cluster.access(account)
    server = {
        "api_server": access.url,
        "ca_file": str(access.ca_file),
        "token_file": str(cluster.token_file(account)),
    }
    return sink("kubernetes", write=list(write or ("condition", "events")), server=server, **more)


async def ready_node(cluster: ServedCluster, name: str = "n12") -> None:
    await make_node(cluster, name)
    path = f"/api/v1/nodes/{name}/status"
    await cluster.ask("PATCH", path, {"status": {"conditions": [READY]}}, "merge-patch+json")


async def delivered(receiver: Any, *notices: Any) -> list[Outcome]:
    return [await receiver.deliver(one, "") for one in notices]


async def conditions(cluster: ServedCluster, name: str = "n12") -> dict[str, Object]:
    listed = (await node_of(cluster, name))["status"]["conditions"]
    return {condition["type"]: condition for condition in listed}


async def events(cluster: ServedCluster) -> list[Object]:
    listed = (await cluster.ask("GET", EVENTS))["items"]
    ours = [event for event in listed if event["source"].get("component") == "accelwatch"]
    return sorted(ours, key=lambda event: str(event["reason"]))


def closed(**fields: Any) -> Any:
    return notice(kind=NoticeKind.CLOSED, closed=CLOSED, sequence=9, **fields)


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_a_server_whose_answers_cannot_be_read_is_tried_again(body: bytes, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")

    async def scenario() -> None:
        async with receiver(lambda: web.Response(body=body)) as there:
            server = {"api_server": there.base, "token_file": str(tmp_path / "token")}
            made = sink("kubernetes", write=["condition"], server=server)
            for sent in (NOTICE, notice(kind=NoticeKind.TEST)):
                outcome = await made.deliver(sent, "")
                assert outcome.status is Status.RETRY
                assert "answer cannot be read" in outcome.message
            await made.close()

    asyncio.run(scenario())


def test_what_is_open_stands_on_the_node_until_it_is_over(cluster: ServedCluster) -> None:
    async def scenario() -> None:
        await ready_node(cluster)
        receiver = made(cluster)
        (outcome,) = await delivered(receiver, NOTICE)
        assert outcome.status is Status.DELIVERED, outcome.message
        shown = await conditions(cluster)
        assert shown["AcceleratorHealthy"]["status"] == "False"
        assert shown["AcceleratorHealthy"]["reason"] == "NvidiaGpuLost"
        since = shown["AcceleratorHealthy"]["lastTransitionTime"]
        ready = shown["Ready"]
        await delivered(receiver, notice(key="west/i43", rule="amd.heat"))
        shown = await conditions(cluster)
        assert shown["AcceleratorHealthy"]["lastTransitionTime"] == since
        assert shown["AcceleratorHealthy"]["message"].endswith("; 1 more open")
        await delivered(receiver, closed())
        assert (await conditions(cluster))["AcceleratorHealthy"]["status"] == "False"
        await delivered(receiver, closed(key="west/i43"))
        shown = await conditions(cluster)
        assert shown["AcceleratorHealthy"]["status"] == "True"
        assert shown["Ready"] == ready, "what a kubelet has written stays as it was"
        await receiver.close()

    asyncio.run(scenario())


def test_a_hub_that_was_started_anew_forgets_no_other_incident(cluster: ServedCluster) -> None:
    async def scenario() -> None:
        await ready_node(cluster)
        first = made(cluster, "condition")
        await delivered(first, NOTICE, notice(key="west/i43"))
        await first.close()
        second = made(cluster, "condition")
        await delivered(second, closed())
        assert (await conditions(cluster))["AcceleratorHealthy"]["status"] == "False"
        await delivered(second, closed(key="west/i43"))
        assert (await conditions(cluster))["AcceleratorHealthy"]["status"] == "True"
        annotations = (await node_of(cluster, "n12"))["metadata"].get("annotations", {})
        assert "accelwatch.io/incidents" not in annotations
        await second.close()

    asyncio.run(scenario())


def test_a_hub_with_other_options_ends_what_counts_no_more(cluster: ServedCluster) -> None:
    async def scenario() -> None:
        await ready_node(cluster)
        first = made(cluster, "condition", min_severity="warning")
        mild = notice(severity=Severity.WARNING)
        await delivered(first, mild)
        assert (await conditions(cluster))["AcceleratorHealthy"]["status"] == "False"
        await first.close()
        second = made(cluster, "condition")
        await delivered(second, mild)
        assert (await conditions(cluster))["AcceleratorHealthy"]["status"] == "True"
        await second.close()

    asyncio.run(scenario())


def test_an_incident_is_one_event_with_a_count(cluster: ServedCluster) -> None:
    async def scenario() -> None:
        await ready_node(cluster)
        receiver = made(cluster, "events")
        reminder = notice(kind=NoticeKind.REMINDER, sequence=3)
        await delivered(
            receiver, NOTICE, NOTICE, notice(kind=NoticeKind.UPDATED, sequence=2), reminder
        )
        again = made(cluster, "events")
        await delivered(again, reminder, closed())
        first, over = await events(cluster)
        assert (first["reason"], first["type"], first["count"]) == ("NvidiaGpuLost", "Warning", 2)
        assert (over["reason"], over["type"], over["count"]) == ("NvidiaGpuLostOver", "Normal", 1)
        assert first["involvedObject"]["name"] == "n12"
        assert "AcceleratorHealthy" not in await conditions(cluster)
        await receiver.close()
        await again.close()

    asyncio.run(scenario())


def test_nothing_but_what_is_named_is_written(cluster: ServedCluster) -> None:
    async def scenario() -> None:
        await ready_node(cluster)
        receiver = made(cluster, "condition")
        mild = notice(severity=Severity.WARNING)
        (outcome,) = await delivered(receiver, mild)
        assert outcome.status is Status.DELIVERED
        assert set(await conditions(cluster)) == {"Ready"}
        await delivered(receiver, NOTICE)
        assert await events(cluster) == []
        await receiver.close()

    asyncio.run(scenario())


def test_a_node_is_found_by_its_host_name_or_by_the_options(cluster: ServedCluster) -> None:
    async def scenario() -> None:
        await ready_node(cluster, "ip-10-0-0-1")
        label = {"metadata": {"labels": {"kubernetes.io/hostname": "n12"}}}
        await change_node(cluster, "ip-10-0-0-1", label)
        await ready_node(cluster, "ip-10-0-0-2")
        receiver = made(cluster, "condition", nodes={"n13": "ip-10-0-0-2"})
        await delivered(receiver, notice(nodes=("n12", "n13")))
        for name in ("ip-10-0-0-1", "ip-10-0-0-2"):
            assert (await conditions(cluster, name))["AcceleratorHealthy"]["status"] == "False"
        outcomes = await delivered(receiver, notice(nodes=("elsewhere",)), notice(nodes=("/..",)))
        assert {outcome.status for outcome in outcomes} == {Status.NO_RECIPIENT}
        await receiver.close()

    asyncio.run(scenario())


def test_a_test_notice_asks_whether_it_may_and_writes_nothing(cluster: ServedCluster) -> None:
    async def scenario() -> None:
        await ready_node(cluster)
        receiver = made(cluster)
        (outcome,) = await delivered(receiver, notice(kind=NoticeKind.TEST, nodes=()))
        assert outcome.status is Status.DELIVERED, outcome.message
        assert set(await conditions(cluster)) == {"Ready"}
        assert await events(cluster) == []
        await receiver.close()
        unknown = made(cluster, account=Account.HUB)
        outcomes = await delivered(unknown, notice(kind=NoticeKind.TEST, nodes=()), NOTICE)
        assert {outcome.status for outcome in outcomes} == {Status.RETRY}
        assert all("docs/alerts.md" in outcome.message for outcome in outcomes)
        await unknown.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(("writes", "outcome"), [(1, Status.DELIVERED), (9, Status.RETRY)])
def test_a_test_notice_outlives_a_kubelet_that_writes_its_node_meanwhile(
    cluster: ServedCluster, monkeypatch: pytest.MonkeyPatch, writes: int, outcome: Status
) -> None:
    patch = StatusWriter._patch
    made_here: list[int] = []

    async def written_before(writer: StatusWriter, *args: Any, **options: Any) -> None:
        if len(made_here) < writes:
            made_here.append(len(made_here))
            await change_node(cluster, "n12", {"metadata": {"labels": {"w": f"{made_here[-1]}"}}})
        await patch(writer, *args, **options)

    async def scenario() -> None:
        await ready_node(cluster)
        receiver = made(cluster)
        monkeypatch.setattr(StatusWriter, "_patch", written_before)
        (reached,) = await delivered(receiver, notice(kind=NoticeKind.TEST, nodes=()))
        assert reached.status is outcome, reached.message
        assert set(await conditions(cluster)) == {"Ready"}
        await receiver.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "write: is missing"),
        ({"write": []}, "write:"),
        ({"write": ["taint"]}, "write"),
        (
            {"write": ["events"], "server": {"api_server": "x"}},
            "server: api_server: expected a URL",
        ),
        ({"write": ["events"], "server": {}}, "server: not within a cluster"),
    ],
)
def test_options_that_cannot_be_right_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        sink("kubernetes", **options)
    assert message in str(refused.value)
