"""A hub counts who uses the devices of its nodes: shared, partitioned, held by others, silent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock, SystemClock
from accelwatch.base.slices import LongWork
from accelwatch.cli.startup.app import build
from accelwatch.config.model import Web
from accelwatch.config.usage import UsageSettings
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.targets.settings import Targets
from accelwatch.node.usage.ledger_file import FILE
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView, Owner, Snapshot
from support.fleet.hub_peers import Agent, Running, agent, served_hub
from support.machines import composed as machines

GIB = 1 << 30
HARDWARE = ("energy_joules_total", "hardware")


def job(job_id: str, user: str) -> Owner:
    return Owner(kind="job", scheduler="slurm", job_id=job_id, user=user)


def process(pid: int, user: str, load: float | None, job_id: str = "") -> Process:
    absent = {} if load is not None else {"utilization_ratio": Absence.PERMISSION}
    return Process(
        device_id="d",
        pid=pid,
        user=user,
        job=job_id or None,
        start_time=machines.NOW - 60.0,
        gpu_memory_bytes=GIB,
        utilization_ratio=load,
        absent=absent,
    )


def view(
    index: int,
    joules: float,
    *owners: Owner,
    processes: tuple[Process, ...] = (),
    **changes: Any,
) -> DeviceView:
    """A device whose energy counter stands at so many joules, read at that moment."""
    one = machines.view(index)
    values = {**one.reading.values, HARDWARE: joules}
    reading = msgspec.structs.replace(one.reading, values=values, processes=processes)
    read_at = machines.NOW + joules
    return msgspec.structs.replace(
        one, reading=reading, owners=owners, sample_time=read_at, **changes
    )


def node(joules: float) -> Snapshot:
    """A job on two devices, one shared by two users, one with a job's process only, one free."""
    shared = (process(1, "ada", 0.6), process(2, "bob", 0.2))
    return machines.snapshot(
        view(0, joules, job("4718", "ada")),
        view(1, joules, job("4718", "ada")),
        view(2, joules, processes=shared),
        view(3, joules, processes=(process(3, "eve", None, "99"),)),
        view(4, joules),
        time=machines.NOW + joules,
    )


@asynccontextmanager
async def counted(
    *before: Snapshot, count: bool = True, state_dir: Path | None = None
) -> AsyncIterator[tuple[Running, list[Agent]]]:
    """A hub that has looked once at nodes, with a price."""
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(agent(one)) for one in before]
        settings = HubSettings(
            targets=Targets(static=tuple(one.address for one in nodes), refresh_s=0.05),
            scrape=Scrape(timeout_s=0.5, max_backoff_s=0.1, interval_s=0.1),
            web=Web(listen_address=("127.0.0.1:0",)),
            usage=UsageSettings(count=count, price_per_kwh=0.25, currency="EUR"),
        )
        running = await stack.enter_async_context(
            served_hub(settings, interval_s=0.05, state_dir=state_dir)
        )
        for one, known in zip(nodes, before, strict=True):
            await running.devices(one.address, len(known.devices))
            await received(running, one, known)
        await look(running)
        yield running, nodes


async def received(running: Running, one: Agent, snapshot: Snapshot) -> None:
    """Wait until the hub has the node as it is in the snapshot, its owners and processes too."""
    wanted = {
        item.device.id: (item.sample_time, item.owners, len(item.reading.processes or ()))
        for item in snapshot.devices
    }

    def arrived() -> bool:
        known = running.hub.fleet.nodes[one.address].devices
        return wanted == {
            id_: (item.sample_time, item.usage.occupancy.owners, item.usage.processes_total)
            for id_, item in known.items()
        }

    await running.until(arrived)


async def look(running: Running) -> None:
    await running.hub.usage.record_usage(LongWork().yield_control)


async def usage_by(running: Running, by: str) -> dict[str, Any]:
    document = await running.get("/v1/usage", params={"by": by, "since": "1h"})
    return {row[by] or row["kind"]: row for row in document["rows"]} | {"total": document["total"]}


