"""Rules of one node on bad days: a journal that cannot be kept, counters that lie."""

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from accelwatch.agent.rules.evaluator import NodeEvaluator
from accelwatch.agent.rules.rule_evaluator import NodeRuleEvaluator
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.journal.sqlite.folder import LOCK
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.base.clock import ManualClock
from accelwatch.config.model import RuleSettings
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView
from support.machines import composed as machines
from support.servers.fake_feed import FakeFeed

LOST = """\
version: 1
defaults: {keep: 0, cooldown: 0}
rules: [{id: gpu.lost, title: lost, when: 'state == "lost"', severity: critical}]
"""


def runner(folder: Path, clock: ManualClock, feed: FakeFeed) -> RuleRunner:
    file = folder / "rules.yaml"
    file.write_text(LOST)
    settings = RuleSettings(files=(str(file),), interval_s=60.0)
    return RuleRunner(NodeEvaluator(feed, clock, 60.0), settings, folder / "state")


def damaged(folder: Path) -> None:
    (folder / FILE).write_bytes(b"nothing of the kind " * 300)


def newer(folder: Path) -> None:
    open_file(folder / FILE).close()
    database = sqlite3.connect(folder / FILE)
    database.execute("PRAGMA user_version=99")
    database.close()


def locked(folder: Path) -> None:
    """For as long as the test runs: nobody closes it."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    HELD.append(descriptor)


def no_folder(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("")


HELD: list[int] = []


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damaged, "it is left as it is"),
        (newer, "it is left as it is"),
        (locked, "another process keeps its journal here"),
        (no_folder, "nothing can be kept here"),
    ],
)
def test_a_journal_that_cannot_be_kept_costs_no_incident_and_is_reported(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    spoil(state)

    async def scenario() -> None:
        clock, feed = ManualClock(), FakeFeed(machines.snapshot(machines.lost_view(1)))
        judging = runner(tmp_path, clock, feed)
        await judging.start()
        await judging.tick()
        assert [one.rule for one in judging.open] == ["gpu.lost"]
        (problem,) = judging.problems
        assert message in problem
        assert "but not kept" in problem
        feed.put(machines.snapshot(machines.view(1)))
        await judging.tick()
        assert [one.rule for one in judging.closed] == ["gpu.lost"]
        await judging.stop()

    asyncio.run(scenario())
    while HELD:
        os.close(HELD.pop())


def test_a_disk_that_is_full_for_a_while_costs_no_incident(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir()

    async def scenario() -> None:
        clock, feed = ManualClock(), FakeFeed(machines.snapshot(machines.lost_view(1)))
        judging = runner(tmp_path, clock, feed)
        await judging.start()
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "_append", full)
            await judging.tick()
            assert [one.rule for one in judging.open] == ["gpu.lost"]
            assert any("database or disk is full" in one for one in judging.problems)
        feed.put(machines.snapshot(machines.view(1)))
        await judging.tick()
        assert (judging.open, judging.problems) == ([], ())
        await judging.stop()

    def full(*_: object) -> str:
        raise sqlite3.OperationalError("database or disk is full")

    asyncio.run(scenario())


def counted(joules: Number) -> DeviceView:
    one = machines.view(0)
    values = {**one.reading.values, ("energy_joules_total",): joules}
    return msgspec.structs.replace(one, reading=msgspec.structs.replace(one.reading, values=values))


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param(
            [1000 + 10 * at if at < 30 else 10 * (at - 30) for at in range(60)], id="reset"
        ),
        pytest.param([(2**32 - 300 + 10 * at) % 2**32 for at in range(60)], id="wrap"),
        pytest.param(
            [9000 + 10 * at - (5000 if at == 30 else 0) for at in range(60)], id="jump back"
        ),
        pytest.param([9000 + 10 * at if at % 3 else None for at in range(60)], id="holes"),
    ],
)
def test_a_counter_that_resets_wraps_or_jumps_back_fires_nothing(
    tmp_path: Path, counts: list[int | None]
) -> None:
    file = tmp_path / "rules.yaml"
    rules = (
        ("rate", 'rate(energy_joules_total, "20s") > 25'),
        ("delta", 'delta(energy_joules_total, "20s") > 500'),
        ("negative", 'delta(energy_joules_total, "20s") < 0'),
    )
    lines = "".join(f"- {{id: {id_}, title: t, when: '{when}'}}\n" for id_, when in rules)
    file.write_text(f"version: 1\nrules:\n{lines}")
    judge = NodeRuleEvaluator(load([file]).rules, 1.0)
    fired: dict[int, list[str]] = {}
    for at, count in enumerate(counts):
        view = machines.view(0) if count is None else counted(count)
        changes = judge.tick(machines.snapshot(view, time=machines.NOW + at), float(at))
        if changes:
            fired[at] = [one.rule for one in changes]
    if counts[30] == 9000 + 300 - 5000:
        # Where it was before cannot be told from a reset: it has grown by 5 kJ within a second.
        assert set(fired) <= {31, 50, 51, 52}
    else:
        assert fired == {}


def test_a_device_that_was_exchanged_has_no_past(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    when = 'delta(energy_joules_total, "20s") > 500'
    file.write_text(f"version: 1\nrules: [{{id: delta, title: t, when: '{when}'}}]\n")
    judge = NodeRuleEvaluator(load([file]).rules, 1.0)
    for at in range(60):
        view = counted(10 * at if at < 30 else 1_000_000 + 10 * at)
        if at >= 30:
            device: Device = msgspec.structs.replace(view.device, id="nvidia:another", serial="2")
            view = msgspec.structs.replace(view, device=device)
        changes = judge.tick(machines.snapshot(view, time=machines.NOW + at), float(at))
        assert changes == []
