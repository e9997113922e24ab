"""Who differs from the many: the comparison itself, the hub's page and the command."""

import asyncio
import json

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.cli.startup.app import build
from accelwatch.fleet.state.boards.odd_comparing import Kind, Observation, differences
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Snapshot
from support.fleet.hub_peers import agent, hub
from support.fleet.two_nodes import host
from support.machines import composed as machines

KIND = Kind("nvidia H100", "", "driver")


def seen(*values: str) -> list[Observation]:
    """Two devices of each node have this value."""
    return [
        Observation(KIND, value, f"n{number}", ("gpu0", "gpu1"))
        for number, value in enumerate(values, 1)
    ]


def test_the_value_of_most_is_usual_and_the_others_are_odd() -> None:
    (found,) = differences(seen("570", "570", "550", "570", "560", "560", "570"))
    assert (found.usual, found.usual_nodes, found.nodes) == ("570", 4, 7)
    assert [(odd.value, odd.nodes, odd.devices) for odd in found.odd] == [
        ("550", ("n3",), 2),
        ("560", ("n5", "n6"), 4),
    ]


def test_half_of_the_nodes_is_no_majority() -> None:
    (found,) = differences(seen("570", "570", "550", "550"))
    assert (found.usual, found.usual_nodes) == (None, 0)
    assert [odd.value for odd in found.odd] == ["550", "570"]


@pytest.mark.parametrize("values", [("570", "550"), ("570", "570", "570"), ()])
def test_nothing_is_odd_among_two_or_where_all_are_alike(values: tuple[str, ...]) -> None:
    assert differences(seen(*values)) == []


def test_devices_of_one_node_that_differ_are_found() -> None:
    mixed = [*seen("570", "570", "570"), Observation(KIND, "550", "n1", ("gpu1",))]
    (found,) = differences(mixed)
    assert (found.usual, found.odd[0].nodes, found.odd[0].devices) == ("570", ("n1",), 1)


def test_groups_and_fields_are_not_compared_with_each_other() -> None:
    other = Kind("amd MI300X", "", "driver")
    mixed = [*seen("570", "570", "570"), Observation(other, "6.10", "n9", ("gpu1",))]
    assert differences(mixed) == []


def test_what_a_label_distinguishes_is_not_compared() -> None:
    pools = ("old", "old", "old", "new", "new", "new")
    mixed = [
        Observation(
            KIND._replace(label=pool), "550" if pool == "old" else "570", f"n{at}", ("gpu1",)
        )
        for at, pool in enumerate(pools)
    ]
    assert differences(mixed) == []
    assert len(differences([one._replace(kind=KIND) for one in mixed])) == 1


def snapshot(driver: str) -> Snapshot:
    """Two devices of a node with this driver."""
    views = [machines.view(0), machines.view(1)]
    changed = [
        msgspec.structs.replace(
            view, device=msgspec.structs.replace(view.device, driver_version=driver)
        )
        for view in views
    ]
    return machines.snapshot(*changed)


def test_the_page_and_the_command_of_a_real_hub() -> None:
    async def main() -> None:
        usual = snapshot("570.1")
        async with agent(usual) as a, agent(usual) as b, agent(snapshot("550.2")) as odd:
            addresses = [a.address, b.address, odd.address]
            async with hub(*addresses) as running:
                for address in addresses:
                    await running.devices(address, 2)
                page = await running.get("/v1/odd")
                assert page["nodes"] == 3
                (found,) = [one for one in page["differences"] if one["field"] == "driver"]
                assert (found["usual"], found["usual_nodes"], found["nodes"]) == ("570.1", 2, 3)
                assert found["odd"] == [{"value": "550.2", "nodes": [odd.address], "devices": 2}]
                (row,) = [one for one in (await running.get("/v1/nodes"))["nodes"] if one["odd"]]
                assert row["node"] == odd.address
                usual_one = {"usual": "570.1", "usual_nodes": 2, "nodes": 3}
                assert row["odd"] == [
                    {"field": "driver", "value": "550.2", "devices": [], **usual_one}
                ]
                page_of_one = await running.get(f"/v1/nodes/{odd.address}")
                assert page_of_one["odd"] == row["odd"]
                assert (await running.get(f"/v1/nodes/{a.address}"))["odd"] == []
                assert "no parameter 'pool'" in await running.get("/v1/odd?pool=a", 400)

                words = ["odd", "--hub", running.base]
                result = await asyncio.to_thread(CliRunner().invoke, build(), words)
                head, line, *_ = result.stdout.splitlines()
                assert head.split() == ["GROUP", "FIELD", "USUAL", "DIFFERS", "NODES"]
                assert "570.1 (2 of 3 nodes)  550.2" in line
                assert line.endswith(odd.address)
                refused = await asyncio.to_thread(
                    CliRunner().invoke, build(), ["why", odd.address, "--hub", running.base]
                )
                assert "differs:    driver 550.2 (2 of 3 nodes have 570.1)" in refused.stdout
                refused = await asyncio.to_thread(
                    CliRunner().invoke, build(), ["why", a.address, "--hub", running.base]
                )
                assert "differs" not in refused.stdout
                words.append("--json")
                result = await asyncio.to_thread(CliRunner().invoke, build(), words)
                assert json.loads(result.stdout)["differences"] == page["differences"]

    asyncio.run(main())


def test_libraries_that_agents_stream_are_compared() -> None:
    def set_to(nccl: str) -> Snapshot:
        machine = host()
        values: dict[Series, Number] = {("host_library_info", "nccl", nccl): 1}
        reading = msgspec.structs.replace(machine.reading, values=values)
        whole = msgspec.structs.replace(machine, reading=reading)
        return machines.snapshot(machines.view(0), node=whole)

    async def main() -> None:
        usual = set_to("2.21.5")
        async with agent(usual) as a, agent(usual) as b, agent(set_to("2.18.1")) as odd:
            addresses = [a.address, b.address, odd.address]
            async with hub(*addresses) as running:
                for address in addresses:
                    await running.devices(address, 1)
                page = await running.get("/v1/odd")
                (found,) = [one for one in page["differences"] if one["field"] == "nccl"]
                assert (found["usual"], found["usual_nodes"], found["nodes"]) == ("2.21.5", 2, 3)
                assert found["odd"] == [{"value": "2.18.1", "nodes": [odd.address], "devices": 0}]

    asyncio.run(main())
