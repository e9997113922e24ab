"""`accelwatch fleet --hub A --hub B` on a pipe: one document of both, and what a broken hub costs."""

import asyncio
import contextlib
import csv
import io
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import bcrypt
import pytest

from accelwatch.web.protection.web_config import load_protection
from support.fleet.hub_peers import Running, agent
from support.fleet.several_hubs import hub_of, other_machine
from support.processes.warm_command import accelwatch

Run = subprocess.CompletedProcess[str]


class Pods(NamedTuple):
    """Two hubs, and what follows them."""

    first: Running
    second: Running

    async def fleet(self, *words: str) -> Run:
        """`accelwatch fleet` over both."""
        hubs = ("--hub", f"pod-1={self.first.base}", "--hub", f"pod-2={self.second.base}")
        return await asyncio.to_thread(lambda: accelwatch("fleet", *hubs, *words))


@contextlib.asynccontextmanager
async def pods(folder: Path, *, shared: bool = False, dead: bool = False) -> AsyncIterator[Pods]:
    """Two hubs with a node each; `shared`: the second follows the first's node too; `dead`: and one
    that never answers."""
    async with agent() as one, agent(other_machine()) as two:
        more = {"n1": one.address} if shared else {}
        more |= {"n3": "127.0.0.1:1"} if dead else {}
        async with (
            hub_of(folder / "a", {"n1": one.address}, {"rack": "r1"}) as first,
            hub_of(folder / "b", {"n2": two.address, **more}, {"rack": "r1"}) as second,
        ):
            await first.devices("n1", 8)
            await second.devices("n2", 2)
            if shared:
                await second.devices("n1", 8)
            yield Pods(first, second)


def over_pods(folder: Path, ask: Callable[[Pods], Awaitable[Run]], **options: bool) -> Run:
    async def main() -> Run:
        async with pods(folder, **options) as found:
            return await ask(found)

    return asyncio.run(main())


def test_one_document_of_both_hubs(tmp_path: Path) -> None:
    run = over_pods(tmp_path, lambda found: found.fleet("--json", "--devices"))
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert document["fleet"]["devices_total"] == 10
    assert [hub["name"] for hub in document["hubs"]] == ["pod-1", "pod-2"]
    assert [hub["state"] for hub in document["hubs"]] == ["up", "up"]
    nodes = {node["node"]: node["labels"] for node in document["nodes"]}
    assert nodes == {"n1": {"rack": "r1", "hub": "pod-1"}, "n2": {"rack": "r1", "hub": "pod-2"}}
    assert len(document["devices"]) == 10
    assert {row["labels"]["hub"] for row in document["devices"]} == {"pod-1", "pod-2"}


def test_a_table_names_the_hubs_and_the_hub_of_each_node(tmp_path: Path) -> None:
    run = over_pods(tmp_path, lambda found: found.fleet())
    lines = run.stdout.splitlines()
    assert run.returncode == 0, run.stderr
    assert lines[0].startswith("pod-1, pod-2  ")
    assert "2 nodes (2 up)  10 devices (10 ok)" in lines[0]
    assert lines[1] == "  pod-1  up  1 node  8 devices"
    assert "HUB" in lines[3].split()
    assert {tuple(line.split()[:2]) for line in lines[4:]} == {("n1", "up"), ("n2", "up")}


def test_a_node_that_never_answered_has_its_hub(tmp_path: Path) -> None:
    for name in ("table", "csv"):
        (tmp_path / name).mkdir()
    table = over_pods(tmp_path / "table", lambda found: found.fleet(), dead=True).stdout
    (row,) = [line.split() for line in table.splitlines() if line.startswith("n3")]
    assert (row[1], "pod-2" in row) == ("never", True)
    csv_run = over_pods(tmp_path / "csv", lambda found: found.fleet("--format", "csv"), dead=True)
    rows = list(csv.DictReader(io.StringIO(csv_run.stdout)))
    assert {row["node"]: row["label_hub"] for row in rows} == {
        "n1": "pod-1",
        "n2": "pod-2",
        "n3": "pod-2",
    }


def test_csv_of_nodes_has_the_hub_as_a_label(tmp_path: Path) -> None:
    run = over_pods(tmp_path, lambda found: found.fleet("--format", "csv"))
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    assert {(row["node"], row["label_hub"], row["devices"]) for row in rows} == {
        ("n1", "pod-1", "8"),
        ("n2", "pod-2", "2"),
    }


def test_groups_of_both_hubs_are_one_and_a_shared_node_counts_once(tmp_path: Path) -> None:
    run = over_pods(tmp_path, lambda found: found.fleet("--json", "--by", "rack"), shared=True)
    document = json.loads(run.stdout)
    (rack,) = document["groups"]
    assert (rack["group"], rack["nodes_total"], rack["devices_total"]) == ("r1", 2, 10)
    watts = sum(642.125 + index for index in range(8)) + 642.125 + 643.125
    assert rack["power_watts"] == pytest.approx(watts)
    assert document["fleet"]["devices_total"] == 10
    assert [node["labels"]["hub"] for node in document["nodes"]] == ["pod-1+pod-2", "pod-2"]
    assert "1 node is followed by several hubs (pod-1, pod-2)" in run.stderr
    assert run.returncode == 0


