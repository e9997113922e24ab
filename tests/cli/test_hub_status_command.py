"""`accelwatch hub status`: what it prints of several hubs, and of one that has its own journal."""

import asyncio
from pathlib import Path

import msgspec
from click.testing import CliRunner

from accelwatch.cli.servers.hub_status_command import status_text
from accelwatch.cli.startup.app import build
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.documents.hubs import HubDocument, HubsPage
from support.fleet.hub_peers import hub

LEADER = HubDocument(
    name="hub-b",
    address="hub-b:9878",
    version="0.2.0",
    leads=True,
    is_this=False,
    last_contact="2026-11-29T03:15:00.000Z",
    age_s=0.4,
    late_s=0.01,
    rules_digest="b1946ac92492d2347c6235b4d2611184",
    rules=61,
    has_rules_of_leader=True,
)
REQUESTED = msgspec.structs.replace(
    LEADER,
    name="hub-c",
    address="hub-c:9878",
    leads=False,
    is_this=True,
    rules_digest="591785b794601e212b260e25925636fd",
    rules=60,
    has_rules_of_leader=False,
)
PAGE = HubsPage(
    leads=False,
    acts=False,
    waiting="PostgreSQL accelwatch on db1: another hub writes there",
    journal="PostgreSQL accelwatch on db1",
    shared=True,
    leader="hub-b",
    since="2026-11-29T03:12:09.500Z",
    token=(2 << 32) + 7,
    timeline=2,
    database_reachable=True,
    late_s=0.4,
    auto_allowed=False,
    auto_refused="PostgreSQL accelwatch on db1 is replicated asynchronously",
    hubs=(LEADER, REQUESTED),
)


def test_a_hub_that_follows_names_the_leader_and_all_hubs() -> None:
    assert status_text(PAGE).splitlines() == [
        "leader    hub-b has led since 2026-11-29T03:12:09Z; this hub follows, 0.4 s behind",
        "journal   PostgreSQL accelwatch on db1, reachable",
        "lease     token 8589934599, timeline 2 of the database",
        "auto      no: PostgreSQL accelwatch on db1 is replicated asynchronously; it counts as approve",
        "",
        "HUB    ADDRESS     VERSION  ROLE            LAST CONTACT  BEHIND  RULES",
        "hub-b  hub-b:9878  0.2.0    leads           0 s ago       0.0 s   61 (b1946ac9)",
        "hub-c  hub-c:9878  0.2.0    follows, asked  0 s ago       0.0 s   60 (591785b7), differ",
    ]


def test_without_a_leader_it_says_why_this_hub_does_not_lead() -> None:
    page = msgspec.structs.replace(
        PAGE,
        leader=None,
        since=None,
        waiting="PostgreSQL accelwatch on db1: it is read-only",
        database_reachable=False,
        auto_allowed=None,
        hubs=(),
    )
    assert status_text(page).splitlines() == [
        "leader    no hub leads; this one follows the journal, 0.4 s behind"
        " (PostgreSQL accelwatch on db1: it is read-only)",
        "journal   PostgreSQL accelwatch on db1, not reachable",
        "lease     token 8589934599, timeline 2 of the database",
    ]


def test_the_leader_says_whether_it_acts() -> None:
    page = msgspec.structs.replace(PAGE, leads=True, acts=True, waiting="", auto_allowed=True)
    lines = status_text(page).splitlines()
    assert lines[0] == "leader    this hub has led since 2026-11-29T03:12:09Z"
    assert "acts      yes" in lines
    assert "auto      allowed" in lines


def test_a_hub_with_its_own_journal_leads_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async with hub(rules=RuleSettings(packs=("storage",)), state_dir=tmp_path) as one:
            words = ["hub", "status", "--hub", one.base]
            result = await asyncio.to_thread(CliRunner().invoke, build(), words)
            assert (result.exit_code, result.stderr) == (0, "")
            assert result.stdout.splitlines() == [
                "leader    this hub; no other shares its journal",
                "acts      no",
                f"journal   a file in {tmp_path}",
                "auto      allowed",
            ]
            as_json = await asyncio.to_thread(CliRunner().invoke, build(), [*words, "--json"])
            assert msgspec.json.decode(as_json.stdout, type=HubsPage).leads

    asyncio.run(main())


def test_settings_of_a_hub_do_not_go_with_status() -> None:
    result = CliRunner().invoke(build(), ["hub", "--targets", "n1", "status"])
    assert "--targets is for a hub that is to run; write: accelwatch hub status" in str(
        result.exception
    )
