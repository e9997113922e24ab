"""`accelwatch fleet` and `demo` on a pipe: documents, messages, exit codes; and nothing stays behind."""

import asyncio
import csv
import io
import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from accelwatch.schema.snapshot import Snapshot
from accelwatch.web.protection.web_config import load_protection
from support.fleet.hub_peers import agent, hub, peer
from support.machines import composed as machines
from support.processes.installed_command import PATIENT
from support.processes.warm_command import accelwatch
from support.servers.fake_prometheus import FakeStore, fake_store


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A home and a runtime directory of the test's own."""
    runtime = tmp_path / "run"
    runtime.mkdir()
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(runtime)}


def run_with_agent(
    *words: str, environ: dict[str, str], snapshot: Snapshot | None = None
) -> "subprocess.CompletedProcess[str]":
    """The command with a real agent as its target besides what the words say."""

    async def main() -> "subprocess.CompletedProcess[str]":
        async with agent(snapshot) as one:
            return await asyncio.to_thread(
                lambda: accelwatch("fleet", "-t", one.address, *PATIENT, *words, environ=environ)
            )

    return asyncio.run(main())


def test_a_table_with_the_worst_first(environ: dict[str, str]) -> None:
    lost = machines.snapshot(machines.view(0), machines.lost_view(1))
    run = run_with_agent("-t", "127.0.0.1:1", environ=environ, snapshot=lost)
    lines = run.stdout.splitlines()
    assert run.returncode == 0
    assert "2 nodes (1 up, 1 never)  2 devices (1 lost, 1 ok)" in lines[0]
    assert lines[1].split()[:4] == ["NODE", "STATE", "AGE", "OK/ALL"]
    assert "nvidia1 lost" in lines[2]
    assert lines[3].startswith("127.0.0.1:1 ")
    assert "cannot connect" in lines[3]
    assert list(Path(environ["XDG_RUNTIME_DIR"]).iterdir()) == []


def test_json_is_totals_nodes_and_devices_that_were_requested(environ: dict[str, str]) -> None:
    run = run_with_agent("--json", "-f", "index < 2", "--fields", "power_watts", environ=environ)
    assert run.returncode == 0
    document = json.loads(run.stdout)
    assert document["schema"] == "accelwatch-fleet/2"
    assert document["fleet"]["devices_total"] == 8
    assert [node["state"] for node in document["nodes"]] == ["up"]
    assert [one["values"] for one in document["devices"]] == [
        {"power_watts": machines.values(index)["power_watts",]} for index in range(2)
    ]
    assert run.stdout.count("\n") == 1


def test_documents_at_an_interval_are_lines(environ: dict[str, str]) -> None:
    run = run_with_agent("--json", "-w", "250ms", "-n", "2", environ=environ)
    documents = [json.loads(line) for line in run.stdout.splitlines()]
    assert [one["fleet"]["nodes"]["up"] for one in documents] == [1, 1]
    assert documents[0]["time"] < documents[1]["time"]
    assert "devices" not in documents[0]


def test_csv_of_nodes_and_of_devices(environ: dict[str, str]) -> None:
    nodes = run_with_agent("--format", "csv", environ=environ).stdout
    (row,) = csv.DictReader(io.StringIO(nodes))
    assert (row["state"], row["devices"], row["devices_bad"]) == ("up", "8", "0")
    assert float(row["power_watts"]) == sum(642.125 + index for index in range(8))
    devices = run_with_agent("--format", "csv", "--devices", environ=environ).stdout
    rows = list(csv.DictReader(io.StringIO(devices)))
    assert [one["id"] for one in rows] == [machines.device(index).id for index in range(8)]
    assert rows[3]["power_watts"] == repr(machines.values(3)["power_watts",])


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        (
            (),
            [
                "utilization_ratio",
                "memory_used_bytes",
                "memory_size_bytes",
                "power_watts",
                "temperature_celsius",
            ],
        ),
        (
            ("--fields", "temperature_celsius.memory, power_watts,power_watts"),
            ["temperature_celsius.memory", "power_watts"],
        ),
    ],
)
def test_the_csv_of_devices_has_the_same_columns_where_none_matches(
    environ: dict[str, str], tmp_path: Path, fields: tuple[str, ...], names: list[str]
) -> None:
    inventory = {"targets": ["127.0.0.1:1"], "labels": {"node": "far", "rack": "r1"}}
    file = tmp_path / "targets.json"
    file.write_text(json.dumps([inventory]))
    words = ("--targets-file", str(file), "--devices", "--format", "csv", *fields)
    none = run_with_agent(*words, "-f", 'node == "nope"', environ=environ).stdout
    all_of_them = run_with_agent(*words, environ=environ).stdout
    (header,) = csv.reader(io.StringIO(none))
    assert header[header.index("sample_age_s") + 1 :] == [*names, "label_rack"]
    assert header == next(csv.reader(io.StringIO(all_of_them)))
    assert len(all_of_them.splitlines()) == 9


