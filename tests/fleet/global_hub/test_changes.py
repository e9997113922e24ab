"""What people do through a hub over hubs: at the right hub below, with the roles of both."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from accelwatch.web.protection.roles import Role
from accelwatch.web.protection.web_config import Protection
from agent.credentials import HASH, basic
from support.fleet.canned_hubs import CannedHub, serving
from support.fleet.global_hubs import following_hubs, until_fleet
from support.fleet.hub_peers import Running
from support.incidents.remedy_documents import page, remedy

PASSWORD = "correct horse"
ANA: dict[str, Any] = {"headers": basic("ana", PASSWORD)}
BEN: dict[str, Any] = {"headers": basic("ben", PASSWORD)}
CY: dict[str, Any] = {"headers": basic("cy", PASSWORD)}
PROTECTION = Protection(
    users={"ana": HASH, "ben": HASH, "cy": HASH},
    roles={"ana": Role.ADMIN, "ben": Role.APPROVE},
)
APPROVE = {"reason": "seen", "plan": "5f3a91c2d4e5f607"}


@contextlib.asynccontextmanager
async def over(*hubs: CannedHub, protection: Protection = PROTECTION) -> AsyncIterator[Running]:
    """A hub over canned ones, which knows all their nodes."""
    async with (
        serving(*hubs) as endpoints,
        following_hubs(endpoints, protection=protection) as upper,
    ):
        count = len({node for hub in hubs for node in hub.nodes})
        await until_fleet(upper, lambda fleet: fleet.nodes_total == count)
        yield upper


def two() -> tuple[CannedHub, CannedHub]:
    return CannedHub(page(), "n1"), CannedHub(page(remedy("n2", "draining", "i1")), "n2")


def words(hub: CannedHub) -> list[str]:
    """What it was commanded to do, apart from what was queried."""
    return [text for text in hub.requests if not text.startswith("GET")]


def test_an_approval_goes_to_the_hub_of_the_node_with_the_name_of_who_gives_it() -> None:
    async def main() -> None:
        first, second = two()
        async with over(first, second) as upper:
            await upper.post("/v1/remedies/n2/approve", json=APPROVE, **BEN)
        assert (words(first), words(second)) == ([], ["POST /v1/remedies/n2/approve"])
        body: dict[str, Any] = msgspec.json.decode(
            second.bodies[second.requests.index("POST /v1/remedies/n2/approve")]
        )
        assert body == {**APPROVE, "reason": "seen (for ben)", "by": "ben"}

    asyncio.run(main())


def test_a_silence_goes_to_the_hub_of_its_node_and_one_by_rule_is_refused() -> None:
    async def main() -> None:
        first, second = two()
        async with over(first, second) as upper:
            silence = {"matchers": ["node=n2"], "for": "2h", "reason": "swap"}
            await upper.post("/v1/silences", json=silence, **ANA)
            text = await upper.post(
                "/v1/silences", 400, json={**silence, "matchers": ["rule=gpu.lost"]}, **ANA
            )
            assert "ask one of the hubs that this hub follows (pod-1, pod-2)" in text
        assert (words(first), words(second)) == ([], ["POST /v1/silences"])

    asyncio.run(main())


def test_an_incident_is_closed_at_the_hub_in_its_id() -> None:
    async def main() -> None:
        first, second = two()
        async with over(first, second) as upper:
            await upper.post("/v1/incidents/i7@pod-2/close", json={"reason": "done"}, **ANA)
            text = await upper.post("/v1/incidents/i7/close", 404, json={"reason": "x"}, **ANA)
            assert "i7@pod-1" in text
            await upper.post("/v1/nodes/n1/acknowledge", **ANA)
        assert words(first) == ["POST /v1/nodes/n1/acknowledge?on_behalf_of=ana"]
        assert words(second) == ["POST /v1/incidents/i7/close"]

    asyncio.run(main())


def test_of_people_that_a_hub_over_hubs_names_all_are_passed_on() -> None:
    async def main() -> None:
        first, second = two()
        async with over(first, second) as upper:
            query = {"on_behalf_of": "cy"}
            await upper.post("/v1/nodes/n1/acknowledge", params=query, **ANA)
        assert words(first) == ["POST /v1/nodes/n1/acknowledge?on_behalf_of=cy%2C+ana"]

    asyncio.run(main())


def test_who_may_only_read_here_changes_nothing_below() -> None:
    async def main() -> None:
        first, second = two()
        async with over(first, second) as upper:
            text = await upper.post("/v1/remedies/n2/approve", 403, json=APPROVE, **CY)
            assert "cy may read, and this needs approve" in text
            # Who may approve may not hold, and who may act here may not start everything again.
            await upper.post("/v1/remedies/n2/hold", 403, json={"reason": "x"}, **BEN)
            await upper.post("/v1/start", 403, json={"reason": "x"}, **BEN)
        assert words(first) + words(second) == []

    asyncio.run(main())


def test_a_hub_without_authentication_passes_nothing_on() -> None:
    async def main() -> None:
        first, second = two()
        async with over(first, second, protection=Protection()) as upper:
            text = await upper.post("/v1/remedies/n2/hold", 403, json={"reason": "x"})
            assert "needs credentials" in text
        assert words(first) + words(second) == []

    asyncio.run(main())


def test_what_the_hub_below_refuses_is_shown_with_its_name() -> None:
    async def main() -> None:
        first, second = two()
        second.refuses = 403
        async with over(first, second) as upper:
            text = await upper.post("/v1/remedies/n2/hold", 403, json={"reason": "x"}, **ANA)
            assert text.startswith("hub pod-2: answered 403")
            # Our own credentials are wrong there, not those of who asks here.
            second.refuses = 401
            text = await upper.post("/v1/remedies/n2/hold", 403, json={"reason": "x"}, **ANA)
            assert text.startswith("hub pod-2: answered 401")
            # Whether it was done is unknown after a failure of the hub, and certain after a refusal.
            second.refuses = 500
            await upper.post("/v1/remedies/n2/hold", 502, json={"reason": "x"}, **ANA)
            second.refuses = 503
            await upper.post("/v1/remedies/n2/hold", 503, json={"reason": "x"}, **ANA)

    asyncio.run(main())


def test_a_stop_goes_to_every_hub_that_acts() -> None:
    async def main() -> None:
        first, second = CannedHub(page(acts=False), "n1"), two()[1]
        async with over(first, second) as upper:
            await upper.post("/v1/stop", json={"reason": "storm"}, **ANA)
        assert (words(first), words(second)) == ([], ["POST /v1/stop"])

    asyncio.run(main())


def test_a_plan_and_the_page_of_an_incident() -> None:
    async def main() -> None:
        first, second = two()
        async with over(first, second) as upper:
            await upper.get("/v1/plan", params={"node": "n2"}, **ANA)
            assert "GET /v1/plan?node=n2" in second.requests
            text = await upper.get("/incidents/i7@pod-2", 404, **ANA)
            assert "the page of i7 is at hub pod-2" in text
            text = await upper.get("/v1/odd", 400, **ANA)
            assert "ask one of the hubs that this hub follows (pod-1, pod-2)" in text

    asyncio.run(main())


def test_every_route_of_a_hub_has_its_role_here() -> None:
    async def main() -> None:
        first, second = two()
        async with over(first, second) as upper:
            paths = (await upper.get("/v1/openapi.json", **ANA))["paths"]
        needed = {
            path: operation["description"]
            for path, operations in paths.items()
            for method, operation in operations.items()
            if method != "get"
        }
        assert needed["/v1/start"] == "Needs the role admin, where there are logins."
        assert needed["/v1/remedies/{node}/approve"].startswith("Needs the role approve")
        assert len(needed) > 15

    asyncio.run(main())


def test_maintenance_of_the_nodes_of_one_hub_goes_there() -> None:
    async def main() -> None:
        first, second = CannedHub(page(), "n1"), CannedHub(page(), "m1", "m2")
        async with over(first, second) as upper:
            window = {"nodes": ["m[1-2]"], "for": "2h", "reason": "cables"}
            await upper.post("/v1/maintenance", json=window, **ANA)
            both = {**window, "nodes": ["n1", "m1"]}
            text = await upper.post("/v1/maintenance", 400, json=both, **ANA)
            assert "(pod-1, pod-2)" in text
            everything = {"all": True, "for": "2h", "reason": "cables"}
            await upper.post("/v1/maintenance", 400, json=everything, **ANA)
            await upper.post("/v1/maintenance", 404, json={**window, "nodes": ["x"]}, **ANA)
        assert (words(first), words(second)) == ([], ["POST /v1/maintenance"])
        body = msgspec.json.decode(second.bodies[second.requests.index("POST /v1/maintenance")])
        assert body["nodes"] == ["m[1-2]"]

    asyncio.run(main())


def test_a_body_that_no_hub_would_take_goes_to_none() -> None:
    async def main() -> None:
        first, second = two()
        async with over(first, second) as upper:
            for body in (b"nonsense", b"[]", b'{"matchers": 1, "reason": "x"}', b'{"x": 1}'):
                headers = {**ANA["headers"], "Content-Type": "application/json"}
                await upper.post("/v1/silences", 400, data=body, headers=headers)
        assert words(first) + words(second) == []

    asyncio.run(main())


def test_which_hub_leads_is_queried_from_the_hubs_below() -> None:
    async def main() -> None:
        first, second = two()
        async with over(first, second) as upper:
            text = await upper.get("/v1/hubs", 404, **ANA)
            assert "follows hubs (pod-1, pod-2)" in text

    asyncio.run(main())


@pytest.mark.parametrize("answer", [b"yes", b"[]", b"\xff"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/silences", {"matchers": ["node=n2"], "for": "2h", "reason": "swap"}),
        ("/v1/incidents/i1@pod-2/close", {"reason": "done"}),
        ("/v1/stop", {"reason": "wait"}),
    ],
)
def test_of_an_answer_that_cannot_be_read_it_is_unknown_what_was_done(
    path: str, body: dict[str, Any], answer: bytes
) -> None:
    async def main() -> None:
        first, second = two()
        second.garbles = answer
        async with over(first, second) as upper:
            text = await upper.post(path, 502, json=body, **ANA)
        assert "pod-2: " in text
        assert "cannot be read" in text

    asyncio.run(main())


def test_an_incident_that_cannot_be_read_is_a_fault_of_its_hub() -> None:
    async def main() -> None:
        first, second = two()
        second.garbles = b"[]"
        async with over(first, second) as upper:
            text = await upper.get("/v1/incidents/i1@pod-2", 503, **ANA)
        assert text.startswith("hub pod-2: its answer cannot be read: ")

    asyncio.run(main())
