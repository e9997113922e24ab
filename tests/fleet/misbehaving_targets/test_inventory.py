"""The inventory on its bad days: killed, damaged, locked, read-only, another hub's, on a full disk."""

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.fleet.state.inventory.file import FILE, Changes, Expected, InventoryFile
from fleet.misbehaving_targets.processes import hub_process, written
from fleet.misbehaving_targets.short_waits import START, simulation, ward
from support.fleet.hub_peers import agent
from support.machines import composed as machines

_KILLED = """
    import os, signal, sys
    from pathlib import Path
    from support.machines import composed as machines
    from accelwatch.fleet.state.inventory.file import Changes, Expected, InventoryFile

    def flush(folder: Path, allowed: int) -> int:
        held = InventoryFile(folder)
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            if steps == allowed:
                os.kill(os.getpid(), signal.SIGKILL)
            return 0

        seen = {f"n{n}": Expected(first_seen=1.0, last_seen=2.0) for n in range(40)}
        added = [(name, machines.device(index), 1.0) for name in seen for index in range(4)]
        held.write(Changes(updated=seen, added=added))
        held._database.set_progress_handler(count, 1)
        gone = [(name, machines.device(0).id) for name in seen]
        held.write(Changes(removed=gone, forgotten=["n7"]))
        held.close()
        return steps

    folder = Path(sys.argv[1])
    for name in ("whole", *map(str, range(1, 13))):
        (folder / name).mkdir()
    whole = flush(folder / "whole", 0)
    for part in range(1, 13):
        if (pid := os.fork()) == 0:
            flush(folder / str(part), whole * part // 12)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def test_a_hub_killed_during_a_flush_knows_all_of_it_or_nothing(tmp_path: Path) -> None:
    """One that is not killed says how many steps of SQLite a flush has; twelve end at one of them."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_KILLED), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert [int(line) for line in done.stdout.split()] == [-signal.SIGKILL] * 12
    assert len(_expected(tmp_path / "whole")) == 39
    for part in range(1, 13):
        found = _expected(tmp_path / str(part))
        assert (len(found), {len(left) for left in found.values()}) in ((40, {4}), (39, {3}))


def _expected(folder: Path) -> dict[str, set[int]]:
    file = InventoryFile(folder)
    found = {
        name: {device.index for device in node.devices.values()}
        for name, node in file.load().items()
    }
    file.close()
    return found


def _known(folder: Path, address: str) -> Path:
    """An inventory in which a node has eight devices; its folder."""
    state = folder / "state"
    state.mkdir()
    file = InventoryFile(state)
    seen = Expected(first_seen=START, last_seen=START)
    added = [(address, machines.device(index), START) for index in range(8)]
    file.write(Changes(updated={address: seen}, added=added))
    file.close()
    return state


def test_a_hub_that_is_killed_again_and_again_forgets_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent() as one:
            settings = {"targets": {"static": [one.address]}}
            node = f"/v1/nodes/{one.address}"
            async with hub_process(tmp_path, settings) as hub:
                await hub.until(lambda row: row["devices"] == 8, node)
                async with asyncio.timeout(60):
                    while written(tmp_path / "state") < 8:
                        await asyncio.sleep(0.05)
                hub.process.send_signal(signal.SIGKILL)
                await hub.process.wait()
            one.feed.put(machines.snapshot(*(machines.view(index) for index in range(5))))
            for left in (2, 1, 0):
                async with hub_process(tmp_path, settings) as hub:
                    row = await hub.until(lambda row: row["devices"] == 5, node)
                    assert row["devices_missing"] == left + 1
                    gone = machines.device(5 + left).id
                    code, answer = await hub.request(f"{node}/acknowledge?device={gone}", "POST")
                    assert (code, answer["devices_removed"]) == (200, 1)
                    hub.process.send_signal(signal.SIGKILL)
                    await hub.process.wait()
            assert _expected(tmp_path / "state") == {one.address: set(range(5))}

    asyncio.run(main())


async def _goes_on(folder: Path, address: str, missing: int, *words: str) -> Any:
    """A hub over a bad inventory: the node is up, and the hub says what it cannot keep."""
    settings = {"targets": {"static": [address]}}
    async with hub_process(folder, settings) as hub:
        row = await hub.until(lambda row: row["state"] == "up", f"/v1/nodes/{address}")
        assert row["devices_missing"] == missing
        fleet = await hub.get("/v1/fleet")
        (problem,) = fleet["problems"]
        for word in words:
            assert word in problem
        assert problem in hub.log
        assert "accel_fleet_inventory_kept 0\n" in await hub.get("/metrics")
        hub.process.terminate()
        assert await hub.process.wait() == 0
    return fleet


def _garbage(file: Path) -> None:
    file.write_bytes(b"no database, but long enough to look at" * 400)


def _torn(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:6000])


@pytest.mark.parametrize("damage", [_garbage, _torn, _cut])
def test_a_damaged_inventory_is_set_aside(tmp_path: Path, damage: Any) -> None:
    async def main() -> None:
        async with agent() as one:
            state = _known(tmp_path, one.address)
            damage(state / FILE)
            before = (state / FILE).read_bytes()
            await _goes_on(tmp_path, one.address, 0, f"set aside as {FILE}.damaged,", "not known")
            assert (state / f"{FILE}.damaged").read_bytes() == before
            assert _expected(state) == {one.address: set(range(8))}
            async with hub_process(tmp_path, {"targets": {"static": [one.address]}}) as hub:
                await hub.until(lambda fleet: fleet["nodes"]["up"] == 1 and not fleet["problems"])

    asyncio.run(main())