@pytest.mark.parametrize(("mode", "bits"), [((), 0o600), (("--mode", "0644"), 0o644)])
@pytest.mark.parametrize("form", [("--json",), ("--fields", "help")])
def test_a_file_is_its_owners_unless_the_mode_says_otherwise(
    environ: dict[str, str], tmp_path: Path, form: tuple[str, ...], mode: tuple[str, ...], bits: int
) -> None:
    file = tmp_path / "fleet.txt"
    run = run_with_agent(*form, "-o", str(file), *mode, environ=environ)
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
    assert stat.S_IMODE(file.stat().st_mode) == bits
    assert file.stat().st_size


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--mode", "0644"), "--mode goes with --output FILE"),
        (("--mode", "0899", "-o", "x"), "--mode is an octal number such as 0644, not '0899'"),
        (("--fields", "help", "--mode", "0644"), "--mode goes with --output FILE"),
    ],
)
def test_a_mode_that_cannot_be_is_refused(
    environ: dict[str, str], words: tuple[str, ...], message: str
) -> None:
    run = accelwatch("fleet", "-t", "127.0.0.1:1", *words, environ=environ)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr


def test_groups_in_a_table_as_csv_and_json(environ: dict[str, str]) -> None:
    run = accelwatch("demo", "--by", "user", "--nodes", "6", environ=environ)
    lines = run.stdout.splitlines()
    assert lines[1].split()[:3] == ["USER", "NODES", "OK/ALL"]
    assert {line.split()[0] for line in lines[2:]} >= {"research", "language", "platform"}
    document = json.loads(run_with_agent("--json", "--by", "model", environ=environ).stdout)
    assert [group["devices_total"] for group in document["groups"]] == [8]
    text = run_with_agent("--format", "csv", "--by", "vendor", environ=environ).stdout
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["group"], row["devices_total"], row["worst"]) == ("nvidia", "8", "ok")


def test_prometheus_is_the_hubs_own_exposition(environ: dict[str, str]) -> None:
    run = run_with_agent("--format", "prometheus", environ=environ)
    assert 'accel_fleet_nodes{state="up"} 1' in run.stdout


def test_the_fields_that_a_fleet_knows_are_listed(environ: dict[str, str]) -> None:
    run = accelwatch("fleet", "--fields", "help", environ=environ)
    names = [line.split()[0] for line in run.stdout.splitlines()]
    assert run.returncode == 0
    assert "power_watts" in names
    assert "uuid" not in names


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "no targets given"),
        ("-t n[9-1]:1", "runs backwards"),
        ("-t n[1-:1", "a range is written n[001-063]:9877"),
        ("-t n1:99999", "'99999' is not a port from 1 to 65535"),
        ("-t a_b!:1", "'a_b!' is not a valid host"),
        ("--targets-file /nowhere.json", "/nowhere.json: cannot be read"),
        ("-c /nowhere.yaml", "/nowhere.yaml"),
        ("-t n1 --state-dir d --no-state", "contradict each other"),
        ("-t n1 --hub h", "--hub has its own targets"),
        ("-t n1 --hub.config.file f", "goes with --hub"),
        ("--hub ftp://h", "the scheme is http or https"),
        ("-t n1 --format xml", "no format 'xml'"),
        ("-t n1 --json --format csv", "contradict each other"),
        ("-t n1 --format prometheus --devices", "of the whole fleet; leave --devices out"),
        ("-t n1 --format prometheus -f index>1", "of the whole fleet; leave --filter out"),
        ("-t n1 --format prometheus --fields power_watts", "leave --fields out"),
        ("-t n1 --format prometheus --by user", "leave --by out"),
        ("-t n1 --format prometheus -f index>1 --devices", "leave --filter and --devices out"),
        ("-t n1 -n 2", "goes with --watch"),
        ("-t n1 --by user --devices", "a row a group"),
        ("-t 127.0.0.1:1 --by usr", "did you mean user"),
        ("-t n1 --timeout soon", "is not a valid duration"),
        ("-t 127.0.0.1:1 -f power_watts>", "a value is missing"),
        ("-t 127.0.0.1:1 --fields power", "fields: no quantity 'power'"),
        ("-t n1 --color sometimes", "--color is"),
    ],
)
def test_a_mistake_is_reported_on_stderr_with_exit_2(
    words: str, message: str, environ: dict[str, str]
) -> None:
    run = accelwatch("fleet", *words.split(), environ=environ)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr
    assert "Traceback" not in run.stderr
    assert list(Path(environ["XDG_RUNTIME_DIR"]).iterdir()) == []


