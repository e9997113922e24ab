"""Who is known by a request's signature, and what each role may do."""

import asyncio
from typing import Any

import pytest

from accelwatch_lab.cluster.backendai.access import Account
from accelwatch_lab.cluster.backendai.api_server.problems import RequestError
from support.backendai.served import ServedCluster, signed
from support.backendai.stand_in import StandInCluster

MINUTE_S = 60.0
QUARANTINE = 'mutation{modify_agent(id:"i-gpu1",props:{schedulable:false}){ok msg}}'


def test_anybody_gets_the_release(cluster: ServedCluster) -> None:
    async def run() -> None:
        status, answer = await cluster.request("GET", "/")
        assert (status, answer["manager"]) == (200, cluster.release)

    asyncio.run(run())


def test_a_wrong_secret_and_an_unknown_key_are_unauthorized(cluster: ServedCluster) -> None:
    async def run() -> None:
        known = cluster.keys()
        for wrong in (known._replace(secret_key="x"), known._replace(access_key="NOBODY")):
            status, answer = await cluster.request("GET", "/auth/role", keys=wrong)
            assert (status, answer["error_code"]) == (401, "user_auth_unauthorized")

    asyncio.run(run())


@pytest.mark.parametrize("account", Account)
def test_each_role_is_reported_as_the_release_reports_it(
    cluster: ServedCluster, account: Account
) -> None:
    """26.9 refuses everybody but a superadmin, who alone may read users there."""

    async def run() -> None:
        status, answer = await cluster.request("GET", "/auth/role", keys=cluster.keys(account))
        may = account is Account.SUPERADMIN or cluster.release.startswith("26.1.")
        assert status == (200 if may else 403), answer
        if may:
            is_admin = account in (Account.SUPERADMIN, Account.DOMAIN_ADMIN)
            assert answer["domain_role"] == ("admin" if is_admin else "user")
            is_all = account is Account.SUPERADMIN
            assert answer["global_role"] == ("superadmin" if is_all else "user")
        else:
            assert answer["error_code"] == "permission_access_forbidden"

    asyncio.run(run())


def test_a_signature_of_any_characters_is_unauthorized(stand_in: StandInCluster) -> None:
    headers = signed("GET", "/auth/role", stand_in.keys())
    headers["Authorization"] += "\N{LATIN SMALL LETTER E WITH ACUTE}"
    with pytest.raises(RequestError) as raised:
        stand_in.manager.accounts.signed_by("GET", "/auth/role", headers)
    assert raised.value.status == 401


@pytest.mark.parametrize(("minutes", "status"), [(-16, 400), (-14, 200), (14, 200), (16, 400)])
def test_a_date_may_be_a_quarter_of_an_hour_off(
    stand_in: StandInCluster, minutes: int, status: int
) -> None:
    async def run() -> None:
        stand_in.clock.step_wall(minutes * MINUTE_S)
        answered, _ = await stand_in.request("GET", "/auth/role")
        assert answered == status

    asyncio.run(run())


def test_a_user_may_not_quarantine_and_is_refused_with_200(cluster: ServedCluster) -> None:
    async def run() -> None:
        body = {"query": QUARANTINE}
        status, answer = await cluster.request(
            "POST", "/admin/gql", body, keys=cluster.keys(Account.USER)
        )
        assert (status, answer["data"]["modify_agent"]["ok"]) == (200, False)
        assert (await cluster.agents())["i-gpu1"]["schedulable"]

    asyncio.run(run())


@pytest.mark.parametrize("query", ["{agents{id}}", "{agent_list(limit:1,offset:0){total_count}}"])
def test_a_user_does_not_see_agents(cluster: ServedCluster, query: str) -> None:
    async def run() -> None:
        status, answer = await _queried(cluster, query)
        assert (status, list(answer["data"].values())) == (200, [None])
        assert answer["errors"][0]["message"].startswith("Forbidden operation.")

    asyncio.run(run())


def test_a_user_sees_his_own_sessions(cluster: ServedCluster) -> None:
    async def run() -> None:
        mine = await cluster.create_session("mine", account=Account.USER)
        other = await cluster.create_session("other")
        query = '{compute_session_list(limit:9,offset:0,order:"-created_at"){items{session_id}}}'
        _, answer = await _queried(cluster, query)
        # A manager that runs for long knows those of tests before.
        seen = {row["session_id"] for row in answer["data"]["compute_session_list"]["items"]}
        assert seen & {mine, other} == {mine}

    asyncio.run(run())


def test_a_field_that_is_not_there_is_refused_with_200(cluster: ServedCluster) -> None:
    async def run() -> None:
        status, answer = await _queried(cluster, "{agents{bogus}}")
        assert (status, answer["data"]) == (200, None)
        assert answer["errors"][0]["message"] == "Cannot query field 'bogus' on type 'Agent'."

    asyncio.run(run())


async def _queried(cluster: ServedCluster, query: str) -> tuple[int, Any]:
    return await cluster.request(
        "POST", "/admin/gql", {"query": query}, keys=cluster.keys(Account.USER)
    )
