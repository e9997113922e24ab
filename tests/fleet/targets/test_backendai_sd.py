"""Targets of a Backend.AI manager: agents' names are the nodes', and a shared address is reported."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import MAX_HOSTS
from accelwatch.fleet.scrape_settings import Authorization, Credentials
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.backendai import BackendAiTargets, agents_in, http_settings
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import BackendAiSd
from support.fleet.target_discovery import finding

TOKEN = Credentials(authorization=Authorization(credentials_file="/run/token"))


def service(group: str, name: str, address: str, **labels: str) -> dict[str, object]:
    """An entry of the page of 26.9; before, it had a `service_id` besides."""
    known = {"service_group": group, "display_name": name, "version": "26.9.6", **labels}
    return {"targets": [address], "labels": known}


MANAGER = service("manager", "manager-i-head", "10.0.0.1:18080")
FIRST = service("agent", "agent-i-gpu1", "10.0.0.11:6003")
SECOND = service("agent", "agent-i-gpu2", "10.0.0.12:6003", service_id="31df9e13")


class Served:
    """What the manager says next, and which paths were asked for."""

    def __init__(self, *groups: object) -> None:
        self.groups: object = list(groups)
        self.paths: list[str] = []


@contextlib.asynccontextmanager
async def manager(served: Served) -> AsyncIterator[str]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        served.paths.append(request.path_qs)
        return web.json_response(served.groups)

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def settings(url: str, **changes: Any) -> BackendAiSd:
    return BackendAiSd(**{"url": url, "refresh_s": 0.02, "timeout_s": 0.3, **changes})


def targets(served: Served, rules: Rules | None = None, **changes: Any) -> list[Target]:
    """What is discovered."""

    async def main() -> list[Target]:
        async with manager(served) as url:
            discovery = BackendAiTargets(settings(url, **changes), rules or Rules())
            async with finding(discovery) as progress:
                await progress.turn()
                return sorted(progress.targets, key=lambda target: (target.node, target.address))

    return asyncio.run(main())


def notes(served: Served, **changes: Any) -> tuple[list[Target], dict[str, str]]:
    async def main() -> tuple[list[Target], dict[str, str]]:
        async with manager(served) as url:
            discovery = BackendAiTargets(settings(url, **changes), Rules())
            async with finding(discovery) as progress:
                await progress.turn()
                return list(progress.targets), dict(discovery.kept.notes)

    return asyncio.run(main())


def test_agents_are_nodes_and_nobody_else() -> None:
    served = Served(MANAGER, SECOND, FIRST)
    found = targets(served, agent_port=None)
    assert [(target.node, target.address, target.labels) for target in found] == [
        ("i-gpu1", "10.0.0.11:6003", {}),
        ("i-gpu2", "10.0.0.12:6003", {}),
    ]
    assert served.paths[0] == "/metrics/service_discovery"


def test_our_agent_beside_it_is_a_target_of_the_same_node() -> None:
    found = targets(Served(FIRST))
    assert [(target.node, target.address) for target in found] == [
        ("i-gpu1", "10.0.0.11:6003"),
        ("i-gpu1", "10.0.0.11:9877"),
    ]
    found = targets(Served(FIRST), agent_port=9999, platform=False)
    assert [(target.node, target.address) for target in found] == [("i-gpu1", "10.0.0.11:9999")]


def test_backend_ais_own_page_is_shown_no_credentials() -> None:
    rules = Rules(scheme="https", credentials=TOKEN)
    theirs, ours = targets(Served(FIRST), rules)
    assert (theirs.scheme, theirs.credentials) == ("http", Credentials())
    assert (ours.scheme, ours.credentials) == ("https", TOKEN)


def test_labels_are_the_sections_and_the_sites() -> None:
    served = Served(service("agent", "agent-i-gpu1", "10.0.0.11:6003", rack="r7"))
    (target,) = targets(served, agent_port=None, labels={"pool": "train", "rack": "none"})
    assert target.labels == {"pool": "train", "rack": "r7"}
    rules = Rules(rename={"rack": "row"})
    (target,) = targets(served, rules, agent_port=None)
    assert target.labels == {"row": "r7"}


def test_a_worker_more_of_an_agent_is_no_second_target() -> None:
    """26.1 lists each of them."""
    again = service("agent", "agent-i-gpu1", "10.0.0.11:6003", service_id="9b69795f")
    found, refused = notes(Served(FIRST, again), agent_port=None)
    assert ([target.node for target in found], refused) == (["i-gpu1"], {})


def test_agents_of_one_address_are_reported_and_not_followed() -> None:
    """The page behind it is of one of them, and nobody knows of which."""
    twin = service("agent", "agent-i-gpu3", "10.0.0.11:6003")
    found, refused = notes(Served(FIRST, SECOND, twin), agent_port=None)
    assert [target.node for target in found] == ["i-gpu2"]
    (text,) = refused.values()
    assert text.startswith("agents i-gpu1, i-gpu3 announce an address that is not theirs alone")
    assert "10.0.0.11:6003" in text
    assert "announce-addr" in text


def test_the_address_of_an_agent_without_one_is_reported() -> None:
    """All agents have it, and 26.9 lists one of them."""
    unset = service("agent", "agent-i-gpu4", "host.docker.internal:6003")
    found, refused = notes(Served(unset, SECOND), agent_port=None)
    assert [target.node for target in found] == ["i-gpu2"]
    (text,) = refused.values()
    assert "i-gpu4" in text


def test_many_agents_of_one_address_are_counted() -> None:
    twins = [service("agent", f"agent-i-gpu{at}", "10.0.0.11:6003") for at in range(1, 6)]
    found, refused = notes(Served(*twins))
    assert found == []
    assert "i-gpu1, i-gpu2, i-gpu3 and 2 more" in next(iter(refused.values()))


def test_what_was_pending_is_over_when_the_addresses_are_set() -> None:
    served = Served(service("agent", "agent-i-gpu1", "host.docker.internal:6003"))

    async def main() -> None:
        async with manager(served) as url:
            discovery = BackendAiTargets(settings(url), Rules())
            async with finding(discovery) as progress:
                await progress.turn()
                assert discovery.kept.notes
                served.groups = [FIRST]
                await progress.until(lambda: len(progress.targets) == 2)
                assert not discovery.kept.notes

    asyncio.run(main())


def test_an_answer_that_is_refused_changes_nothing_that_was_reported() -> None:
    """Also where it would have more to list."""
    served = Served(FIRST)

    async def main() -> None:
        async with manager(served) as url:
            discovery = BackendAiTargets(settings(url), Rules())
            async with finding(discovery) as progress:
                await progress.turn()
                unset = service("agent", "agent-i-gpu3", "host.docker.internal:6003")
                served.groups = [
                    service("agent", "agent-i-gpu2", "n2:6003", **{"no-label": ""}),
                    unset,
                ]
                await progress.until(lambda: bool(discovery.kept.complaints))
                assert not discovery.kept.notes

    asyncio.run(main())


def test_pages_of_one_address_may_have_paths_of_their_own() -> None:
    paths = [
        service("agent", f"agent-i-gpu{at}", "10.0.0.11:80", __metrics_path__=f"/agents/{at}")
        for at in (1, 2)
    ]
    found = targets(Served(*paths), agent_port=None)
    assert [(target.node, target.metrics_path) for target in found] == [
        ("i-gpu1", "/agents/1"),
        ("i-gpu2", "/agents/2"),
    ]
    _, ours = targets(Served(paths[0]))
    assert (ours.address, ours.metrics_path) == ("10.0.0.11:9877", "/metrics")


@pytest.mark.parametrize(
    "name", ["agent-", "manager-i-head", "", "i-gpu1"], ids=["nameless", "manager", "none", "bare"]
)
def test_a_service_that_is_no_agent_by_its_name_is_left_out(name: str) -> None:
    assert (
        targets(Served(service("agent", name, "10.0.0.11:6003"), SECOND), agent_port=None)[0].node
        == "i-gpu2"
    )


def test_an_ipv6_address_without_brackets() -> None:
    served = Served(service("agent", "agent-i-gpu1", "fd00::11:6003"))
    assert [target.address for target in targets(served)] == [
        "[fd00::11]:6003",
        "[fd00::11]:9877",
    ]


@pytest.mark.parametrize("answer", [{"targets": []}, [{"targets": "n1"}], [{"labels": {}}], "x"])
def test_an_answer_that_makes_no_sense_leaves_the_targets_before(answer: object) -> None:
    served = Served(FIRST)

    async def main() -> None:
        async with manager(served) as url:
            discovery = BackendAiTargets(settings(url), Rules())
            async with finding(discovery) as progress:
                await progress.turn()
                served.groups = answer
                await progress.until(lambda: bool(discovery.kept.complaints))
                await progress.turn()
                assert len(progress.targets) == 2

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("http://m:18080", "http://m:18080/metrics/service_discovery"),
        ("https://m/", "https://m/metrics/service_discovery"),
        ("https://m?token=x", "https://m/metrics/service_discovery?token=x"),
        ("https://m/proxy/targets", "https://m/proxy/targets"),
    ],
)
def test_the_page_is_the_managers_where_the_url_names_none(url: str, page: str) -> None:
    assert http_settings(settings(url)).url == page


@pytest.mark.parametrize("url", ["", "m:18080", "ftp://m", "http://[::1", "http://u:p@m"])
def test_a_url_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        BackendAiTargets(settings(url), Rules())


def complaint(served: Served, **changes: Any) -> str:
    """Why the answer is refused; empty where it is not."""

    async def main() -> str:
        async with manager(served) as url:
            discovery = BackendAiTargets(settings(url, **changes), Rules())
            async with finding(discovery) as progress:
                await progress.turn()
                return "".join(discovery.kept.complaints.values())

    return asyncio.run(main())


@pytest.mark.parametrize("changes", [{}, {"agent_port": None}, {"platform": False}])
def test_an_agent_is_one_machine(changes: dict[str, Any]) -> None:
    """A range of hosts would give a hundred thousand targets one node's name."""
    served = Served(service("agent", "agent-i-gpu1", "n[1-3]:6003"))
    assert "n[1-3]:6003" in complaint(served, **changes)


@pytest.mark.parametrize("address", ["10.0.0.11", "", ":6003", "fd00::11:x"])
def test_an_address_without_host_and_port_is_refused(address: str) -> None:
    assert repr(address) in complaint(Served(service("agent", "agent-i-gpu1", address), SECOND))


def test_a_page_of_more_agents_than_a_fleet_has_is_refused() -> None:
    group = service("agent", "agent-i-gpu1", "")
    group["targets"] = [f"n{number}:6003" for number in range(MAX_HOSTS + 1)]
    with pytest.raises(UsageError, match=f"more than {MAX_HOSTS} agents"):
        agents_in([group])


def test_a_name_in_a_note_is_short_and_printable() -> None:
    names = ("agent-\x1b[2J" + "x" * 100_000, "agent-i-gpu1")
    _, refused = notes(Served(*(service("agent", name, "10.0.0.11:6003") for name in names)))
    (text,) = refused.values()
    assert text.isprintable()
    assert len(text) < 1000
