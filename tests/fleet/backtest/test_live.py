"""The same verdicts in a hub's incident store and in a back-test: the same incidents and causes."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from accelwatch.alerting.incidents.grouping.causes import Causes
from accelwatch.alerting.incidents.incident_store import IncidentStore
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.rule import RuleSet
from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.incidents import Backtest
from support.archives.synthetic_fleet import Fault, Plan, archive

from .conftest import AT, Rules


def test_a_hub_and_a_back_test_see_the_same_causes(tmp_path: Path, packs: Rules) -> None:
    faults = (Fault("lost", 2, AT, 900.0, 1),)
    archive(
        tmp_path,
        Plan(nodes=4, devices=2, spare=1, seconds=5000, seed=3, sessions=False, faults=faults),
    )
    test = Backtest(Archive(tmp_path), packs)
    verdicts: list[VerdictChange] = []
    kept = test.manager.step

    def step_of(changes: Iterable[VerdictChange], now: float) -> list[Incident]:
        nonlocal verdicts
        verdicts = list(changes)
        return kept(verdicts, now)

    test.manager.step = step_of  # type: ignore[assignment,method-assign]
    causes = Causes(test.rules, test.suspects, lambda _nodes, _now: None)
    live: dict[str, Incident] = {}
    played: dict[str, Any] = {}
    notified: list[str] = []

    async def scenario() -> None:
        incident_store = IncidentStore(
            test.rules,
            test.context.facts,
            lambda some: live.update((one.id, one) for one in some),
            lambda: test.time,
            test.suspects,
        )
        await incident_store.start(None, RuleSet(rules=packs, digest="d"), test.started)
        for step in test.steps():
            played.update((one.id, one) for one in step.changed)
            notified.extend(one.incident.id for one in causes.step(step.changed, step.time))
            for id_, leader in causes.drain_moves().items():
                after = test.manager.follow(id_, leader, step.time)
                if after is not None:
                    played[id_] = after
            await incident_store.step(verdicts, step.time)
        await incident_store.stop()

    asyncio.run(scenario())
    assert live == played
    assert notified
    assert any(one.follows for one in live.values())
    assert all(not live[one].group for one in notified)