def test_a_hub_counts_jobs_and_users_of_its_nodes() -> None:
    async def main() -> None:
        async with counted(node(1000.0), node(1000.0)) as (running, nodes):
            for one in nodes:
                one.feed.put(node(4600.0))
                await received(running, one, node(4600.0))
            await look(running)
            jobs, users = await usage_by(running, "job"), await usage_by(running, "user")

            each = 3600.0 / 3.6e6
            assert jobs["4718"]["devices"] == 4
            assert jobs["4718"]["energy_kwh"] == pytest.approx(4 * each)
            assert jobs["4718"]["cost"] == pytest.approx(4 * each * 0.25)
            assert jobs["4718"]["device_names"][0] == f"{min(one.address for one in nodes)}/nvidia0"
            assert (jobs["99"]["user"], jobs["99"]["devices"]) == ("eve", 2)
            assert jobs["99"]["began"] == "2027-01-15T07:59:00.000Z"
            assert users["ada"]["devices"] == 6
            assert users["ada"]["energy_kwh"] == pytest.approx(4 * each + 2 * each * 0.75)
            assert users["bob"]["energy_kwh"] == pytest.approx(2 * each * 0.25)
            assert users["bob"]["load_ratio"] == pytest.approx(0.2)
            assert users["bob"]["memory_bytes"] == GIB
            assert users["free"]["devices"] == 2
            assert users["total"]["energy_kwh"] == pytest.approx(10 * each)
            assert users["total"]["devices"] == 10

            out = await asyncio.to_thread(
                CliRunner().invoke, build(), ["usage", "--hub", running.base, "--by", "job"]
            )
            assert out.exit_code == 0
            assert {line.split()[0] for line in out.stdout.splitlines()[1:5]} >= {"4718", "99"}
            assert "EUR" in out.stdout

    asyncio.run(main())


def test_who_else_holds_a_device_from_then_on_is_seen() -> None:
    async def main() -> None:
        first, then = (
            machines.snapshot(view(0, joules, job(id_, user)), time=machines.NOW + joules)
            for joules, id_, user in ((1000.0, "1", "ada"), (2000.0, "2", "bob"))
        )
        async with counted(first) as (running, (one,)):
            one.feed.put(then)
            await received(running, one, then)
            await look(running)
            last = machines.snapshot(view(0, 9000.0, job("2", "bob")), time=machines.NOW + 9000.0)
            one.feed.put(last)
            await received(running, one, last)
            await look(running)
            users = await usage_by(running, "user")
            assert users["ada"]["energy_kwh"] == pytest.approx(1000.0 / 3.6e6)
            assert users["bob"]["energy_kwh"] == pytest.approx(7000.0 / 3.6e6)
            assert (users["ada"]["holds_now"], users["bob"]["holds_now"]) == (False, True)

    asyncio.run(main())


def test_partitions_have_their_devices_power_and_owner() -> None:
    def split(joules: float) -> Snapshot:
        whole = view(0, joules, job("1", "ada"))
        halves = []
        for number in range(2):
            part = msgspec.structs.replace(
                whole.device, id=f"mig-{number}", name=f"mig{number}", parent_id=whole.device.id
            )
            values = {("utilization_ratio",): 0.5, ("memory_used_bytes",): GIB}
            reading = msgspec.structs.replace(whole.reading, device_id=part.id, values=values)
            owners = (job("2", "bob"),) if number else ()
            halves.append(
                msgspec.structs.replace(whole, device=part, reading=reading, owners=owners)
            )
        return machines.snapshot(whole, *halves, time=machines.NOW + joules)

    async def main() -> None:
        async with counted(split(1000.0)) as (running, (one,)):
            one.feed.put(split(3000.0))
            await received(running, one, split(3000.0))
            await look(running)
            users = await usage_by(running, "user")
            assert users["ada"]["energy_kwh"] == pytest.approx(1000.0 / 3.6e6)
            assert users["bob"]["energy_kwh"] == pytest.approx(1000.0 / 3.6e6)
            assert users["total"]["devices"] == 2

    asyncio.run(main())


class Later(SystemClock):
    """A clock that is ahead."""

    def wall(self) -> float:
        return super().wall() + 200.0

    def monotonic(self) -> float:
        return super().monotonic() + 200.0


NAMELESS: dict[str, Any] = {"id": "nvidia:0", "uuid": None, "serial": None}


async def total_after(before: tuple[Device, ...], lost: Device) -> int:
    """How many devices a hub has counted, once a node tells of its first device as a lost one."""
    views = [machines.view(one.index, device=one) for one in (*before, machines.device(1))]
    async with counted(machines.snapshot(*views, time=machines.NOW)) as (running, (one,)):
        gone = machines.lost_view(0)
        reading = msgspec.structs.replace(gone.reading, device_id=lost.id)
        gone = msgspec.structs.replace(gone, device=lost, reading=reading)
        one.feed.put(machines.snapshot(gone, views[-1], time=machines.NOW + 5.0))
        node = running.hub.fleet.nodes[one.address]
        await running.until(lambda: lost.id in node.devices)
        await look(running)
        total: int = (await usage_by(running, "job"))["total"]["devices"]
        return total


def nameless(**changes: object) -> Device:
    """The first device, as it is found while it does not say who it is."""
    unknown = {"id": "nvidia:0", "uuid": None, "serial": None}
    return machines.device(0, **{**unknown, **changes})


@pytest.mark.parametrize(
    ("lost", "devices"),
    [
        (nameless(), 2),
        (nameless(pci_bus_id=None), 2),
        (nameless(pci_bus_id="0000:7f:00.0"), 3),
        (nameless(pci_bus_id=None, name="nvidia7"), 3),
        (nameless(serial="another"), 3),
        (nameless(uuid="GPU-another"), 3),
        (nameless(parent_id=machines.device(1).id, partition="gi1"), 3),
    ],
)
def test_a_lost_device_without_a_uuid_is_the_one_that_is_missing_from_its_slot(
    lost: Device, devices: int
) -> None:
    assert asyncio.run(total_after((machines.device(0),), lost)) == devices


