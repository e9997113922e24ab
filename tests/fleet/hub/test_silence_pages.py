"""Silences, maintenance and closing by hand, asked of a real hub over a real agent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import bcrypt
import msgspec
import pytest

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.model import RuleSettings, Web
from accelwatch.fleet.hub_client.source import HubSource
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.web.protection.web_config import Protection
from agent.credentials import basic
from support.fleet.hub_peers import Running, agent, hub
from support.machines import composed as machines

LOST = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, title: A GPU is lost, when: state == "lost", severity: critical}
"""
HASH = bcrypt.hashpw(b"secret-word", bcrypt.gensalt(4)).decode()
ANA = basic("ana", "secret-word")
SILENCES, MAINTENANCE = "/v1/silences", "/v1/maintenance"
SWAP = {"matchers": ["rule=~gpu.*"], "for": "2h", "reason": "swap  of\nboards", "by": "ben"}


@pytest.fixture
def rules(tmp_path: Path) -> RuleSettings:
    file = tmp_path / "rules.yaml"
    file.write_text(LOST, encoding="utf-8")
    return RuleSettings(files=(str(file),), interval_s=0.1)


@contextlib.asynccontextmanager
async def judged(rules: RuleSettings, **more: Any) -> AsyncIterator[tuple[Running, str]]:
    """A hub with an incident, and the name of its node."""
    broken = machines.snapshot(machines.view(0), machines.lost_view(1))
    async with agent(broken) as one, hub(one.address, rules=rules, **more) as running:
        await running.until(lambda: bool(running.hub.rules and running.hub.rules.open))
        yield running, one.address


def played(scenario: Callable[[], Any]) -> None:
    asyncio.run(scenario())


async def delete(running: Running, path: str, code: int = 200, **options: Any) -> Any:
    async with running.session.delete(running.base + path, **options) as response:
        body = await response.read()
        assert response.status == code, body
        return msgspec.json.decode(body) if code == 200 else body.decode()


def test_a_silence_is_set_shown_where_it_mutes_and_ended(
    tmp_path: Path, rules: RuleSettings
) -> None:
    async def scenario() -> None:
        async with judged(rules, state_dir=tmp_path) as (running, _):
            answer = await running.post(SILENCES, json=SWAP)
            silence = answer["silence"]
            assert answer["problem"] == ""
            assert (silence["id"], silence["matchers"]) == ("s2", ["rule=~gpu.*"])
            assert (silence["by"], silence["verified"]) == ("ben", False)
            assert (silence["reason"], silence["mutes"]) == ("swap of boards", 1)
            assert silence["in_force"]
            assert (await running.get(SILENCES))["silences"] == [silence]
            incident = await running.get("/v1/incidents/i1")
            assert incident["state"] == "open"
            assert incident["muted_by"] == {
                "id": "s2",
                "kind": "silence",
                "reason": "swap of boards",
                "by": "ben (unverified)",
                "until": silence["ends"],
            }
            assert (await running.get("/v1/incidents"))["incidents"][0]["muted_by"]["id"] == "s2"

            await delete(running, f"{MAINTENANCE}/s2", 404)
            ended = await delete(running, f"{SILENCES}/s2?by=ben")
            assert (ended["silence"]["in_force"], ended["problem"]) == (False, "")
            assert (await running.get("/v1/incidents/i1"))["muted_by"] is None
            assert (await running.get(SILENCES))["silences"] == []
            assert "no silence 's2', or it is over" in await delete(running, f"{SILENCES}/s2", 404)

    played(scenario)