def test_a_file_without_targets_is_a_mistake_before_anything_starts(
    environ: dict[str, str], tmp_path: Path
) -> None:
    config = tmp_path / "hub.yaml"
    config.write_text("scrape: {scrape_interval: 1s}\n")
    run = accelwatch("fleet", "-c", str(config), environ=environ)
    assert (run.returncode, "no targets" in run.stderr) == (2, True)
    half = tmp_path / "targets.json"
    half.write_text('[{"targets": ["n1"')
    run = accelwatch("fleet", "--targets-file", str(half), environ=environ)
    assert (run.returncode, "targets.json: bad JSON" in run.stderr) == (2, True)


def test_no_answer_is_exit_1_and_the_document_is_there(environ: dict[str, str]) -> None:
    run = accelwatch("fleet", "-t", "127.0.0.1:1", "--json", *PATIENT, environ=environ)
    assert run.returncode == 1
    assert json.loads(run.stdout)["fleet"]["nodes"]["never"] == 1


@pytest.mark.parametrize("flag", ["--targets-http", "--prometheus"])
def test_when_no_node_can_be_found_the_reason_is_printed(
    flag: str, environ: dict[str, str]
) -> None:
    run = accelwatch("fleet", flag, "http://127.0.0.1:1", "--json", *PATIENT, environ=environ)
    assert run.returncode == 1
    assert run.stderr.count("http://127.0.0.1:1: cannot connect: Connection refused") == 1
    assert json.loads(run.stdout)["fleet"]["nodes_total"] == 0