def test_a_device_is_no_partition_that_is_missing_from_its_slot() -> None:
    whole = machines.device(0)
    part = machines.device(0, id="nvidia:MIG-1", uuid="MIG-1", parent_id=whole.id, partition="gi1")
    assert asyncio.run(total_after((part, whole), nameless())) == 3


def test_a_silent_node_is_time_without_data() -> None:
    async def main() -> None:
        async with counted(node(1000.0)) as (running, _):
            fleet = running.hub.fleet
            fleet.thresholds = Thresholds(slow_s=0.0, stale_s=0.0, down_s=0.0)
            await look(running)
            before = (await usage_by(running, "user"))["total"]
            assert (before["device_seconds"], before["unseen_seconds"]) == (0.0, 0.0)

            fleet.clock = Later()
            await look(running)
            after = (await usage_by(running, "user"))["total"]
            assert (after["device_seconds"], after["energy_kwh"]) == (0.0, None)
            assert 5 * 200.0 <= after["unseen_seconds"] < 5 * 300.0

    asyncio.run(main())


@pytest.mark.parametrize(
    "query", [{"by": "rack"}, {"by": ""}, {"since": "2h"}, {"since": ""}, {"until": "now"}]
)
def test_what_the_page_refuses(query: dict[str, str]) -> None:
    async def main() -> None:
        async with counted(node(1000.0)) as (running, _):
            assert await running.get("/v1/usage", 400, params=query)

    asyncio.run(main())


def test_a_hub_that_is_not_to_count_says_so_and_looks_at_nothing() -> None:
    async def main() -> None:
        async with counted(node(1000.0), count=False) as (running, _):
            assert "usage.count is false" in await running.get("/v1/usage", 404)
            settings = msgspec.structs.replace(running.hub.settings, usage=UsageSettings())
            running.hub.settings = settings
            document = await running.get("/v1/usage")
            assert (document["rows"], document["total"]) == ([], None)

    asyncio.run(main())


def test_a_hub_that_restarts_goes_on_with_its_sums(tmp_path: Path) -> None:
    async def main() -> None:
        async with counted(node(1000.0), state_dir=tmp_path) as (running, (one,)):
            one.feed.put(node(4600.0))
            await received(running, one, node(4600.0))
            await look(running)
            before = await usage_by(running, "job")
        assert before["4718"]["energy_kwh"] == pytest.approx(2 * 3600.0 / 3.6e6)
        async with counted(state_dir=tmp_path) as (running, _):
            after = await usage_by(running, "job")
            assert after == before

    asyncio.run(main())


@pytest.mark.parametrize("set_by", [-7200.0, 86400.0])
def test_a_hub_counts_on_when_its_clock_is_set(set_by: float) -> None:
    async def main() -> None:
        async with counted(node(1000.0)) as (running, _):
            now = SystemClock()
            clock = running.hub.fleet.clock = ManualClock(now.wall(), now.monotonic())
            clock.advance(60.0)
            clock.step_wall(set_by)
            await look(running)
            document = await running.get("/v1/usage", params={"by": "job", "since": "job"})
            assert 60.0 <= document["seconds"] < 3600.0
            assert document["since"] < document["until"]

    asyncio.run(main())


def test_a_second_hub_in_a_folder_leaves_the_sums_of_the_first_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async with counted(node(1000.0), state_dir=tmp_path):
            async with counted(node(1000.0), state_dir=tmp_path):
                pass
            assert not (tmp_path / FILE).exists()
        assert (tmp_path / FILE).exists()

    asyncio.run(main())


def test_a_hub_that_starts_while_another_ends_goes_on_with_its_sums(tmp_path: Path) -> None:
    async def main() -> None:
        first = counted(node(1000.0), state_dir=tmp_path)
        running, (one,) = await first.__aenter__()
        one.feed.put(node(4600.0))
        await received(running, one, node(4600.0))
        await look(running)
        before = await usage_by(running, "job")
        await running.hub.usage.save()
        async with counted(state_dir=tmp_path) as (second, _):
            assert await usage_by(second, "job") == before
            await first.__aexit__(None, None, None)
            (tmp_path / FILE).unlink()
            await second.hub.fleet.reopen_inventory()
        assert (tmp_path / FILE).exists(), "the second has kept it in the end"

    asyncio.run(main())


def test_a_hub_that_is_not_to_count_keeps_what_is_there(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"of before")

    async def main() -> None:
        async with counted(node(1000.0), count=False, state_dir=tmp_path):
            pass

    asyncio.run(main())
    assert (tmp_path / FILE).read_bytes() == b"of before"