def test_maintenance_mutes_its_nodes_and_names_those_that_are_not_known(
    tmp_path: Path, rules: RuleSettings
) -> None:
    async def scenario() -> None:
        async with judged(rules, state_dir=tmp_path) as (running, node):
            silence = {"nodes": [node, "n[8-9]"], "for": "1h", "reason": "BIOS"}
            answer = await running.post(MAINTENANCE, json=silence)
            window = answer["maintenance"]
            assert answer["unknown"] == ["n8", "n9"]
            assert (window["id"], window["nodes"], window["mutes"]) == ("m2", [node, "n[8-9]"], 1)
            assert (await running.get("/v1/incidents/i1"))["muted_by"]["kind"] == "maintenance"
            later = {"all": True, "from": "2098-01-01T00:00:00Z", "for": "1h", "reason": "move"}
            assert "beyond 90 days" in await running.post(MAINTENANCE, 400, json=later)
            assert (await running.get(MAINTENANCE))["maintenance"] == [window]
            await delete(running, f"{SILENCES}/m2", 404)
            ended = await delete(running, f"{MAINTENANCE}/m2")
            assert not ended["maintenance"]["in_force"]
            assert (await running.get("/v1/incidents/i1"))["muted_by"] is None

            assert running.hub.rules is not None
            reserved = Maintenance(
                id="slurm:bios", nodes=(node,), starts=1.0, ends=4e9, by="slurm", reason="x"
            )
            await running.hub.rules.incident_store.mutes.announce([reserved])
            assert (await running.get("/v1/incidents/i1"))["muted_by"]["id"] == "slurm:bios"
            (listed,) = (await running.get(MAINTENANCE))["maintenance"]
            assert (listed["id"], listed["mutes"]) == ("slurm:bios", 1)
            text = await delete(running, f"{MAINTENANCE}/slurm:bios", 400)
            assert "kept by the scheduler" in text

    played(scenario)


def test_a_label_that_is_misspelt_is_refused_and_one_that_nothing_has_is_named(
    tmp_path: Path, rules: RuleSettings
) -> None:
    async def scenario() -> None:
        async with judged(rules, state_dir=tmp_path) as (running, node):
            silence = {"matchers": [f"nod={node}"], "for": "1h", "reason": "x"}
            text = await running.post(SILENCES, 400, json=silence)
            assert "nothing here has a label 'nod'; did you mean node?" in text
            silence["matchers"] = [f"node={node}", "zone=west"]
            assert (await running.post(SILENCES, json=silence))["unknown"] == ["zone"]
            targets = [
                msgspec.structs.replace(source.target, labels={"zone": "east"})
                for source in running.hub.fleet.nodes[node].sources.values()
            ]
            running.hub.fleet.set_targets(targets)
            assert (await running.post(SILENCES, json=silence))["unknown"] == []

    played(scenario)


@pytest.mark.parametrize(("lasts", "code"), [("2", 400), ("2 ", 400), ("0.5", 400), ("2h", 200)])
def test_how_long_a_silence_lasts_has_a_unit(rules: RuleSettings, lasts: str, code: int) -> None:
    async def scenario() -> None:
        async with judged(rules) as (running, node):
            silence = {"matchers": [f"node={node}"], "for": lasts, "reason": "x"}
            text = await running.post(SILENCES, code, json=silence)
            number = lasts.strip()
            hint = f"'{number}' has no unit; write {number}m, {number}h or {number}d"
            assert code == 200 or hint in text

    played(scenario)


