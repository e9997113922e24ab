"""A command over several hubs goes to the hub that acts on the node, and to no other."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from accelwatch.base.errors import AccelwatchError, UncertainError, UnmetError, UsageError
from accelwatch.fleet.avoid.documents import AvoidPage, AvoidReason, NodeToAvoid, ReasonKind
from accelwatch.fleet.documents.remedies import Commanded, RemediesPage, SpareDocument, SparesPage
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.hub_client.several.requests.session import SeveralSession
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from support.fleet.canned_hubs import CannedHub, serving
from support.incidents.remedy_documents import page, remedy


@contextlib.asynccontextmanager
async def over(*hubs: CannedHub) -> AsyncIterator[SeveralSession]:
    """A session over hubs `pod-1`, `pod-2` ..."""
    async with serving(*hubs) as endpoints:
        session = SeveralSession(endpoints)
        try:
            yield session
        finally:
            await session.close()


def test_of_two_hubs_that_follow_a_node_the_one_that_acts_on_it_gets_the_command() -> None:
    async def main() -> None:
        first, second = CannedHub(page()), CannedHub(page(remedy("n1", "draining", "i1")))
        async with over(first, second) as session:
            await session.change("POST", "/v1/remedies/n1/hold", None, b"{}")
            await session.document("/v1/plan", {"node": "n1"})
        assert first.requests == []
        assert second.requests == ["POST /v1/remedies/n1/hold", "GET /v1/plan?node=n1"]

    asyncio.run(main())


def test_else_the_one_that_acts_gets_the_command() -> None:
    async def main() -> None:
        first, second = CannedHub(page(acts=False)), CannedHub(page())
        async with over(first, second) as session:
            await session.change("POST", "/v1/remedies/n1/hold", None, b"{}")
        assert (first.requests, second.requests) == ([], ["POST /v1/remedies/n1/hold"])

    asyncio.run(main())


def test_of_hubs_that_do_not_act_one_gets_the_request_and_the_refusal_names_it() -> None:
    async def main() -> None:
        first, second = CannedHub(page(acts=False)), CannedHub(page(acts=False))
        first.refuses = second.refuses = 404
        async with over(first, second) as session:
            with pytest.raises(TargetFault, match="^hub pod-1: ") as raised:
                await session.change("POST", "/v1/remedies/n1/quarantine", None, b"{}")
        assert raised.value.code == 404
        assert (first.requests, second.requests) == (["POST /v1/remedies/n1/quarantine"], [])

    asyncio.run(main())


def test_a_node_of_one_hub_and_a_node_of_none() -> None:
    async def main() -> None:
        first, second = CannedHub(page(), "n 1/a"), CannedHub(page(), "n2")
        async with over(first, second) as session:
            await session.change("POST", "/v1/remedies/n%201%2Fa/hold", None, b"{}")
            with pytest.raises(UnmetError, match="no hub has a node 'n9'"):
                await session.change("POST", "/v1/remedies/n9/hold", None, b"{}")
        assert (first.requests, second.requests) == (["POST /v1/remedies/n%201%2Fa/hold"], [])

    asyncio.run(main())


def test_of_two_machines_of_one_name_none_is_chosen() -> None:
    async def main() -> None:
        first, second = CannedHub(page()), CannedHub(page(remedy("n1", "draining", "i1")))
        second.serial = "other"
        async with over(first, second) as session:
            with pytest.raises(UnmetError, match="write n1@pod-1 or n1@pod-2"):
                await session.change("POST", "/v1/remedies/n1/quarantine", None, b"{}")
            with pytest.raises(UnmetError, match="write n1@pod-1 or n1@pod-2"):
                await session.document("/v1/plan", {"node": "n1"})
            assert (first.requests, second.requests) == ([], [])
            await session.change("POST", "/v1/remedies/n1@pod-1/quarantine", None, b"{}")
        assert (first.requests, second.requests) == (["POST /v1/remedies/n1/quarantine"], [])

    asyncio.run(main())


def test_incidents_of_a_node_are_requested_by_the_name_that_its_hub_has() -> None:
    async def main() -> None:
        first, second = CannedHub(page()), CannedHub(page())
        second.serial = "other"
        async with over(first, second) as session:
            await session.document("/v1/incidents", {"node": "n1@pod-2"})
        # The first hub has no node of that name, and answers with none.
        assert first.requests == ["GET /v1/incidents?node=n1%40pod-2"]
        assert second.requests == ["GET /v1/incidents?node=n1"]

    asyncio.run(main())


def test_a_job_is_explained_by_the_hub_that_knows_it() -> None:
    query = {"rule": "gpu.lost", "entity": "job:4711"}
    requests = "GET /v1/explain?rule=gpu.lost&entity=job%3A4711"

    async def main() -> None:
        first, second = CannedHub(page(), "n1"), CannedHub(page(), "n2")
        first.refuses = 404
        async with over(first, second) as session:
            assert msgspec.json.decode(await session.document("/v1/explain", query))
            assert (first.requests, second.requests) == ([requests], [requests])
            # Where none knows it, the first answer stands.
            second.refuses = 400
            with pytest.raises(TargetFault) as raised:
                await session.document("/v1/explain", query)
        assert raised.value.code == 404

    asyncio.run(main())


@pytest.mark.parametrize("path", ["/v1/maintenance", "/v1/evidence"])
def test_what_is_about_no_hub_is_sent_to_none(path: str) -> None:
    async def main() -> None:
        first, second = CannedHub(page()), CannedHub(page())
        async with over(first, second) as session:
            with pytest.raises(UsageError, match=r"--hub http://127.0.0.1:\d+ or --hub http://"):
                await session.change("POST", path, None, b"{}")
        assert (first.requests, second.requests) == ([], [])

    asyncio.run(main())


def test_a_stop_is_sent_to_every_hub_that_acts() -> None:
    async def main() -> None:
        hubs = CannedHub(page()), CannedHub(page(acts=False)), CannedHub(page())
        async with over(*hubs) as session:
            answer = await session.change("POST", "/v1/stop", None, b"{}")
        assert [hub.requests for hub in hubs] == [["POST /v1/stop"], [], ["POST /v1/stop"]]
        notes = msgspec.json.decode(answer, type=Commanded).notes
        assert [note.text for note in notes] == ["pod-1: done", "pod-3: done"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("code", "kind"), [(403, AccelwatchError), (503, AccelwatchError), (500, UncertainError)]
)
def test_a_stop_that_one_hub_does_not_accept_says_what_each_did(
    code: int, kind: type[AccelwatchError]
) -> None:
    async def main() -> None:
        first, second = CannedHub(page()), CannedHub(page())
        second.refuses = code
        async with over(first, second) as session:
            with pytest.raises(kind, match="pod-1: done; pod-2: not accepted: ") as raised:
                await session.change("POST", "/v1/stop", None, b"{}")
            assert type(raised.value) is kind

    asyncio.run(main())


def test_a_stop_does_not_pass_over_a_hub_that_does_not_answer() -> None:
    async def main() -> None:
        first = CannedHub(page())
        async with over(first) as session:
            endpoints = [session.endpoint, HubEndpoint(name="pod-2", base="http://127.0.0.1:1")]
            both = SeveralSession(endpoints)
            with pytest.raises(AccelwatchError, match="pod-1: done; pod-2: not accepted: cannot"):
                await both.change("POST", "/v1/stop", None, b"{}")
            await both.close()
        assert first.requests == ["POST /v1/stop"]

    asyncio.run(main())


def test_a_stop_waits_for_no_hub_that_hangs() -> None:
    """Whether the others act is known before the one that hangs gives up."""

    async def main() -> None:
        first, second = CannedHub(page()), CannedHub(page())
        async with over(first, second) as session:
            second.hangs = asyncio.Event()
            stop = asyncio.create_task(session.change("POST", "/v1/stop", None, b"{}"))
            while not first.requests:
                await asyncio.sleep(0.01)
            assert not stop.done()
            second.hangs.set()
            await stop
        assert (first.requests, second.requests) == (["POST /v1/stop"], ["POST /v1/stop"])

    asyncio.run(asyncio.wait_for(main(), 30))


def test_a_stop_reaches_all_hubs_where_none_acts() -> None:
    async def main() -> None:
        hubs = CannedHub(page(acts=False)), CannedHub(page(acts=False))
        async with over(*hubs) as session:
            await session.change("POST", "/v1/stop", None, b"{}")
        assert [hub.requests for hub in hubs] == [["POST /v1/stop"], ["POST /v1/stop"]]

    asyncio.run(main())


def test_nodes_to_avoid_of_both_hubs() -> None:
    def bad(node: str, incident: str) -> NodeToAvoid:
        reason = AvoidReason(kind=ReasonKind.INCIDENT, text="lost", incident=incident)
        return NodeToAvoid(node=node, host="", scheduler_name="", reasons=(reason,))

    async def main() -> None:
        first, second = CannedHub(page(), "n1", "n2"), CannedHub(page(), "n1", "n10")
        first.avoided = msgspec.structs.replace(
            first.avoided, nodes=(bad("n1", "i1"),), problems=("no journal",)
        )
        second.avoided = msgspec.structs.replace(
            second.avoided, nodes=(bad("n10", "i2"), bad("n1", "i1")), rules=3
        )
        async with over(first, second) as session:
            body = await session.document("/v1/avoid")
        shown = msgspec.json.decode(body, type=AvoidPage)
        assert [node.node for node in shown.nodes] == ["n1", "n10"]
        assert [reason.incident for reason in shown.nodes[0].reasons] == ["i1@pod-1", "i1@pod-2"]
        assert (shown.nodes_total, shown.rules) == (3, 3)
        assert shown.problems == ("pod-1: no journal",)

    asyncio.run(main())


def spare(name: str, incident: str = "") -> SpareDocument:
    return SpareDocument(
        name=name,
        node=name,
        state="in_use" if incident else "ready",
        usable=not incident,
        incident=incident,
        replaces="n9" if incident else "",
        tested=None,
        text="",
        pools=("train",),
        model="",
        rack="r1",
        score=0.0,
    )


def test_spares_of_both() -> None:
    async def main() -> None:
        first, second = CannedHub(page(), "n1", "n10"), CannedHub(page(), "n1", "n2")
        second.serial = "other"
        first.spares = SparesPage(acts=True, spares=(spare("n10"), spare("n1", "i1")))
        second.spares = SparesPage(acts=True, test_max_age_s=60.0, spares=(spare("n1"),))
        async with over(first, second) as session:
            body = await session.document("/v1/spares")
            second.refuses = 500
            without = await session.document("/v1/spares")
        shown = msgspec.json.decode(body, type=SparesPage)
        assert [(one.node, one.incident) for one in shown.spares] == [
            ("n1@pod-1", "i1@pod-1"),
            ("n1@pod-2", ""),
            ("n10", ""),
        ]
        assert (shown.acts, shown.test_max_age_s, shown.problems) == (True, 60.0, ())
        (problem,) = msgspec.json.decode(without, type=SparesPage).problems
        assert problem.startswith("hub pod-2: ")

    asyncio.run(main())


def test_remedies_of_both() -> None:
    async def main() -> None:
        first = CannedHub(page(remedy("n1", "failed", "i1")), "n1")
        second = CannedHub(page(remedy("n2", "draining", "i1")), "n2")
        async with over(first, second) as session:
            body = await session.document("/v1/remedies")
        shown = msgspec.json.decode(body, type=RemediesPage)
        assert {(one.node, one.incident) for one in shown.remedies} == {
            ("n1", "i1@pod-1"),
            ("n2", "i1@pod-2"),
        }

    asyncio.run(main())