def test_groups_by_hub(tmp_path: Path) -> None:
    run = over_pods(tmp_path, lambda found: found.fleet("--json", "--by", "hub"), shared=True)
    groups = json.loads(run.stdout)["groups"]
    assert [(row["group"], row["devices_total"]) for row in groups] == [("pod-1", 8), ("pod-2", 2)]


def test_metrics_of_both_hubs_have_their_name(tmp_path: Path) -> None:
    run = over_pods(tmp_path, lambda found: found.fleet("--format", "prometheus"))
    lines = run.stdout.splitlines()
    assert 'accel_fleet_hub_up{hub="pod-2"} 1' in lines
    assert 'accel_fleet_nodes{hub="pod-1",state="up"} 1' in lines
    assert 'accel_fleet_nodes{hub="pod-2",state="up"} 1' in lines
    assert len([line for line in lines if line.startswith("# TYPE accel_fleet_nodes ")]) == 1


def test_a_dead_hub_costs_its_part_and_the_exit_code(tmp_path: Path) -> None:
    async def main() -> Run:
        async with agent() as one, hub_of(tmp_path / "a", {"n1": one.address}) as first:
            await first.devices("n1", 8)
            words = ("--hub", f"pod-1={first.base}", "--hub", "pod-2=127.0.0.1:1", "--json")
            return await asyncio.to_thread(lambda: accelwatch("fleet", *words))

    run = asyncio.run(main())
    document = json.loads(run.stdout)
    assert run.returncode == 1
    assert document["fleet"]["devices_total"] == 8
    assert [(hub["name"], hub["state"], hub["age_s"]) for hub in document["hubs"]] == [
        ("pod-1", "up", 0.0),
        ("pod-2", "down", None),
    ]
    assert "hub pod-2: cannot connect" in run.stderr


def test_what_a_hub_reported_last_stays_stale_in_the_next_document(tmp_path: Path) -> None:
    async def main() -> Run:
        out = tmp_path / "documents"
        words = ("--json", "--devices", "-w", "500ms", "-n", "40", "-o", str(out))
        async with (
            agent() as one,
            agent(other_machine()) as two,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
        ):
            async with hub_of(tmp_path / "b", {"n2": two.address}) as second:
                await first.devices("n1", 8)
                await second.devices("n2", 2)
                printing = asyncio.ensure_future(Pods(first, second).fleet(*words))
                async with asyncio.timeout(60):
                    while not out.exists():
                        await asyncio.sleep(0.05)
            run = await printing
            return subprocess.CompletedProcess(run.args, run.returncode, out.read_text(), "")

    run = asyncio.run(main())
    document = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == 1
    assert {node["node"]: node["state"] for node in document["nodes"]} == {
        "n1": "up",
        "n2": "stale",
    }
    assert {row["node"]: row["state"] for row in document["devices"]} == {"n1": "ok", "n2": "stale"}
    assert document["fleet"]["devices"]["stale"] == 2
    assert document["hubs"][1]["fault"]


def test_a_filter_that_no_hub_takes_is_a_mistake_of_the_command_line(tmp_path: Path) -> None:
    run = over_pods(tmp_path, lambda found: found.fleet("-f", "index <"))
    assert run.returncode == 2
    assert "a value is missing after <" in run.stderr


def test_no_hub_at_all_is_reported_for_each() -> None:
    run = accelwatch("fleet", "--hub", "a=127.0.0.1:1", "--hub", "b=127.0.0.1:2", "--json")
    assert run.returncode == 1
    assert run.stdout == ""
    assert "cannot connect" in run.stderr


def test_each_hub_gets_its_own_token_and_no_other(tmp_path: Path) -> None:
    web, password = tmp_path / "web.yaml", tmp_path / "password"
    hashed = bcrypt.hashpw(b"secret-word", bcrypt.gensalt(4)).decode()
    web.write_text(f"basic_auth_users: {{me: '{hashed}'}}\n")
    password.write_text("secret-word\n")
    access, none = tmp_path / "access.yaml", tmp_path / "none.yaml"
    access.write_text("basic_auth: {username: me, password_file: password}\n")
    none.write_text("{}\n")
    heads: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async def main() -> Run:
        protection = load_protection(web)
        server = await asyncio.start_server(listen, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with (
            server,
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}, protection=protection) as first,
        ):
            await first.devices("n1", 8)
            words = ("--hub", f"a={first.base}", "--hub", f"b=127.0.0.1:{port}", "--json")
            files = ("--hub.config.file", str(access), "--hub.config.file", str(none))
            return await asyncio.to_thread(lambda: accelwatch("fleet", *words, *files))

    run = asyncio.run(main())
    assert run.returncode == 1
    assert json.loads(run.stdout)["fleet"]["devices_total"] == 8
    assert heads
    assert not any(b"authorization" in head.lower() for head in heads)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--hub", "h1", "--hub", "h1:9878"), "the same hub is given twice"),
        (
            ("--hub", "h1", "--hub", "h2", *(("--hub.config.file", "x") * 3)),
            "--hub.config.file is given 3 times for 2 hubs",
        ),
        (tuple(word for n in range(9) for word in ("--hub", f"h{n}")), "8 hubs are the most"),
    ],
)
def test_hubs_that_make_no_sense(words: tuple[str, ...], text: str) -> None:
    run = accelwatch("fleet", *words, "--json")
    assert run.returncode == 2
    assert text in run.stderr
