"""A change through a hub over hubs, at a real hub that asks for credentials and has roles of its own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.config.model import RuleSettings
from accelwatch.fleet.scrape_settings import BasicAuth, Scrape
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.web.protection.roles import Role
from accelwatch.web.protection.web_config import Protection
from agent.credentials import HASH, basic
from support.fleet.global_hubs import following_hubs, until_fleet
from support.fleet.hub_peers import Running, agent
from support.fleet.several_hubs import hub_of
from support.machines import composed as machines

PASSWORD = "correct horse"
ANA: dict[str, Any] = {"headers": basic("ana", PASSWORD)}
LOST = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, title: A GPU is lost, when: state == "lost", severity: critical}
"""


@contextlib.asynccontextmanager
async def over(folder: Path, role: Role) -> AsyncIterator[tuple[Running, Running]]:
    """(a hub over a real one, the real one, which lets the first do what `role` allows)."""
    (folder / "rules.yaml").write_text(LOST)
    (folder / "state").mkdir()
    (folder / "password").write_text(PASSWORD)
    rules = RuleSettings(files=(str(folder / "rules.yaml"),), interval_s=0.1)
    below = Protection(users={"upper": HASH}, roles={"upper": role})
    auth = BasicAuth(username="upper", password_file=str(folder / "password"))
    broken = machines.snapshot(machines.view(0), machines.lost_view(1))
    async with (
        agent(broken) as one,
        hub_of(
            folder / "a",
            {"n1": one.address},
            rules=rules,
            protection=below,
            state_dir=folder / "state",
        ) as real,
    ):
        endpoint = HubEndpoint(name="pod-1", base=real.base, access=Scrape(basic_auth=auth))
        async with following_hubs([endpoint], protection=Protection(users={"ana": HASH})) as upper:
            await real.until(lambda: bool(real.hub.rules and real.hub.rules.open))
            await until_fleet(upper, lambda fleet: fleet.nodes_total == 1)
            yield upper, real


def test_a_silence_is_set_below_in_the_name_of_both(tmp_path: Path) -> None:
    async def main() -> None:
        async with over(tmp_path, Role.ACT) as (upper, real):
            (incident,) = (await upper.get("/v1/incidents", **ANA))["incidents"]
            assert (incident["id"], incident["node"]) == ("i1@pod-1", "n1")
            silence = {"matchers": ["node=n1"], "for": "2h", "reason": "swap"}
            changed = await upper.post("/v1/silences", json=silence, **ANA)
            assert changed["silence"]["id"].endswith("@pod-1")
            rules = real.hub.rules
            assert rules is not None
            (own,) = rules.muting.silences
            assert (own.by, own.verified, own.reason) == ("upper", True, "swap (for ana)")
            note = {"text": "cable reseated"}
            await upper.post("/v1/incidents/i1@pod-1/note", json=note, **ANA)
            shown = await upper.get("/v1/incidents/i1@pod-1", **ANA)
            assert "cable reseated (for ana)" in str(shown["timeline"])

    asyncio.run(main())


def test_changes_without_a_reason_have_the_names_of_both_in_the_audit_log_below(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with over(tmp_path, Role.ACT) as (upper, real):
            silence = {"matchers": ["node=n1"], "for": "2h", "reason": "swap"}
            changed = await upper.post("/v1/silences", json=silence, **ANA)
            path = f"/v1/silences/{changed['silence']['id']}"
            async with upper.session.delete(upper.base + path, **ANA) as response:
                assert response.status == 200
            await upper.post("/v1/nodes/n1/acknowledge", **ANA)
            own: dict[str, Any] = {"headers": basic("upper", PASSWORD)}
            await real.post("/v1/nodes/n1/acknowledge", **own)
            entries = (await real.get("/v1/audit", **own))["entries"][::-1]
            by_kind = {
                kind: [entry["actor"] for entry in entries if entry["record"]["type"] == kind]
                for kind in ("silence", "note")
            }
            assert by_kind == {
                "silence": ["upper", "upper (for ana)"],
                "note": ["upper (for ana)", "upper"],
            }
            about_node = (await real.get("/v1/audit", params={"node": "n1"}, **own))["entries"]
            assert [
                (note["record"]["subject"], note["record"]["text"])
                for note in about_node
                if note["record"]["type"] == "note"
            ] == [("n1", "acknowledged what is missing: 0 devices no longer expected")] * 2

    asyncio.run(main())


@pytest.mark.parametrize("role", [Role.READ, Role.APPROVE])
def test_the_hub_below_refuses_what_its_credentials_do_not_allow(
    tmp_path: Path, role: Role
) -> None:
    """An admin here is no admin there."""

    async def main() -> None:
        async with over(tmp_path, role) as (upper, real):
            closing = {"reason": "done"}
            text = await upper.post("/v1/incidents/i1@pod-1/close", 403, json=closing, **ANA)
            assert text.startswith(f"hub pod-1: answered 403: upper may {role}, and this needs act")
            assert real.hub.rules is not None
            assert len(real.hub.rules.open) == 1

    asyncio.run(main())
