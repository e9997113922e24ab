"""`accelwatch why`, asked of a hub, of an agent, and where there is neither."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from accelwatch.archive.recording import Recorder
from accelwatch.base.errors import AccelwatchError
from accelwatch.cli import hub_requests
from accelwatch.cli.incidents import why_command
from accelwatch.cli.startup.app import build
from accelwatch.cli.startup.entry import dispatch
from accelwatch.config.model import RuleSettings
from support.fleet.hub_peers import agent, hub
from support.machines import composed as machines

RULES = """\
version: 1
rules:
- id: gpu.lost
  title: A GPU is lost
  when: state == "lost"
  severity: critical
  what_to_do: reboot the node
"""
NAME = machines.device(1).name


async def typed(*words: str) -> tuple[int, str, str]:
    """Exit code, output and what is said beside it."""
    result = await asyncio.to_thread(CliRunner().invoke, build(), ["why", *words])
    return result.exit_code, result.stdout, result.stderr or str(result.exception or "")


def test_a_hub_is_queried_and_its_rules_words_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with agent(broken) as one, hub(one.address, rules=rules) as running:
            hub_option = ("--hub", running.base)
            while not (await running.get("/v1/incidents"))["incidents"]:
                await asyncio.sleep(0.02)

            code, out, _ = await typed(f"{one.address}/{NAME}", *hub_option)
            assert code == 0
            assert out.startswith(f"{one.address}/{NAME} has been lost for ")
            assert ": A GPU is lost.\n" in out
            assert "  what to do: reboot the node\n" in out
            assert "  more:       accelwatch incidents i1\n" in out

            code, out, _ = await typed("--json", *hub_option)
            document = json.loads(out)
            assert (document["wrong"], document["where"]) == (True, f"{one.address}/{NAME}")

            code, out, document = await typed("nix", *hub_option)
            assert (code, out) != (0, "")
            assert "nothing is called 'nix' here; there are devices" in document

    asyncio.run(main())


def test_an_agent_is_queried_for_its_machine() -> None:
    async def main() -> None:
        async with agent(machines.snapshot(machines.view(0), machines.lost_view(1))) as one:
            code, out, _ = await typed("1", "--agent", one.address)
            assert code == 0
            assert f"/{NAME} has been lost for " in out
            _, out, _ = await typed("0", "--agent", one.address)
            assert out.startswith("nothing is wrong with ")

    asyncio.run(main())


def test_where_nobody_answers_the_devices_are_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why_command, "reached", lambda _hub, _ask: None)

    code, out, _ = asyncio.run(typed())

    assert (code, out) == (0, "there is no device.\n")


@pytest.mark.parametrize("empty", ["", " "])
def test_nothing_is_not_taken_for_everything(empty: str) -> None:
    assert dispatch(["why", empty]) == 2
    _, out, errors = asyncio.run(typed(empty))
    assert out == ""
    assert "WHAT is empty; name a device, a node, a job or a user, or leave it out" in errors


def test_a_hub_that_is_named_and_not_there_is_reported() -> None:
    code, _, errors = asyncio.run(typed("--hub", "127.0.0.1:1"))

    assert code != 0
    assert "127.0.0.1:1" in errors


def test_nobody_is_there_only_where_nobody_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object, **__: object) -> bytes:
        raise hub_requests.NobodyAnswersError("nobody")

    monkeypatch.setattr(hub_requests, "_over", nobody)

    async def ask(_session: object) -> str:
        return ""

    assert hub_requests.reached(hub_requests.HubFlags(), ask) is None
    with pytest.raises(AccelwatchError):
        hub_requests.reached(hub_requests.HubFlags(agent="127.0.0.1:1"), ask)


def test_a_recording_is_queried_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(why_command, "reached")
    file = tmp_path / "node.ndjson.zst"
    with Recorder(file) as recorder:
        recorder.write(machines.snapshot(machines.view(0), machines.lost_view(1)))
        recorder.write(machines.snapshot(machines.view(0), time=machines.NOW + 1))

    code, out, _ = asyncio.run(typed("--replay", str(file)))
    assert code == 0
    assert out.startswith(f"n01/{NAME} has been lost for ")
    code, _, errors = asyncio.run(typed("--replay", str(tmp_path / "none")))
    assert (code != 0, "no recording" in errors) == (True, True)


def test_a_scenario_is_queried() -> None:
    code, out, _ = asyncio.run(typed("--replay", "demo", "--timeout", "50s"))
    assert code == 0
    assert "nvidia5 is lost" in out  # a single reading does not know since when


@pytest.mark.parametrize("flag", ["--hub", "--agent"])
def test_a_recording_and_somebody_to_ask_contradict_each_other(flag: str) -> None:
    code, _, errors = asyncio.run(typed("--replay", "demo", flag, "127.0.0.1:1"))
    assert code != 0
    assert "--replay asks no hub or agent" in errors