def test_an_incident_is_closed_by_hand(tmp_path: Path, rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with judged(rules, state_dir=tmp_path) as (running, _):
            path = "/v1/incidents/i1/close"
            assert "reason" in await running.post(path, 400, json={"by": "ben"})
            closed = await running.post(path, json={"reason": "known", "by": "ben"})
            assert (closed["id"], closed["problem"]) == ("i1", "")
            incident = await running.get("/v1/incidents/i1")
            assert incident["state"] == "closed"
            last = incident["timeline"][-1]
            assert (last["text"], last["actor"]) == ("known", "ben (unverified)")
            assert "no incident 'i1' is open" in await running.post(path, 404, json={"reason": "x"})
            await running.get(path, 405)

    played(scenario)


def test_a_person_writes_into_an_incident(tmp_path: Path, rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with judged(rules, state_dir=tmp_path) as (running, _):
            path = "/v1/incidents/i1/note"
            assert "text" in await running.post(path, 400, json={"by": "ben"})
            assert "a note needs a text" in await running.post(path, 400, json={"text": " \n"})
            assert "500 characters" in await running.post(path, 400, json={"text": "x" * 501})
            written = await running.post(path, json={"text": "board\nordered", "by": "ben"})
            assert written == {"id": "i1", "text": "board ordered", "problem": ""}
            incident = await running.get("/v1/incidents/i1")
            assert incident["state"] == "open"
            last = incident["timeline"][-1]
            assert (last["kind"], last["text"]) == ("note", "board ordered")
            assert last["actor"] == "ben (unverified)"
            for other in ("i99", "i1/x"):
                text = await running.post(f"/v1/incidents/{other}/note", 404, json={"text": "x"})
                assert "that can be written into" in text
            await running.get(path, 405)

    played(scenario)


def test_who_has_a_password_is_believed_and_others_are_not_admitted(rules: RuleSettings) -> None:
    protection = Protection(users={"ana": HASH})

    async def scenario() -> None:
        async with judged(rules, protection=protection) as (running, _):
            for path in (SILENCES, MAINTENANCE, "/v1/incidents/i1/close", "/v1/incidents/i1/note"):
                await running.post(path, 401, json=SWAP)
            await delete(running, f"{SILENCES}/s2", 401)
            answer = await running.post(SILENCES, json=SWAP, headers=ANA)
            assert (answer["silence"]["by"], answer["silence"]["verified"]) == ("ana", True)
            incident = await running.get("/v1/incidents/i1", headers=ANA)
            assert incident["muted_by"]["by"] == "ana"

    played(scenario)


def test_a_hub_open_to_all_and_a_page_in_a_browser_change_nothing(rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with hub(rules=rules) as running:
            refusal = await running.post(
                SILENCES, 403, json=SWAP, headers={"Origin": "http://evil"}
            )
            assert "browser" in refusal
            refusal = await delete(
                running, f"{SILENCES}/s1", 403, headers={"Origin": "http://evil"}
            )
            assert "browser" in refusal
        async with hub(
            rules=rules, web=Web(listen_address=("0.0.0.0:0",), listen_any=True)
        ) as running:
            assert "credentials" in await running.post(SILENCES, 403, json=SWAP)

    played(scenario)


def test_without_a_journal_the_answer_says_that_nothing_is_kept(rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with judged(rules) as (running, _):
            answer = await running.post(SILENCES, json=SWAP)
            assert "no state_dir is set" in answer["problem"]
            assert answer["silence"]["mutes"] == 1

    played(scenario)


def test_an_acknowledgement_says_where_the_audit_log_lacks_it(
    tmp_path: Path, rules: RuleSettings, caplog: pytest.LogCaptureFixture
) -> None:
    # A disk that is full: nothing is written after the start.
    full = JournalError("the journal cannot be written: No space left on device")

    async def scenario() -> None:
        async with judged(rules, state_dir=tmp_path) as (running, node):
            path = f"/v1/nodes/{node}/acknowledge"
            assert (await running.post(path))["problem"] == ""
            assert running.hub.rules is not None
            writer = running.hub.rules.incident_store.writer
            assert writer is not None

            async def refuse(batch: Batch) -> None:
                raise full

            writer.commit = refuse  # type: ignore[method-assign]
            assert (await running.post(path))["problem"] == str(full)
            source = HubSource(HubEndpoint(name="hub", base=running.base))
            with pytest.raises(AccelwatchError, match="not written to the audit log: the journal"):
                await source.acknowledge(node, None)

    played(scenario)
    assert any(text.startswith("not in the audit log node=") for text in caplog.messages)


def test_where_no_journal_is_wanted_an_acknowledgement_lacks_nothing(rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with judged(rules) as (running, node):
            assert (await running.post(f"/v1/nodes/{node}/acknowledge"))["problem"] == ""

    played(scenario)


def test_a_hub_without_rules_has_nobody_to_silence() -> None:
    async def scenario() -> None:
        async with hub() as running:
            assert "no rules are evaluated here" in await running.post(SILENCES, 404, json=SWAP)
            nothing = {"judged": False, "problems": []}
            assert await running.get(SILENCES) == {**nothing, "silences": []}
            assert await running.get(MAINTENANCE) == {**nothing, "maintenance": []}

    played(scenario)


NODES = {"nodes": ["n1"], "for": "1h", "reason": "BIOS"}


REFUSED: list[tuple[str, Any, str]] = [
    (SILENCES, {**SWAP, "matchers": []}, "say what to silence"),
    (SILENCES, {**SWAP, "matchers": [""]}, "say what to silence"),
    (SILENCES, {**SWAP, "matchers": ["n1"]}, "'n1' is not a valid matcher"),
    (SILENCES, {**SWAP, "matchers": ["a=b"] * 17}, "more than 16"),
    (SILENCES, {**SWAP, "for": "soon"}, "'soon' is not a valid duration"),
    (SILENCES, {**SWAP, "for": "0h"}, "would end before it starts"),
    (SILENCES, {**SWAP, "until": "2030-01-01T00:00:00Z"}, "either"),
    (SILENCES, {**SWAP, "for": ""}, "either"),
    (SILENCES, {**SWAP, "for": "91d"}, "beyond 90 days"),
    (SILENCES, {**SWAP, "reason": " "}, "reason: a reason is required"),
    (SILENCES, {**SWAP, "reason": "x" * 501}, "reason: more than 500"),
    (SILENCES, {**SWAP, "by": "x" * 101}, "by: more than 100"),
    (SILENCES, {**SWAP, "form": "2h"}, "unknown field `form`"),
    (SILENCES, {"matchers": ["a=b"], "for": "1h"}, "missing required field `reason`"),
    (SILENCES, [1], "Expected `object`"),
    (MAINTENANCE, {**NODES, "nodes": []}, "nodes: name some"),
    (MAINTENANCE, {**NODES, "nodes": ["n1", " "]}, "nodes: name some"),
    (MAINTENANCE, {**NODES, "all": True}, "nodes: name some"),
    (MAINTENANCE, {**NODES, "nodes": ["n[9-1]"]}, "runs backwards"),
    (MAINTENANCE, {**NODES, "nodes": ["n[1-4096]", "x"]}, "more than 4096"),
    (MAINTENANCE, {**NODES, "from": "2030-01-01T00:00:00"}, "not a valid time with time zone"),
    (MAINTENANCE, {**NODES, "from": "tomorrow"}, "from: 'tomorrow' is not a valid time"),
    (
        MAINTENANCE,
        {"nodes": ["n1"], "until": "2020-01-01T00:00:00Z", "reason": "x"},
        "has ended already",
    ),
]


def test_what_makes_no_sense_is_reported(rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with hub(rules=rules) as running:
            for path, body, message in REFUSED:
                assert message in await running.post(path, 400, json=body)
            assert not (await running.get(SILENCES))["silences"]
            assert not (await running.get(MAINTENANCE))["maintenance"]

    played(scenario)


def test_bodies_that_are_none_are_refused(rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with hub(rules=rules) as running:
            json = {"Content-Type": "application/json"}
            text = await running.post(SILENCES, 400, data=b"{", headers=json)
            assert "invalid body" in text
            text = await running.post(SILENCES, 400, data=b"\xff\xfe", headers=json)
            assert "invalid body" in text
            text = await running.post(SILENCES, 415, data={"reason": "a form"})
            assert "application/json" in text
            await running.post(SILENCES, 413, data=b" " * 65_537, headers=json)
            text = await running.post(f"{SILENCES}?for=2h", 400, json=SWAP)
            assert "this page takes none" in text
            await running.get(f"{SILENCES}/s1", 405)

    played(scenario)
