"""`accelwatch incidents` and `rules explain`, asked of a running hub."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch.cli import hub_requests
from accelwatch.cli.incidents import incidents_command
from accelwatch.cli.startup.app import build
from accelwatch.cli.startup.entry import dispatch
from accelwatch.config.model import RuleSettings
from support.fleet.hub_peers import agent, hub
from support.fleet.two_nodes import view
from support.machines import composed as machines
from support.servers.ports import free_port

RULES = """\
version: 1
rules:
- id: gpu.lost
  title: A GPU is lost
  when: state == "lost" or power_watts < 1
  severity: critical
  what_to_do: reboot the node
- {id: node.dark, title: It is dark, scope: node, when: node.all(power_watts < 1)}
"""
DEVICE = machines.device(1).name


async def typed(*words: str) -> tuple[int, str, str]:
    """Exit code, output and what is said beside it."""
    result = await asyncio.to_thread(CliRunner().invoke, build(), list(words))
    return result.exit_code, result.stdout, result.stderr or str(result.exception or "")


HOT = """\
version: 1
rules:
- {id: gpu.hot, title: Hot, when: temperature_celsius > 80, for: 0s, severity: warning}
"""


def test_an_incident_is_compared_with_its_peers_in_words(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(HOT, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)
    degrees = {0: 45.0, 1: 50.0, 2: 47.0, 3: 91.0}
    views = [view(at, {("temperature_celsius", "gpu"): degree}) for at, degree in degrees.items()]

    async def main() -> None:
        async with (
            agent(machines.snapshot(*views)) as one,
            hub(one.address, rules=rules) as running,
        ):
            while not (await running.get("/v1/incidents"))["incidents"]:
                await asyncio.sleep(0.02)
            code, out, _ = await typed("incidents", "i1", "--hub", running.base)
            assert code == 0
            (line,) = [line for line in out.splitlines() if line.startswith("compared")]
            assert line == (
                f"compared   temperature_celsius.gpu: {one.address} nvidia3: 91 °C; 3 other devices "
                "of model NVIDIA H100 80GB HBM3: 47 °C, half of them 46 °C to 48 °C"
            )
            _, out, _ = await typed("incidents", "i1", "--json", "--hub", running.base)
            assert json.loads(out)["id"] == "i1"

    asyncio.run(main())


def test_what_goes_on_is_listed(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with agent(broken) as one, hub(one.address, rules=rules) as running:
            hub_option = ("--hub", running.base)
            while not (await running.get("/v1/incidents"))["incidents"]:
                await asyncio.sleep(0.02)

            code, out, _ = await typed("incidents", *hub_option)
            assert code == 0
            heading, line = out.splitlines()
            assert heading.split() == ["ID", "SEVERITY", "SINCE", "WHERE", "JOB", "USER", "TITLE"]
            id_, severity, since, *rest = line.split()
            assert (id_, severity) == ("i1", "critical")
            assert since.startswith("20")
            assert since.endswith("Z")
            assert " ".join(rest) == f"{one.address} {DEVICE} - - A GPU is lost"

            code, out, _ = await typed("incidents", "i1", *hub_option)
            assert code == 0
            assert "what to do reboot the node" in out
            assert "evidence   state is lost" in out
            assert "compared" not in out, "nothing is known of it"
            assert "trust      plain: unauthenticated (plain HTTP)" in out
            assert (await typed("incidents", "show", "i1", *hub_option))[:2] == (0, out)

            code, out, _ = await typed("incidents", "--json", "--state", "all", *hub_option)
            assert json.loads(out)["incidents"][0]["rule"] == "gpu.lost"

            code, _, errors = await typed("incidents", "i9", *hub_option)
            assert code != 0
            assert "no incident 'i9'" in errors

            code, out, errors = await typed("incidents", "--severity", "info", *hub_option)
            assert (code, out) == (0, "")
            assert "nothing; 2 rules are in force" in errors

            entity = f"{one.address}/{DEVICE}"
            code, out, _ = await typed("rules", "explain", "gpu.lost", entity, *hub_option)
            assert code == 0
            lines = [line.split("  = ") for line in out.splitlines()]
            assert lines[0] == [f"gpu.lost on {entity}: firing"]
            assert lines.pop(1) == ["mode observe, confidence low"]
            assert lines[1][1] == "true"
            assert ["when         state", "lost"] in lines
            assert any(line[1].startswith("UNKNOWN  (") for line in lines[1:])
            lost = "missing  (power_watts has no value: lost (the device is gone))"
            assert ["when         power_watts", lost] in lines
            first = f"{one.address}/{machines.device(0).name}"
            _, out, _ = await typed("rules", "explain", "gpu.lost", first, *hub_option)
            assert "power_watts  = 642.125 W\n" in out

            code, _, errors = await typed("rules", "explain", "gpu.hot", entity, *hub_option)
            assert code != 0
            assert "no rule 'gpu.hot' is in force" in errors

            code, _, errors = await typed("rules", "explain", "gpu.los", entity, *hub_option)
            assert code != 0
            assert "no rule 'gpu.los' is in force; did you mean gpu.lost?" in errors

            code, _, errors = await typed("rules", "explain", "gpu.lost", one.address, *hub_option)
            assert code != 0
            assert "it is about a device, such as n12/nvidia3" in errors

            code, _, errors = await typed("rules", "explain", "node.dark", "n99", *hub_option)
            assert code != 0
            assert "no node 'n99' is known here" in errors

            code, _, errors = await typed("rules", "explain", "gpu.lost", f"{entity}9", *hub_option)
            assert code != 0
            assert "no device" in errors

    asyncio.run(main())


def test_a_watch_prints_an_incident_once_it_is_there(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        async with agent() as one, hub(one.address, rules=rules) as running:
            words = ("incidents", "--hub", running.base, "--watch", "250ms")
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "accelwatch", *words), stdout=asyncio.subprocess.PIPE
            )
            try:
                assert process.stdout is not None
                assert (await process.stdout.readline()).endswith(b"  0 incidents\n")
                one.feed.put(machines.snapshot(machines.view(0), machines.lost_view(1)))
                heading = b""
                while not heading.endswith(b"  1 incident\n"):
                    heading = await process.stdout.readline()
                    assert heading
                columns = await process.stdout.readline()
                assert columns.split()[:2] == [b"ID", b"SEVERITY"]
                line = await process.stdout.readline()
                assert line.startswith(b"i1")
                assert line.endswith(b"A GPU is lost\n")
                assert (await process.stdout.readline()).endswith(b"  1 incident\n")
            finally:
                process.terminate()
                await process.wait()

    asyncio.run(main())


def test_a_watch_outlives_a_restart_of_the_hub(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    page = b'{"incidents":[],"problem":"","open":0,"closed":0}\n'
    answers: list[bytes | AccelwatchError] = [
        page,
        UnmetError("cannot connect: Connection refused"),
        UnmetError("cannot connect: Connection refused"),
        page,
    ]

    def fetched(*_: object) -> tuple[bytes, None]:
        answer = answers.pop(0)
        if isinstance(answer, AccelwatchError):
            raise answer
        return answer, None

    monkeypatch.setattr(incidents_command, "_fetch", fetched)
    flags = incidents_command.IncidentFlags(as_json=True, watch="250ms", count=4)
    assert incidents_command.show_incidents(None, flags, hub_requests.HubFlags()) == 0
    out, errors = capfd.readouterr()
    assert out.count("incidents") == 2
    assert errors.count("Connection refused") == 1


def test_a_watch_that_never_reached_the_hub_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> tuple[bytes, None]:
        raise UnmetError("cannot connect")

    monkeypatch.setattr(incidents_command, "_fetch", refused)
    flags = incidents_command.IncidentFlags(as_json=True, watch="250ms", count=4)
    with pytest.raises(UnmetError):
        incidents_command.show_incidents(None, flags, hub_requests.HubFlags())


def test_a_watch_ends_after_its_count(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with agent(broken) as one, hub(one.address, rules=rules) as running:
            while not (await running.get("/v1/incidents"))["incidents"]:
                await asyncio.sleep(0.02)
            watching = ("--hub", running.base, "--watch", "250ms", "--count", "2")

            code, out, errors = await typed("incidents", *watching)
            assert (code, errors.count("no state_dir is set")) == (0, 1)
            lines = out.splitlines()
            assert [line.endswith("  1 incident") for line in lines] == [True, False, False] * 2

            code, out, _ = await typed("incidents", "--json", *watching)
            assert code == 0
            documents = [json.loads(line) for line in out.splitlines()]
            assert [len(document["incidents"]) for document in documents] == [1, 1]

            code, out, _ = await typed("incidents", "i1", *watching)
            assert code == 0
            assert out.count("what to do reboot the node") == 2

            code, out, errors = await typed("incidents", "--severity", "info", *watching)
            assert (code, out.count("  0 incidents\n")) == (0, 2)
            assert errors.count("nothing; 2 rules are in force") == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--count", "2"), "--count goes with --watch"),
        (("--watch", "250ms", "--count", "0"), "0"),
        (("--watch", "10ms"), "an interval of 10ms is too short"),
        (("close", "i1", "--watch", "2s"), "--watch shows incidents again; close is done once"),
        (("note", "i1", "text", "-w", "2s"), "--watch shows incidents again; note is done once"),
    ],
)
def test_what_a_watch_cannot_be(words: tuple[str, ...], message: str) -> None:
    code, out, errors = asyncio.run(typed("incidents", *words))
    assert code != 0
    assert out == ""
    assert message in errors


def test_the_list_of_rules_says_which_a_hub_has_switched_off(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.02, budget_s=1e-9)

    async def main() -> None:
        async with agent() as one, hub(one.address, rules=rules) as running:
            hub_option = (str(file), "--hub", running.base)
            judging = running.hub.rules
            assert judging is not None
            await running.until(lambda: bool(judging.rule_states.switched_off("gpu.lost")))
            code, out, errors = await typed("rules", "list", *hub_option)
            assert code == 0
            assert out.splitlines()[1].split() == (
                ["gpu.lost", "device", "critical", "switched", "off", "A", "GPU", "is", "lost"]
            )
            assert "gpu.lost is switched off: " in errors
            rows = json.loads((await typed("rules", "list", "--json", *hub_option))[1])
            assert rows[0]["switched_off"]
            assert rows[0]["mode"] == "observe"

    asyncio.run(main())


def test_the_list_of_rules_is_what_a_hub_has_loaded(tmp_path: Path) -> None:
    file, other = tmp_path / "rules.yaml", tmp_path / "other.yaml"
    file.write_text(RULES, encoding="utf-8")
    other.write_text(
        "version: 1\nrules:\n- {id: hot, title: Hot, when: power_watts > 0}\n", encoding="utf-8"
    )
    rules = RuleSettings(files=(str(file),), interval_s=0.02)

    async def main() -> None:
        async with agent() as one, hub(one.address, rules=rules) as running:
            hub_options = ("--hub", running.base)
            # Without files: no shipped pack that the hub has not loaded.
            rows = json.loads((await typed("rules", "list", "--json", *hub_options))[1])
            assert {row["id"] for row in rows} == set(running.hub.rules.rules.rules)  # type: ignore[union-attr]
            (lost,) = (row for row in rows if row["id"] == "gpu.lost")
            assert (lost["loaded"], lost["for_s"], lost["tests"]) == (True, 0.0, None)
            assert (lost["file"], lost["title"]) == (str(file), "A GPU is lost")

            # With files: those, and which are loaded.
            given = ("rules", "list", str(file), str(other), *hub_options)
            _, out, _ = await typed(*given)
            lines = [line.split() for line in out.splitlines()[1:]]
            assert [line[0] for line in lines] == ["gpu.lost", "node.dark", "hot"]
            assert lines[2][3:5] == ["not", "loaded"]
            rows = json.loads((await typed(*given, "--json"))[1])
            assert [row["loaded"] for row in rows] == [True, True, False]
            assert rows[2]["mode"] == "observe"

    asyncio.run(main())


@pytest.mark.parametrize("words", [(), ("-p", "nvidia")])
def test_where_no_hub_answers_what_is_loaded_is_not_known(words: tuple[str, ...]) -> None:
    dead = ("--hub", f"http://127.0.0.1:{free_port()}")
    code, out, stderr = asyncio.run(typed("rules", "list", "--json", *words, *dead))
    rows = json.loads(out)
    assert code == 0
    assert {row["loaded"] for row in rows} == {None}
    assert any(row["id"].startswith("nvidia.") for row in rows)
    assert ("these are the rules that are shipped" in stderr) is (words == ())
    assert "which are loaded or switched off is not known" in stderr


def test_the_list_of_rules_says_where_a_hub_is_blind(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "version: 1\nrules:\n"
        "- {id: hot, title: Hot, when: power_watts > 0, for: 1h, unknown_after: 10ms}\n"
        "- {id: warm, title: Warm, when: power_watts > 0}\n",
        encoding="utf-8",
    )
    rules = RuleSettings(files=(str(file),), interval_s=0.02)

    async def main() -> None:
        async with agent() as one, hub(one.address, rules=rules) as running:
            hub_option = (str(file), "--hub", running.base)
            judging = running.hub.rules
            assert judging is not None
            await running.until(lambda: bool(judging.open))
            one.feed.put(machines.snapshot(machines.lost_view(0)))
            await running.until(lambda: judging.rule_states.blind()["hot"] > 0)
            assert "accel_fleet_rule_blind" in await running.get("/metrics")
            _, _, errors = await typed("rules", "list", *hub_option)
            assert "hot is pending or firing on " in errors
            rows = json.loads((await typed("rules", "list", "--json", *hub_option))[1])
            assert rows[0]["blind"] > 0
            assert rows[0]["mode"] == "observe"

    asyncio.run(main())


@pytest.mark.parametrize("command", [["incidents"], ["rules", "explain", "a", "b"]])
def test_a_hub_that_is_not_there_is_reported(command: list[str]) -> None:
    code, _, errors = asyncio.run(typed(*command, "--hub", "127.0.0.1:1"))
    assert code != 0
    assert "127.0.0.1:1: cannot connect" in errors


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("",), "ID"),
        (("show", ""), "ID"),
        (("close", " ", "--reason", "x"), "ID"),
        (("note", "", "text"), "ID"),
        (("note", "i1", ""), "TEXT"),
    ],
)
def test_an_empty_argument_is_named(
    words: tuple[str, ...], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(["incidents", *words]) == 2
    assert f"{name} is empty; write: accelwatch incidents [show ID]" in capsys.readouterr().err


@pytest.mark.parametrize("before", [[], ["show"], ["close", "i1"], ["note"]])
def test_the_help_explains_each_word(before: list[str]) -> None:
    result = CliRunner().invoke(build(), ["incidents", *before, "--help"])
    text = " ".join(result.stdout.split())
    assert "`accelwatch incidents` lists the open incidents" in text
    assert "`accelwatch incidents show ID` shows one incident" in text
    assert "`accelwatch incidents close ID --reason TEXT` closes one" in text
    assert "`accelwatch incidents note ID TEXT` adds a line" in text


def test_a_hub_without_rules_is_reported() -> None:
    async def main() -> None:
        async with hub() as running:
            _, out, errors = await typed("incidents", "--hub", running.base)
            assert out == ""
            assert "there are no rules here" in errors

    asyncio.run(main())


def test_a_hub_or_an_agent_is_queried_but_not_both() -> None:
    words = ("incidents", "--hub", "127.0.0.1:1", "--agent", "127.0.0.1:1")
    code, _, errors = asyncio.run(typed(*words))
    assert code != 0
    assert "--hub and --agent: one of them" in errors
    _, _, errors = asyncio.run(typed("incidents", "--agent", "ftp://127.0.0.1"))
    assert "--agent 'ftp://127.0.0.1': the scheme is http or https" in errors


def test_without_a_hub_on_this_machine_its_agent_is_queried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub_requests, "DEFAULT_AGENT", "127.0.0.1:2")
    flags = hub_requests.HubFlags()
    monkeypatch.setattr(hub_requests, "DEFAULT_HUB", "127.0.0.1:1")
    with pytest.raises(
        AccelwatchError, match="127.0.0.1:1 and 127.0.0.1:2: cannot connect"
    ) as server:
        hub_requests.fetch_page(flags, "/v1/incidents", {})
    assert str(server.value).endswith(
        "; if the hub is on another machine, add --hub http://host:9878"
    )


@pytest.mark.parametrize(
    "flags",
    [
        hub_requests.HubFlags(hub=["127.0.0.1:1"]),
        hub_requests.HubFlags(agent="127.0.0.1:1"),
        hub_requests.HubOnlyFlags(hub=["127.0.0.1:1"]),
    ],
)
def test_who_names_a_hub_is_not_advised_to_name_one(flags: hub_requests.HubOnlyFlags) -> None:
    with pytest.raises(AccelwatchError, match="127.0.0.1:1: cannot connect: Connection refused$"):
        hub_requests.fetch_page(flags, "/v1/incidents", {})
