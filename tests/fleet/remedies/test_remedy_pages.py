"""What a hub that acts shows of it, and what people may command."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.base.errors import AccelwatchError, UnmetError, UsageError
from accelwatch.fleet.api.incidents.remedy_pages import RemedyPages
from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.web.pages.page import Change, Page
from accelwatch.web.pages.routes import RouteTable
from accelwatch.web.protection.roles import Role
from fleet.remedies.hub_site import HubSite, until
from remediation.fake_scheduler import FakeScheduler

JSON = {"Content-Type": "application/json"}
Json = dict[str, Any]


class Client:
    """Asks the pages of a site as the server does."""

    def __init__(self, site: HubSite, runner: RemedyRunner) -> None:
        pages = RemedyPages(lambda: runner, site.clock, lambda: {"a": 0})
        self._pages = RouteTable(pages.routes())

    def get(self, path: str) -> Json:
        page = self._pages.page(path, {}, {})
        assert isinstance(page, Page)
        found: Json = json.loads(page.body)
        return found

    async def plan(self, node: str) -> Json:
        """Its scheduler may be asked for it."""
        page = self._pages.page("/v1/plan", {"node": [node]}, {})
        assert not isinstance(page, Page)
        found: Json = json.loads((await page).body)
        return found

    async def post(self, path: str, user: str = "kim", **body: str) -> tuple[int, Any]:
        change = Change(
            method="POST",
            path=path,
            query={},
            headers=JSON,
            body=msgspec.json.encode(body),
            user=user,
            role=Role.ADMIN,
            address="10.0.0.7",
        )
        answer = await self._pages.act(change, True)
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.code, json.loads(answer.body) if is_json else answer.body.decode()


def played(site: HubSite, play: Callable[[Client, RemedyRunner], Awaitable[None]]) -> None:
    async def scenario() -> None:
        async with site.running() as (_, remedies):
            await until(lambda: bool(remedies.engine.state.world.scheduler_nodes))
            await play(Client(site, remedies), remedies)

    asyncio.run(scenario())


def test_a_plan_is_shown_approved_and_carried_out(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path, mode="approve")
    fake_plugin.append(site.world)

    async def play(client: Client, remedies: RemedyRunner) -> None:
        site.watts = 100.0
        await until(lambda: bool(client.get("/v1/remedies")["remedies"]))
        await until(lambda: client.get("/v1/remedies")["remedies"][0]["plan"] != "")
        (shown,) = client.get("/v1/remedies")["remedies"]
        assert (shown["node"], shown["stage"]) == ("a", "awaiting_approval")
        plan = (await client.plan("a"))["plan"]
        assert plan["digest"] == shown["plan"]
        assert plan["steps"][0]["text"] == "take a out of the pool"
        code, answer = await client.post("/v1/remedies/a/approve", reason="ok", plan="0" * 16)
        assert code == 200
        assert not site.quarantined("n1")
        code, answer = await client.post("/v1/remedies/a/approve", reason="ok", plan=plan["digest"])
        assert (code, answer["remedy"]["approved_by"]) == (200, "kim")
        await until(lambda: site.quarantined("n1"))
        await until(lambda: client.get("/v1/remedies")["remedies"][0]["hold"] is not None)

    played(site, play)


def test_a_stop_keeps_everything_and_outlives_the_hub(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def stop(client: Client, _: RemedyRunner) -> None:
        assert (await client.post("/v1/stop", reason="too much at once"))[0] == 200
        shown = client.get("/v1/remedies")
        assert (shown["stopped_by"], shown["stopped_why"]) == ("kim", "too much at once")

    async def stands(client: Client, remedies: RemedyRunner) -> None:
        assert client.get("/v1/remedies")["stopped_by"] == "kim"
        site.watts = 100.0
        await until(lambda: "a" in remedies.engine.state.remedies)
        await until(lambda: "stopped" in client.get("/v1/remedies")["remedies"][0]["in_the_way"])
        assert not site.quarantined("n1")
        assert (await client.post("/v1/start", reason="it is calm"))[0] == 200
        await until(lambda: site.quarantined("n1"))

    played(site, stop)
    played(site, stands)


def test_a_person_takes_a_node_out_and_only_a_person_gives_it_back(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def play(client: Client, _: RemedyRunner) -> None:
        code, answer = await client.post("/v1/remedies/a/quarantine", reason="cable is swapped")
        assert (code, answer["remedy"]["manual"]) == (200, True)
        await until(lambda: site.quarantined("n1"))
        code, answer = await client.post("/v1/remedies/a/release", reason="done")
        assert code == 200
        await until(lambda: not site.quarantined("n1"))

    played(site, play)


def test_who_is_held_by_a_person_is_left_alone(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def play(client: Client, remedies: RemedyRunner) -> None:
        await client.post("/v1/remedies/a/hold", reason="a demo", **{"for": "4h"})
        (held,) = client.get("/v1/remedies")["held"]
        assert (held["node"], held["by"], held["reason"]) == ("a", "kim", "a demo")
        site.watts = 100.0
        await until(lambda: "a" in remedies.engine.state.remedies)
        await until(lambda: "kim" in client.get("/v1/remedies")["remedies"][0]["in_the_way"])
        assert not site.quarantined("n1")

    played(site, play)


def test_marks_and_spares_are_listed(tmp_path: Path, fake_plugin: list[FakeScheduler]) -> None:
    site = HubSite(tmp_path, spares=("n2",))
    fake_plugin.append(site.world)

    async def play(client: Client, remedies: RemedyRunner) -> None:
        await client.post("/v1/remedies/a/quarantine", reason="cable is swapped")
        await until(lambda: bool(client.get("/v1/holds")["holds"]))
        (mark,) = client.get("/v1/holds")["holds"]
        assert (mark["node"], mark["target"], mark["manual"]) == ("a", "n1", True)
        assert mark["set_at"] is not None
        assert client.get("/v1/holds")["left_alone"] == []
        await client.post("/v1/remedies/a/hold", reason="a demo", **{"for": "4h"})
        (alone,) = client.get("/v1/holds")["left_alone"]
        assert (alone["node"], alone["by"], alone["reason"]) == ("a", "kim", "a demo")
        assert alone["until"] is not None
        (spare,) = client.get("/v1/spares")["spares"]
        assert (spare["name"], spare["standing"], spare["tested"]) == ("n2", "ready", None)
        assert spare["usable"] is False, "no agent tells of it"

    played(site, play)


@pytest.mark.parametrize(
    ("path", "body", "error", "text"),
    [
        ("/v1/remedies/b/release", {"reason": "x"}, UnmetError, "no node 'b'"),
        ("/v1/remedies/a/release", {"reason": " "}, UsageError, "reason: a reason is required"),
        ("/v1/remedies/a/approve", {"reason": "x"}, UsageError, "plan: say which plan"),
        ("/v1/remedies/a/release", {"reason": "x", "plan": "1"}, UsageError, "only approve"),
        ("/v1/remedies/a/release", {"reason": "x", "for": "1h"}, UsageError, "only hold and deny"),
        ("/v1/remedies/a/hold", {"reason": "x", "for": "2"}, UsageError, "2"),
        ("/v1/stop", {"reason": "x", "why": "y"}, UsageError, "why"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path,
    fake_plugin: list[FakeScheduler],
    path: str,
    body: dict[str, str],
    error: type[AccelwatchError],
    text: str,
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def play(client: Client, remedies: RemedyRunner) -> None:
        with pytest.raises(error, match=text):
            await client.post(path, **body)
        assert not remedies.engine.state.remedies

    played(site, play)


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("/v1/stop", Role.ACT),
        ("/v1/start", Role.ADMIN),
        ("/v1/breaker/reset", Role.ADMIN),
        ("/v1/remedies/a/approve", Role.APPROVE),
        ("/v1/remedies/a/deny", Role.APPROVE),
        ("/v1/remedies/a/quarantine", Role.ACT),
        ("/v1/remedies/a/release", Role.ACT),
        ("/v1/remedies/a/force_release", Role.ADMIN),
        ("/v1/remedies/a/forget", Role.ADMIN),
    ],
)
def test_each_word_needs_its_role(tmp_path: Path, path: str, role: Role) -> None:
    pages = RouteTable(RemedyPages(lambda: None, HubSite(tmp_path).clock, set).routes())
    assert pages.methods(path) == ("POST",)
    refused = []
    for may in Role:
        change = Change(method="POST", path=path, query={}, headers=JSON, body=b"{}", role=may)
        with contextlib.suppress(UnmetError):  # nobody acts here
            page = asyncio.run(pages.act(change, True))
            assert page.code == 403
            refused.append(may)
    assert refused == list(Role)[: role.weight]


def test_what_cannot_be_requested_has_no_page(tmp_path: Path) -> None:
    pages = RouteTable(RemedyPages(lambda: None, HubSite(tmp_path).clock, set).routes())
    assert pages.methods("/v1/remedies/a/explode") == ()


def test_a_hub_that_does_not_act_says_so(tmp_path: Path) -> None:
    site_pages = RemedyPages(lambda: None, HubSite(tmp_path).clock, lambda: {"a": 0})
    pages = RouteTable(site_pages.routes())
    for path in ("/v1/remedies", "/v1/holds", "/v1/spares"):
        page = pages.page(path, {}, {})
        assert isinstance(page, Page)
        assert json.loads(page.body)["acts"] is False
    with pytest.raises(UnmetError, match=r"remedy\.actions"):
        pages.page("/v1/plan", {"node": ["a"]}, {})
