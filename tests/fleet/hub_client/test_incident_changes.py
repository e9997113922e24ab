"""What a dashboard changes about incidents, over a real hub: done, refused, not written down."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.base.errors import AccelwatchError
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.incident_changes import IncidentChanges
from accelwatch.fleet.targets.hub_endpoint import hub_endpoint
from support.fleet.hub_peers import agent, hub
from support.machines import composed as machines

LOST = """\
version: 1
rules:
- {id: gpu.lost, title: A GPU is lost, when: state == "lost", severity: critical}
"""


def test_incidents_are_silenced_and_closed_through_a_hub(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(LOST, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        broken = machines.snapshot(machines.lost_view(0))
        async with (
            agent(broken) as one,
            hub(one.address, rules=rules, state_dir=tmp_path) as running,
        ):
            judging = running.hub.rules
            assert judging is not None
            await running.until(lambda: bool(judging.open))
            session = HubSession(hub_endpoint(running.base))
            changes = IncidentChanges(session)

            outcome = await changes.silence(("id=i1", "rule=gpu.lost"), "2h", "a new board")
            id_ = next(iter(judging.incident_store.muting.silences)).id
            assert outcome == f"silence {id_}: id=i1, rule=gpu.lost for 2h"
            shown = await running.get("/v1/incidents/i1")
            assert shown["muted_by"]["reason"] == "a new board"
            assert shown["muted_by"]["by"].endswith("(unverified)")
            assert await changes.expire_silence(id_) == f"silence {id_} is over"
            assert (await running.get("/v1/incidents/i1"))["muted_by"] is None
            with pytest.raises(AccelwatchError, match=f"not ended: no silence '{id_}'"):
                await changes.expire_silence(id_)

            assert await changes.close("i1", "done") == "i1 closed"
            over = await running.get("/v1/incidents/i1")
            assert (over["state"], over["timeline"][-1]["text"]) == ("closed", "done")
            with pytest.raises(AccelwatchError, match="not closed: no incident 'i1' is open"):
                await changes.close("i1", "again")
            with pytest.raises(AccelwatchError, match="not silenced: 'x' is not a valid matcher"):
                await changes.silence(("x",), "2h", "y")
            await session.close()

    asyncio.run(main())


def test_a_hub_without_a_journal_says_that_nothing_is_written_down(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(LOST, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        async with hub(rules=rules) as running:
            session = HubSession(hub_endpoint(running.base))
            with pytest.raises(
                AccelwatchError, match="silenced, but not written down: no state_dir"
            ):
                await IncidentChanges(session).silence(("node=a",), "1h", "x")
            await session.close()

    asyncio.run(main())
