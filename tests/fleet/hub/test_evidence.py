"""Evidence that others push to a hub: placed, asked by rules, over when it ends, and bounded."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import bcrypt
import msgspec
import pytest

from accelwatch.config.model import RuleSettings
from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.state.evidence import board as board_module
from accelwatch.fleet.state.evidence.board import EvidenceBoard, ReceivedAlert
from accelwatch.fleet.state.evidence.file import EvidenceFile
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.web.protection.web_config import Protection
from agent.credentials import basic
from support.fleet.hub_peers import Running, agent, hub
from support.machines import composed as machines

RULES = """\
version: 1
defaults: {keep: 0}
rules:
- {id: hot, title: Hot, when: 'event("alertmanager", code == "alertmanager_Hot")', severity: critical}
- {id: disk, title: Disk, scope: node, when: 'node.any(event("evidence", severity == "critical"))'}
- id: stood
  title: Stood
  when: count("evidence", code == "evidence_disk", within="1h") >= 1 and since("evidence") < 60
- {id: often, title: Often, when: 'count("evidence", code == "evidence_odd", within="1h") >= 2'}
"""
PATH, WEBHOOK = "/v1/evidence", "/v1/evidence/alertmanager"
HASH = bcrypt.hashpw(b"secret-word", bcrypt.gensalt(4)).decode()
ANA = basic("ana", "secret-word")
UUID = machines.view(1).device.uuid


def played(scenario: Callable[[], Any]) -> None:
    asyncio.run(scenario())


@pytest.fixture
def rules(tmp_path: Path) -> RuleSettings:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    return RuleSettings(files=(str(file),), interval_s=0.1)


@contextlib.asynccontextmanager
async def judged(rules: RuleSettings, **more: Any) -> AsyncIterator[tuple[Running, str]]:
    """A hub with a node of two devices, and the node's name."""
    whole = machines.snapshot(machines.view(0), machines.view(1))
    async with agent(whole) as one, hub(one.address, rules=rules, **more) as running:
        await running.devices(one.address, 2)
        yield running, one.address


def opened(running: Running) -> list[tuple[str, str]]:
    assert running.hub.rules is not None
    return [(one.rule, one.entity.device) for one in running.hub.rules.open]


def message(status: str, **labels: str) -> dict[str, Any]:
    """What an Alertmanager posts."""
    alert = {
        "status": status,
        "labels": {"alertname": "Hot", **labels},
        "annotations": {"summary": "a GPU is hot"},
        "startsAt": "2020-01-31T10:00:00.123456789Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "",
        "fingerprint": "f00d",
    }
    return {"version": "4", "receiver": "x", "status": status, "alerts": [alert], "groupKey": "g"}


