"""Sessions as managers make, place and end them: asked of every cluster alike."""

import asyncio

from support.backendai.served import ServedCluster, specification

BATCH = {"type": "batch", "startupCommand": "sleep 600", "batch_timeout": "7d"}


def test_a_session_comes_to_run_on_as_many_agents_as_it_has_kernels(cluster: ServedCluster) -> None:
    async def run() -> None:
        row = await cluster.create_batch_session("train", 2)
        assert len(set(row["agent_ids"])) == 2
        roles = sorted(kernel["cluster_role"] for kernel in row["containers"])
        assert roles == ["main", "sub"]
        agents = await cluster.agents()
        taken = {
            name
            for name, agent in agents.items()
            if '"cuda.device": "8"' in agent["occupied_slots"]
        }
        assert taken == set(row["agent_ids"])

    asyncio.run(run())


def test_an_agent_out_of_scheduling_gets_nothing(cluster: ServedCluster) -> None:
    async def run() -> None:
        for name in ("i-gpu1", "i-gpu3"):
            await cluster.change_agent(name, schedulable=False)
        row = await cluster.create_batch_session("train", 2)
        assert set(row["agent_ids"]) == {"i-gpu2", "i-gpu4"}

    asyncio.run(run())


def test_an_agent_of_another_group_gets_nothing(cluster: ServedCluster) -> None:
    async def run() -> None:
        for name in ("i-gpu1", "i-gpu3"):
            await cluster.change_agent(name, scaling_group="spare")
        row = await cluster.create_batch_session("train", 2)
        assert set(row["agent_ids"]) == {"i-gpu2", "i-gpu4"}

    asyncio.run(run())


def test_an_ended_session_is_known_still(cluster: ServedCluster) -> None:
    async def run() -> None:
        row = await cluster.create_batch_session("train")
        await cluster.end_session(row["session_id"])
        ended = await cluster.until(row["session_id"], "TERMINATED")
        assert ended["status_info"] == "user-requested"
        assert ended["agent_ids"] == row["agent_ids"]
        again = await cluster.request("DELETE", f"/session/{row['session_id']}")
        assert again == (200, {"stats": {}})

    asyncio.run(run())


def test_a_session_that_waits_is_cancelled(cluster: ServedCluster) -> None:
    async def run() -> None:
        session = await cluster.create_session("many", cluster_size=9, cluster_mode="multi-node")
        answer = await cluster.request("DELETE", f"/session/{session}")
        assert answer == (200, {"stats": {"status": "cancelled"}})
        assert (await cluster.session(session))["status"] == "CANCELLED"

    asyncio.run(run())


def test_a_name_that_is_there_is_reused_unless_that_is_forbidden(cluster: ServedCluster) -> None:
    async def run() -> None:
        row = await cluster.create_batch_session("train")
        body = specification("train", **BATCH)
        status, refused = await cluster.request("POST", "/session", body)
        assert (status, refused["data"]) == (400, {"existingSessionId": row["session_id"]})
        del body["reuseIfExists"]
        status, reused = await cluster.request("POST", "/session", body)
        assert (status, reused["created"], reused["sessionId"]) == (201, False, row["session_id"])
        assert len(await cluster.sessions(name="train")) == 1

    asyncio.run(run())


def test_a_session_without_room_waits_for_it(cluster: ServedCluster) -> None:
    async def run() -> None:
        await cluster.create_batch_session("train", 3)
        session = await cluster.create_session("pair", cluster_size=2, cluster_mode="multi-node")
        assert (await cluster.session(session))["agent_ids"] is None
        assert (await cluster.session(session))["status"] == "PENDING"

    asyncio.run(run())


def test_a_tag_of_more_than_64_characters_is_an_error_of_the_manager(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        status, _ = await cluster.request("POST", "/session", specification("long", tag="t" * 65))
        assert status == 500
        assert await cluster.sessions(name="long") == []

    asyncio.run(run())


def test_a_lost_agent_keeps_its_session_running_and_hangs_its_end(cluster: ServedCluster) -> None:
    async def run() -> None:
        row = await cluster.create_batch_session("train", 2)
        lost = row["agent_ids"][1]
        cluster.kill_agent(lost)
        assert (await cluster.agents())[lost]["status"] == "ALIVE"
        await cluster.until_lost(lost)
        assert (await cluster.session(row["session_id"]))["status"] == "RUNNING"
        await cluster.change_agent(lost, schedulable=False)
        await cluster.end_session(row["session_id"])
        ending = await cluster.until(row["session_id"], "TERMINATING")
        assert ending["status_info"] == "user-requested"
        await cluster.end_session(row["session_id"], forced=True)
        now = (await cluster.session(row["session_id"]))["status"]
        assert now == ("TERMINATED" if cluster.release > "26.4" else "TERMINATING")
        cluster.start_agent(lost)
        await cluster.until_status(lost, "ALIVE")
        assert not (await cluster.agents())[lost]["schedulable"]
        await cluster.until(row["session_id"], "TERMINATED")

    asyncio.run(run())


def test_only_newer_managers_keep_a_busy_agent_in_its_group(cluster: ServedCluster) -> None:
    change = 'mutation{modify_agent(id:"%s",props:{scaling_group:"spare"}){ok msg}}'

    async def run() -> None:
        row = await cluster.create_batch_session("train")
        (busy,) = row["agent_ids"]
        _, answer = await cluster.request("POST", "/admin/gql", {"query": change % busy})
        if cluster.release > "26.8":
            assert answer["data"] == {"modify_agent": None}
            assert answer["errors"][0]["extensions"] == {"code": "agent_update_conflict"}
        else:
            assert answer["data"]["modify_agent"] == {"ok": True, "msg": "success"}

    asyncio.run(run())
