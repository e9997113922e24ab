"""Answers with 200 that are no JSON, are nested without end or are no UTF-8; and such annotations."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from accelwatch.action.contract import ActionContext, ActionUnavailableError
from accelwatch.action.intent import IntentKind
from accelwatch.action.step import ReportStatus, Step
from accelwatch_kubernetes import KubernetesAction
from accelwatch_kubernetes.devices.taint_rule import rules_of
from accelwatch_kubernetes.drain.steps import EVICT
from accelwatch_kubernetes.marks.hold import DRAWN, HOLD, drawn_of, hold_of
from accelwatch_kubernetes.steps import TAINT, TAINT_DEVICE
from support.actions.pursuits import committed
from support.kubernetes.action_on_cluster import intent
from support.kubernetes.nodes import node, parsed
from support.servers.receivers import receiver
from support.servers.unreadable_json import DEEP, UNREADABLE

QUARANTINE = IntentKind.QUARANTINE


@asynccontextmanager
async def action_before(body: bytes, folder: Path) -> AsyncIterator[KubernetesAction]:
    """The action before a server that answers all with this body."""
    (folder / "token").write_text("t")

    def answer() -> web.Response:
        return web.Response(body=body, content_type="application/json")

    async with receiver(answer) as there:
        server = {"api_server": there.base, "token_file": str(folder / "token")}
        action = KubernetesAction(ActionContext(name="cluster", options={"server": server}))
        try:
            yield action
        finally:
            await action.close()


DEVICE = {
    **{"driver": "gpu", "pool": "n1", "device": "gpu-0", "node": "n1", "id": "nvidia:1"},
    **{"incident": "inc-1", "rule": "r", "reason": "x", "version": "v1", "name": "x"},
    "effect": "NoSchedule",
}
TAINTED = {"node": "n1", "incident": "inc-1"}
POD = {"namespace": "ml", "pod": "a", "node": "n1"}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_a_node_that_cannot_be_read_is_not_known(body: bytes, tmp_path: Path) -> None:
    async def run() -> None:
        async with action_before(body, tmp_path) as action:
            with pytest.raises(ActionUnavailableError, match="answer cannot be read"):
                await action.observe(intent(QUARANTINE))

    asyncio.run(run())


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize(
    ("step", "status"),
    [
        (Step(kind=TAINT, arguments=TAINTED, precondition={"uid": "u"}), ReportStatus.RETRY),
        (Step(kind=EVICT, arguments=POD, precondition={"uid": "u"}), ReportStatus.RETRY),
        # It was sent, and nobody knows what the server has stored.
        (
            Step(kind=TAINT_DEVICE, arguments=DEVICE, precondition={"uid": ""}),
            ReportStatus.UNKNOWN,
        ),
    ],
    ids=["a node", "a pod", "a rule"],
)
def test_a_step_before_such_a_server_ends_with_a_report(
    body: bytes, step: Step, status: ReportStatus, tmp_path: Path
) -> None:
    async def run() -> None:
        async with action_before(body, tmp_path) as action:
            report = await action.perform(step, committed(intent(QUARANTINE)))
            assert report.status is status
            assert "answer cannot be read" in report.text

    asyncio.run(run())


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_a_list_of_all_nodes_that_cannot_be_read_is_no_knowledge(
    body: bytes, tmp_path: Path
) -> None:
    async def run() -> None:
        async with action_before(body, tmp_path) as action:
            with pytest.raises(ActionUnavailableError):
                await action.observe_all()

    asyncio.run(run())


def test_an_annotation_that_others_nested_without_end_is_none_of_ours() -> None:
    document = node(annotations={HOLD: DEEP.decode(), DRAWN: DEEP.decode()})
    assert hold_of(parsed(document)) is None
    assert drawn_of(parsed(document)) is None


def test_such_an_annotation_of_a_rule_is_none_of_ours() -> None:
    metadata = {"name": "r", "annotations": {HOLD: DEEP.decode()}}
    (rule,) = rules_of(msgspec.json.encode({"items": [{"metadata": metadata}]}).decode())
    assert rule.hold is None