def test_an_alert_of_a_device_is_an_incident_until_it_is_resolved(rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with judged(rules) as (running, node):
            firing = message("firing", instance=node, uuid=str(UUID), severity="critical")
            bad = machines.view(1).device.id
            answer = await running.post(WEBHOOK, json=firing)
            assert answer == {"taken": 1, "unplaced": [], "refused": [], "problem": ""}
            await running.until(lambda: opened(running) == [("hot", bad)])
            (rests_on,) = (await running.get("/v1/incidents"))["incidents"][0]["evidence"]
            assert (rests_on["source"], rests_on["signal"]) == ("pushed", "alertmanager_Hot")
            assert rests_on["text"] == "alertmanager_Hot: a GPU is hot"
            (active,) = (await running.get(PATH))["standing"]
            assert (active["node"], active["severity"]) == (node, "critical")
            assert active["since"] == "2020-01-31T10:00:00.123Z"
            assert active["by"] == "somebody (unverified)"

            await running.post(WEBHOOK, json=firing)  # sent again, it is the same
            await running.post(WEBHOOK, json=message("resolved", uuid=str(UUID)))
            await running.until(lambda: opened(running) == [])
            assert (await running.get(PATH))["standing"] == []
            events = (await running.get("/v1/events"))["events"]
            texts = [one["text"] for one in events if one["code"] == "alertmanager_Hot"]
            assert texts == ["over: a GPU is hot", "a GPU is hot"]

    played(scenario)


def test_evidence_happens_or_starts_and_ends(rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with judged(rules) as (running, node):
            started = {"code": "disk", "node": node, "severity": "critical", "status": "began"}
            await running.post(PATH, json={"source": "nhc", "evidence": [started]})
            both = [("stood", machines.view(at).device.id) for at in (0, 1)]
            await running.until(lambda: sorted(opened(running)) == [("disk", ""), *both])
            ended = {"code": "disk", "node": node, "status": "ended"}
            await running.post(PATH, json={"source": "other", "evidence": [ended]})
            assert len((await running.get(PATH))["standing"]) == 1
            await running.post(PATH, json={"source": "nhc", "evidence": [ended]})
            await running.until(lambda: opened(running) == [])

            odd = {"code": "odd", "node": node, "device": "nvidia0", "category": "bus"}
            await running.post(PATH, json={"source": "me", "evidence": [odd, {**odd, "text": "b"}]})
            await running.until(lambda: ("often", machines.view(0).device.id) in opened(running))

    played(scenario)


def test_who_is_meant_is_found_by_several_names(rules: RuleSettings) -> None:
    async def scenario() -> None:
        settings = Evidence(node_labels=("machine",), device_labels=("card",))
        async with judged(rules, evidence=settings) as (running, node):
            first = machines.view(0).device
            for labels in (
                {"machine": node, "card": "0"},
                {"machine": node, "card": first.name},
                {"machine": node, "card": str(first.pci_bus_id).upper()},
                {"card": str(first.uuid).removeprefix("GPU-")},
            ):
                one = {"code": "x", "labels": labels, "status": "began"}
                answer = await running.post(PATH, json={"source": "me", "evidence": [one]})
                assert answer["taken"] == 1, labels
                (active,) = (await running.get(PATH))["standing"]
                assert (active["node"], active["device"]) == (node, first.id), labels
            # A device that is not known says nothing of its whole node where it was named.
            lost = {"code": "x", "node": node, "device": "nvidia9"}
            nobody = {"code": "y", "labels": {"instance": "elsewhere:9100"}}
            body = {"source": "me", "evidence": [lost, nobody]}
            answer = await running.post(PATH, json=body)
            assert (answer["taken"], answer["unplaced"]) == (0, ["evidence_x", "evidence_y"])

    played(scenario)


def test_an_end_is_known_by_its_key_where_nobody_knows_whom_it_was_about(
    rules: RuleSettings, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with judged(rules) as (running, _):
            await running.post(WEBHOOK, json=message("firing", uuid=str(UUID)))
            gone = message("resolved", uuid="GPU-that-has-gone")
            assert (await running.post(WEBHOOK, json=gone))["taken"] == 1
            assert (await running.get(PATH))["standing"] == []
            # One of which nothing is known at all is in the answer, and in the log once.
            for _ in range(2):
                answer = await running.post(WEBHOOK, json=gone)
                assert (answer["taken"], answer["unplaced"]) == (0, ["alertmanager_Hot"])
            warnings = [one for one in caplog.messages if "about an unknown" in one]
            assert warnings == [
                "evidence about an unknown node or device was dropped "
                "source=alertmanager code=alertmanager_Hot count=1"
            ]

    played(scenario)


def test_who_has_to_prove_who_he_is_is_named(rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with judged(rules, protection=Protection(users={"ana": HASH})) as (running, _):
            firing = message("firing", uuid=str(UUID))
            await running.post(WEBHOOK, 401, json=firing)
            await running.post(WEBHOOK, json=firing, headers=ANA)
            (active,) = (await running.get(PATH, headers=ANA))["standing"]
            assert active["by"] == "ana"
            web = {**ANA, "Origin": "https://evil.example"}
            await running.post(WEBHOOK, 403, json=firing, headers=web)

    played(scenario)


@pytest.mark.parametrize(
    ("path", "body", "code", "reason"),
    [
        (PATH, {"source": "me"}, 400, "invalid body"),
        (PATH, {"source": "me", "evidence": [{"cod": "x"}]}, 400, "`cod`"),
        (PATH, {"source": " ", "evidence": []}, 400, "source: 1 to 100"),
        (PATH, {"source": "me", "evidence": [{"code": "x" * 101}]}, 400, "code: 1 to 100"),
        (PATH, {"source": "me", "evidence": [{"code": "a\u0007"}]}, 400, "code: 1 to 100"),
        (PATH, {"source": "me", "evidence": [{"code": "x", "at": "2026-01-01"}]}, 400, "at: "),
        (PATH, {"source": "me", "evidence": [{"code": "x"}] * 1001}, 400, "more than 1000 at once"),
        (WEBHOOK, {"version": "4"}, 400, "not a message of an Alertmanager"),
        (WEBHOOK, {"source": "me", "evidence": []}, 400, "not a message of an Alertmanager"),
        (f"{WEBHOOK}?x=1", {"version": "4", "alerts": []}, 400, "no parameter"),
        (PATH, "x" * 70_000, 413, "65536 bytes"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(
    rules: RuleSettings, path: str, body: Any, code: int, reason: str
) -> None:
    async def scenario() -> None:
        async with hub(rules=rules) as running:
            assert reason in await running.post(path, code, json=body)
            await running.post(PATH, 415, data=b"{}")

    played(scenario)


def test_what_we_sent_to_an_alertmanager_ourselves_is_no_evidence(rules: RuleSettings) -> None:
    async def scenario() -> None:
        async with judged(rules) as (running, node):
            ours = message("firing", node=node, incident="west/i1", rule="hot")
            assert (await running.post(WEBHOOK, json=ours))["taken"] == 0
            # One that has only one of the labels is somebody else's.
            theirs = message("firing", node=node, rule="hot")
            assert (await running.post(WEBHOOK, json=theirs))["taken"] == 1

    played(scenario)


def test_evidence_outlives_the_hub_and_a_damaged_file_is_left_alone(
    tmp_path: Path, rules: RuleSettings
) -> None:
    async def scenario() -> None:
        async with judged(rules, state_dir=tmp_path) as (running, node):
            firing = message("firing", uuid=str(UUID))
            assert (await running.post(WEBHOOK, json=firing))["problem"] == ""
        async with hub(rules=rules, state_dir=tmp_path) as running:
            (active,) = (await running.get(PATH))["standing"]
            assert (active["node"], active["code"]) == (node, "alertmanager_Hot")
        (tmp_path / "evidence.json").write_bytes(b"{")
        async with judged(rules, state_dir=tmp_path) as (running, _):
            answer = await running.post(WEBHOOK, json=firing)
            assert "ongoing evidence is unknown" in answer["problem"]
            assert answer["problem"] in running.hub.fleet.problems
            assert (tmp_path / "evidence.json").read_bytes() == b"{"

    played(scenario)


def received_alert(key: str, until: float) -> ReceivedAlert:
    event = ErrorEvent(code="x", category=Category.OTHER, time=5.0, text="x", source="pushed")
    return ReceivedAlert(key=key, node="n", event=event, until=until)


@pytest.mark.parametrize(
    ("old", "new"), [("huawei:d", "ascend:d"), ("nvidia:d", "nvidia:d"), ("", "")]
)
def test_evidence_is_about_the_device_as_its_vendor_is_called_now(
    old: str, new: str, tmp_path: Path
) -> None:
    def about(device_id: str) -> ReceivedAlert:
        known = received_alert(f"grafana\x1fhot\x1fn\x1f{device_id}\x1fnpu0", 10.0)
        event = msgspec.structs.replace(known.event, device_id=device_id)
        return msgspec.structs.replace(known, event=event)

    assert EvidenceFile(tmp_path).write([about(old)]) == ""
    assert EvidenceFile(tmp_path).read() == (about(new),)


def test_nothing_stands_for_ever_and_there_is_room_for_so_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(board_module, "MAX_ACTIVE", 2)
    now = [0.0]
    board = EvidenceBoard(lambda: now[0])
    assert board.activate(received_alert("a", 10))
    assert board.activate(received_alert("b", 20))
    assert not board.activate(received_alert("c", 20))
    assert board.activate(received_alert("b", 30))  # known already
    now[0] = 10.0
    assert [one.key for one in board.all()] == ["b"]
    assert board.activate(received_alert("c", 20))
    assert board.resolve("a") is None
    now[0] = 30.0
    assert board.get("b") is None
    assert len(board) == 0
    first = received_alert("d", 40)
    assert board.activate(first)
    again = msgspec.structs.replace(first.event, time=first.event.time + 5.0)
    assert board.activate(msgspec.structs.replace(first, until=50, event=again))
    assert board.get("d") == msgspec.structs.replace(first, until=50)
