"""`accelwatch silence`, `maintenance` and `incidents close`, asked of a running hub."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from accelwatch.cli.hub_requests import HubFlags, NobodyAnswersError, changed
from accelwatch.cli.startup.app import build
from accelwatch.config.model import RuleSettings
from support.fleet.hub_peers import agent, hub
from support.machines import composed as machines

RULES = """\
version: 1
rules:
- {id: gpu.lost, title: A GPU is lost, when: state == "lost", severity: critical}
"""
WHY = ("--for", "2h", "--reason", "swap")


async def typed(*words: str) -> tuple[int, str, str]:
    """Exit code, output and what is said beside it."""
    result = await asyncio.to_thread(CliRunner().invoke, build(), list(words))
    errors = result.stderr or str(result.exception or "")
    return result.exit_code, result.stdout, errors.replace("accelwatch: ", "")


def test_silences_and_maintenance_from_beginning_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ana")
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with (
            agent(broken) as one,
            hub(one.address, rules=rules, state_dir=tmp_path) as running,
        ):
            hub_option = ("--hub", running.base)
            await running.until(lambda: bool(running.hub.rules and running.hub.rules.open))

            code, out, errors = await typed(
                "silence", "add", "rule=~gpu.*,rack=", *WHY, *hub_option
            )
            assert (code, errors) == (0, "1 open incident muted by it now\n")
            id_, state, *_ = out.split("  ")
            assert (id_, state) == ("s2", "in force")
            assert out.endswith("Z  rule=~gpu.*, rack=  ana (unverified): swap\n")
            _, out, _ = await typed("incidents", *hub_option)
            assert out.endswith("A GPU is lost  (muted by silence s2: swap)\n")
            _, out, _ = await typed("incidents", "i1", *hub_option)
            assert "muted by   silence s2: swap" in out
            code, out, _ = await typed("silence", "list", "--json", *hub_option)
            assert [row["id"] for row in json.loads(out)["silences"]] == ["s2"]

            nodes = (f"{one.address},n[1-2]", "n9", "--by", "ben")
            code, out, errors = await typed("maintenance", "add", *nodes, *WHY, *hub_option)
            assert code == 0
            assert errors == "no such node now: n1, n2, n9\nno open incidents muted by it now\n"
            assert out.startswith("m3  in force  ")
            assert out.endswith(f"  {one.address},n[1-2],n9  ben (unverified): swap\n")
            later = ("--from", "2098-01-01T18:00", "--until", "2098-01-01T19:00", "--reason", "x")
            code, _, errors = await typed("maintenance", "add", "--all", *later, *hub_option)
            assert code != 0
            assert "beyond 90 days" in errors

            assert await typed("silence", "end", "s2", *hub_option) == (0, "s2 ended\n", "")
            _, out, errors = await typed("silence", "list", *hub_option)
            assert (out, errors) == ("", "none\n")
            _, out, _ = await typed("maintenance", "list", *hub_option)
            assert out.startswith("m3  in force")
            code, out, _ = await typed("maintenance", "end", "m3", "--json", *hub_option)
            assert json.loads(out)["maintenance"]["in_force"] is False
            code, _, errors = await typed("maintenance", "end", "m3", *hub_option)
            assert code != 0
            assert "no maintenance 'm3', or it is over" in errors

            closing = ("incidents", "close", "i1", "--reason", "replaced")
            assert await typed(*closing, *hub_option) == (0, "i1 closed\n", "")
            _, out, _ = await typed("incidents", "i1", *hub_option)
            assert out.endswith("closed    replaced (by ana (unverified))\n")

    asyncio.run(main())


def test_what_is_not_written_down_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")

    async def main() -> None:
        async with hub(rules=RuleSettings(files=(str(file),))) as running:
            hub_option = ("--hub", running.base)
            code, out, errors = await typed("silence", "add", "node=n1", *WHY, *hub_option)
            assert (code, out[:4]) == (0, "s1  ")
            assert errors.startswith("in force, but not saved: no state_dir is set")
            code, _, errors = await typed("incidents", "note", "i99", "ordered", *hub_option)
            assert code != 0
            assert "no incident 'i99' is kept" in errors
            _, _, errors = await typed("silence", "end", "s1", *hub_option)
            assert errors.startswith("ended, but not written down: no state_dir is set")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("silence", "add", "node=n1", "--for", "2h"), "--reason TEXT"),
        (("silence", "add", "node=n1", "--reason", "x"), "either --for 2h, or --until"),
        (
            ("silence", "add", "node=n1", *WHY, "--until", "2030-01-01"),
            "either --for 2h, or --until",
        ),
        (("maintenance", "add", *WHY), "or --all for every node"),
        (("maintenance", "add", "n1", "--all", *WHY), "or --all for every node"),
        (
            ("maintenance", "add", "n1", *WHY, "--from", "noon"),
            "--from: 'noon' is not a valid time",
        ),
        (
            ("silence", "add", "a=b", "--until", "noon", "--reason", "x"),
            "--until: 'noon' is not a valid time",
        ),
        (("incidents", "close", "i1"), "--reason TEXT"),
        (("incidents", "close"), "accelwatch incidents close ID"),
        (("incidents", "i1", "i2"), "accelwatch incidents close ID"),
        (("incidents", "note", "i1"), "accelwatch incidents note ID"),
        (("incidents", "note", "i1", "a", "b"), "accelwatch incidents note ID"),
        (("incidents", "i1", "--reason", "x"), "--reason and --by are for"),
        (("incidents", "--by", "x"), "--reason and --by are for"),
    ],
)
def test_what_is_missing_or_too_much_is_reported_before_any_request(
    words: tuple[str, ...], says: str
) -> None:
    code, _, errors = asyncio.run(typed(*words, "--hub", "127.0.0.1:1"))
    assert code != 0
    assert says in errors


@pytest.mark.parametrize(
    "words",
    [
        ("silence", "add", "node=n1", *WHY),
        ("silence", "end", "s1"),
        ("maintenance", "add", "n1", *WHY),
        ("maintenance", "list"),
        ("incidents", "close", "i1", "--reason", "x"),
    ],
)
def test_a_hub_that_is_not_there_is_reported(words: tuple[str, ...]) -> None:
    code, _, errors = asyncio.run(typed(*words, "--hub", "127.0.0.1:1"))
    assert code != 0
    assert "127.0.0.1:1: cannot connect" in errors


@pytest.mark.parametrize(
    ("hub", "hinted"),
    [
        (HubFlags(), True),
        (HubFlags(hub=["127.0.0.1:1"]), False),
        (HubFlags(agent="127.0.0.1:1"), False),
    ],
)
def test_a_change_is_for_who_was_meant_and_says_how_to_mean_the_agent(
    hub: HubFlags, hinted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(*_: object, **__: object) -> bytes:
        raise NobodyAnswersError("127.0.0.1:9878: cannot connect")

    monkeypatch.setattr("accelwatch.cli.hub_requests._over", nobody)
    with pytest.raises(NobodyAnswersError) as raised:
        changed(hub, "POST", "/v1/silences", document={})
    assert ("--agent 127.0.0.1:9877" in str(raised.value)) is hinted