def test_a_locked_inventory_is_waited_for_while_the_hub_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent() as one:
            node = f"/v1/nodes/{one.address}"
            _known(tmp_path, one.address)
            one.feed.put(machines.snapshot(machines.view(0)))
            settings = {"targets": {"static": [one.address]}}
            async with hub_process(tmp_path, settings) as hub:
                await hub.until(lambda row: row["devices_missing"] == 7, node)
                other = sqlite3.connect(tmp_path / "state" / FILE, isolation_level=None)
                other.execute("BEGIN IMMEDIATE")
                gone = machines.device(3).id
                code, text = await hub.request(f"{node}/acknowledge?device={gone}", "POST")
                assert code == 503
                assert "not written down yet" in text
                assert "locked" in text
                row = await hub.get(node)
                assert (row["state"], row["devices_missing"]) == ("up", 6)
                await hub.until(lambda fleet: any("locked" in one for one in fleet["problems"]))
                other.execute("ROLLBACK")
                other.close()
                await hub.until(lambda fleet: not fleet["problems"])
                hub.process.send_signal(signal.SIGKILL)
                await hub.process.wait()
            assert _expected(tmp_path / "state")[one.address] == set(range(8)) - {3}

    asyncio.run(main())


def test_an_inventory_of_another_version_is_left_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent() as one:
            _known(tmp_path, one.address)
            file = tmp_path / "state" / FILE
            newer = sqlite3.connect(file)
            newer.execute("PRAGMA user_version=9")
            newer.close()
            before = file.read_bytes()
            await _goes_on(
                tmp_path, one.address, 0, "another version (9)", "its content is unknown"
            )
            assert file.read_bytes() == before

    asyncio.run(main())


def test_two_hubs_do_not_share_an_inventory(tmp_path: Path) -> None:
    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 3) as simulated,
            ward(simulated, clock, state_dir=tmp_path) as first,
        ):
            await first.hub.fleet.flush()
            async with ward(simulated, clock, state_dir=tmp_path) as second:
                (problem,) = (await second.get("/v1/fleet"))["problems"]
                assert "another hub" in problem
                assert "its content is known" in problem
                await second.all_well()
            assert (await first.get("/v1/fleet"))["problems"] == []
            await first.all_well()

    asyncio.run(main())


_MOUNTED = 'mount -t tmpfs -o size={size},mode=0700 none {state} && {then} && exec "$@"'


def _inside(state: Path, size: str, then: str) -> list[str]:
    """Words that start a hub in a mount namespace of its own, its state on a small file system."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare (util-linux) is not installed")
    words = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*words, "mount", "-t", "tmpfs", "none", str(state)], check=False).returncode:
        pytest.skip("this kernel lets no ordinary user mount in a namespace of his own")
    text = _MOUNTED.format(size=size, state=state, then=then)
    return [*words, "sh", "-c", text, "hub"]


def test_a_full_disk_is_reported_and_what_waited_is_written_when_there_is_room(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    filler, room = state / "filler", tmp_path / "room"
    then = (
        f"(head -c 1900000 /dev/zero > {filler};"
        f" while [ ! -e {room} ]; do sleep 0.05; done; rm {filler}) &"
    )
    before = _inside(state, "2m", f"{{ {then} true; }}")

    async def main() -> None:
        async with agent(machines.snapshot(machines.view(0))) as one:
            node = f"/v1/nodes/{one.address}"
            settings = {"targets": {"static": [one.address]}}
            async with hub_process(tmp_path, settings, before) as hub:
                await hub.until(lambda row: row["devices"] == 1, node)
                many = [
                    machines.view(0, device=machines.device(0, id=f"nvidia:{n}", uuid=f"G-{n}"))
                    for n in range(400)
                ]
                one.feed.put(machines.snapshot(*many))
                await hub.until(lambda fleet: any("full" in one for one in fleet["problems"]))
                row = await hub.get(node)
                assert (row["state"], row["devices"]) == ("up", 400)
                room.touch()
                await hub.until(lambda fleet: not fleet["problems"])
                assert "accel_fleet_inventory_kept 1\n" in await hub.get("/metrics")

    asyncio.run(main())


def test_a_read_only_folder_is_reported_and_its_inventory_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent() as one:
            state, copy = _known(tmp_path, one.address), tmp_path / "copy"
            shutil.copytree(state, copy)
            one.feed.put(machines.snapshot(machines.view(0)))
            then = f"cp {copy}/{FILE} {state} && mount -o remount,ro {state}"
            before = _inside(state, "1m", then)
            settings = {"targets": {"static": [one.address]}}
            async with hub_process(tmp_path, settings, before) as hub:
                await hub.until(lambda row: row["devices_missing"] == 7, f"/v1/nodes/{one.address}")
                (problem,) = (await hub.get("/v1/fleet"))["problems"]
                assert "its content is known" in problem
                code, _ = await hub.request(f"/v1/nodes/{one.address}/acknowledge", "POST")
                assert code == 200

    asyncio.run(main())