def run_with_slow_discovery(
    *words: str, environ: dict[str, str], wait_s: float
) -> "subprocess.CompletedProcess[str]":
    """The command with an agent that HTTP discovery finds after so long."""

    async def main() -> "subprocess.CompletedProcess[str]":
        async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(wait_s)
            body = json.dumps([{"targets": [one.address], "labels": {"node": "n1"}}]).encode()
            head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length"
            writer.write(f"{head}: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()

        async with agent() as one, peer(handle) as address:
            url = f"http://{address}/"
            return await asyncio.to_thread(
                lambda: accelwatch("fleet", "--targets-http", url, *words, environ=environ)
            )

    return asyncio.run(main())


def test_one_look_waits_for_what_discoveries_find(environ: dict[str, str]) -> None:
    run = run_with_slow_discovery("--json", "--timeout", "30s", environ=environ, wait_s=1.0)
    assert (run.returncode, run.stderr) == (0, "")
    fleet = json.loads(run.stdout)["fleet"]
    assert (fleet["nodes"]["up"], fleet["devices_total"], fleet["discovering"]) == (1, 8, [])


def test_a_discovery_that_does_not_answer_in_time_is_reported(environ: dict[str, str]) -> None:
    run = run_with_slow_discovery("--json", "--timeout", "1s", environ=environ, wait_s=60.0)
    assert run.returncode == 1
    assert "discovery http has not answered yet; give it more time with --timeout" in run.stderr
    assert json.loads(run.stdout)["fleet"]["discovering"] == ["http"]


def run_with_store(
    *words: str, environ: dict[str, str], prepare: Callable[[FakeStore], None]
) -> "subprocess.CompletedProcess[str]":
    """The command over a store."""

    async def main() -> "subprocess.CompletedProcess[str]":
        async with fake_store() as store:
            prepare(store)
            return await asyncio.to_thread(
                lambda: accelwatch(
                    "fleet", "--prometheus", store.url, *PATIENT, *words, environ=environ
                )
            )

    return asyncio.run(main())


def _scraped(store: FakeStore, **named: str) -> None:
    labels: Any = {"job": "accelwatch", "instance": "10.0.0.1:9877", **named}
    store.put("up", 1, **labels)
    store.gpu(**labels)


def test_a_store_whose_series_name_no_node_is_reported(environ: dict[str, str]) -> None:
    run = run_with_store(environ=environ, prepare=_scraped)
    assert run.returncode == 1
    assert "3 series of accelerators have no label that names a node" in run.stderr
    assert "instance_as_node" in run.stderr


def test_a_store_whose_series_name_nodes_is_read(environ: dict[str, str]) -> None:
    run = run_with_store(environ=environ, prepare=lambda store: _scraped(store, node="n1"))
    assert (run.returncode, run.stderr) == (0, "")
    assert "1 node (1 up)" in run.stdout


def test_a_slow_store_is_waited_for(environ: dict[str, str]) -> None:
    """Longer than the hub has a head start."""

    def prepare(store: FakeStore) -> None:
        _scraped(store, node="n1")
        store.pause_s = 1.0

    run = run_with_store("--timeout", "30s", environ=environ, prepare=prepare)
    assert (run.returncode, run.stderr) == (0, "")
    assert "1 node (1 up)" in run.stdout


def test_a_store_that_does_not_answer_in_time_is_reported(environ: dict[str, str]) -> None:
    def prepare(store: FakeStore) -> None:
        store.pause_s = 60.0

    run = run_with_store("--timeout", "300ms", environ=environ, prepare=prepare)
    assert run.returncode == 1
    assert "has not answered yet; give it more time with --timeout" in run.stderr


def test_a_store_without_accelerators_is_no_failure(environ: dict[str, str]) -> None:
    run = run_with_store(
        environ=environ, prepare=lambda store: store.put("up", 1, job="web", instance="a:1")
    )
    assert run.returncode == 3
    assert "has no series of accelerators" in run.stderr


def test_nodes_that_do_not_answer_in_time_are_named(environ: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        run = accelwatch("fleet", "-t", where, "--timeout", "300ms", environ=environ)
    assert run.returncode == 1
    assert f"1 of 1 nodes did not answer within 300ms: {where}" in run.stderr


def test_a_hub_that_is_not_there_is_exit_1(environ: dict[str, str]) -> None:
    run = accelwatch("fleet", "--hub", "127.0.0.1:1", "--json", environ=environ)
    assert (run.returncode, run.stdout) == (1, "")
    assert "127.0.0.1:1: cannot connect" in run.stderr


def test_an_agent_is_no_hub(environ: dict[str, str]) -> None:
    async def main() -> "subprocess.CompletedProcess[str]":
        async with agent() as one:
            return await asyncio.to_thread(
                lambda: accelwatch("fleet", "--hub", one.address, environ=environ)
            )

    run = asyncio.run(main())
    assert (run.returncode, run.stdout) == (1, "")
    assert "not as a hub does; agents are followed with --targets" in run.stderr


def test_a_hub_that_wants_credentials_gets_them_from_files(
    environ: dict[str, str], tmp_path: Path
) -> None:
    web, access, password = (tmp_path / name for name in ("web.yaml", "access.yaml", "password"))
    hashed = bcrypt.hashpw(b"secret-word", bcrypt.gensalt(4)).decode()
    web.write_text(f"basic_auth_users: {{me: '{hashed}'}}\n")
    password.write_text("secret-word\n")
    access.write_text("basic_auth: {username: me, password_file: password}\n")

    async def main() -> list[int]:
        async with agent() as one, hub(one.address, protection=load_protection(web)) as running:
            await running.devices(one.address, 8)
            words = ("fleet", "--hub", running.base)
            more = ((), ("--hub.config.file", str(access)))
            runs = [
                await asyncio.to_thread(partial(accelwatch, *words, *add, environ=environ))
                for add in more
            ]
        assert "answered 401" in runs[0].stderr
        return [run.returncode for run in runs]

    assert asyncio.run(main()) == [5, 0]


def test_strict_is_6_when_something_is_lost(environ: dict[str, str]) -> None:
    lost = machines.snapshot(machines.view(0), machines.lost_view(1))
    assert run_with_agent("--strict", environ=environ).returncode == 0
    assert run_with_agent("--strict", environ=environ, snapshot=lost).returncode == 6


def test_no_device_at_all_is_exit_3(environ: dict[str, str]) -> None:
    run = run_with_agent(environ=environ, snapshot=machines.snapshot(devices=()))
    assert run.returncode == 3


def test_what_was_seen_once_is_expected_afterwards_unless_not_wanted(
    environ: dict[str, str],
) -> None:
    async def main() -> None:
        async with agent() as one:
            words = ("fleet", "-t", one.address, "--json", *PATIENT)

            async def devices(*more: str) -> tuple[int, int]:
                run = await asyncio.to_thread(lambda: accelwatch(*words, *more, environ=environ))
                node = json.loads(run.stdout)["nodes"][0]
                return node["devices"], node["devices_missing"]

            assert await devices() == (8, 0)
            one.feed.put(machines.snapshot(machines.view(0)))
            assert await devices() == (1, 7)
            assert await devices("--no-state") == (1, 0)

    asyncio.run(main())


def test_the_demo_on_a_pipe_shows_every_fault_and_leaves_the_users_state_alone(
    environ: dict[str, str],
) -> None:
    run = accelwatch("demo", "--json", environ=environ)
    assert (run.returncode, run.stderr) == (0, "")
    fleet = json.loads(run.stdout)["fleet"]
    assert fleet["nodes_total"] == 24
    assert fleet["devices"]["lost"] == 1
    assert fleet["devices"]["unresponsive"] == 1
    assert fleet["devices_total"] == 192
    assert fleet["nodes"] == {"up": 22, "stale": 2} | dict.fromkeys(("slow", "down", "never"), 0)
    assert fleet["devices"]["stale"] == 16
    table = accelwatch("demo", "--once", environ=environ).stdout
    assert "TLS" not in table
    (node_down,) = [line for line in table.splitlines() if line.startswith("n020 ")]
    assert node_down.split()[:2] == ["n020", "stale"]
    assert node_down.split()[4] == "0/8"
    assert "Connection reset by peer" in node_down
    assert not Path(environ["XDG_STATE_HOME"]).exists()
    assert list(Path(environ["XDG_RUNTIME_DIR"]).iterdir()) == []


def test_the_demo_of_another_size_and_of_none(environ: dict[str, str]) -> None:
    run = accelwatch("demo", "--nodes", "2", "--devices", "1", "--vendor", "amd", environ=environ)
    assert run.returncode == 0
    assert "2 nodes (2 up)" in run.stdout
    run = accelwatch("demo", "--nodes", "0", environ=environ)
    assert (run.returncode, "--nodes must be between" in run.stderr) == (2, True)
    run = accelwatch("demo", "--vendor", "cray", environ=environ)
    assert (run.returncode, "no vendor 'cray'" in run.stderr) == (2, True)


def test_a_closed_pipe_ends_it_without_a_word_and_leaves_nothing(environ: dict[str, str]) -> None:
    line = f"{sys.executable} -m accelwatch demo --nodes 200 --json | head -c 1"
    run = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environ},
    )
    assert "Traceback" not in run.stderr
    limit = time.monotonic() + 20
    while list(Path(environ["XDG_RUNTIME_DIR"]).iterdir()):
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_importing_the_commands_loads_neither_client_nor_interface() -> None:
    code = (
        "import sys; from accelwatch.cli.startup.app import build; list(build().commands.values()); "
        "print([name for name in ('aiohttp', 'textual', 'asyncio', 'numpy') if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"


def test_a_node_that_cannot_read_its_accelerators_says_so_and_is_not_well(
    environ: dict[str, str],
) -> None:
    nothing = machines.snapshot(devices=(), backends=(machines.unread(),))
    run = run_with_agent(environ=environ, snapshot=nothing)
    assert run.returncode == 1
    assert "nvidia: NVML_ERROR_LIB_RM_VERSION_MISMATCH" in run.stdout

    denied = machines.snapshot(devices=(), backends=(machines.unread(reason="permission"),))
    assert run_with_agent(environ=environ, snapshot=denied).returncode == 5

    some = machines.snapshot(machines.view(0), backends=(machines.unread("amd"),))
    assert run_with_agent(environ=environ, snapshot=some).returncode == 0
    run = run_with_agent("--strict", "--json", environ=environ, snapshot=some)
    assert run.returncode == 6
    (node,) = json.loads(run.stdout)["nodes"]
    assert node["unusable"] == [
        {
            "name": "amd",
            "reason": "version_mismatch",
            "message": "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
            "remedy": "reboot after the update",
        }
    ]


def test_a_log_that_may_not_be_read_is_no_lack_of_accelerators(environ: dict[str, str]) -> None:
    quiet = machines.snapshot(machines.view(0), backends=(machines.unread("kernel_log"),))
    assert run_with_agent("--strict", environ=environ, snapshot=quiet).returncode == 0
