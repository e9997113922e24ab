"""Incidents that a process of its own finds, and what becomes of one that fails."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from accelwatch.alerting.rules.finding_evidence import SOURCE
from accelwatch.cli.fleet.fleet_backtest import BacktestRequest, main
from accelwatch.fleet.picture.timeline import Marker
from accelwatch.fleet.replay.backtest_process import BacktestProcess
from accelwatch.fleet.replay.incident_notes import incidents_at
from support.archives.history_archives import DAY
from support.archives.replay_archives import END, LOST_FROM, device
from support.archives.synthetic_fleet import Fault, Plan, archive
from support.processes.waiting import wait_until

LINE = '{"type":"found","number":%d,"line":{"opened":%d,"closed":%s,"level":"alert","rule":"r,s"}}'


def followed(command: Sequence[str]) -> tuple[list[Marker], list[str]]:
    """The marks at the end, and every note."""
    marks: list[Marker] = []
    notes: list[str] = []

    def record(known: Sequence[Marker], note: str) -> None:
        marks[:] = known
        notes.append(note)

    asyncio.run(BacktestProcess(command, 100.0, 200.0, record).run())
    return marks, notes


def printing(*lines: str, then: str = "") -> list[str]:
    """A process that prints these lines and then does something."""
    code = f"import sys, time\nfor line in {list(lines)!r}: print(line, flush=True)\n{then}"
    return [sys.executable, "-c", code]


def test_what_a_process_finds_is_known_and_what_it_reports_again_is_replaced() -> None:
    marks, notes = followed(
        printing(
            LINE % (1, 110, "null"),
            LINE % (2, 120, "130"),
            '{"type":"reached","until":150}',
            LINE % (1, 110, "140"),
        )
    )
    assert [(mark.opened, mark.closed, mark.rule) for mark in marks] == [
        (110, 140, "r"),
        (120, 130, "r"),
    ]
    assert notes[-1] == ""


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (printing(then="sys.exit('there is no\\nhistory.json')"), "no back-test: history.json"),
        (printing(then="sys.exit(3)"), "no back-test: it has ended"),
        (printing("nonsense"), "no back-test: JSON is malformed"),
        (printing('{"type":"found","number":1,"line":{}}'), "missing required field `opened`"),
        (["/none/such"], "no back-test: No such file or directory"),
    ],
)
def test_a_process_that_fails_is_a_note(command: list[str], message: str) -> None:
    marks, notes = followed(command)
    assert marks == []
    assert message in notes[-1]


def test_what_was_found_before_it_failed_stays() -> None:
    marks, notes = followed(printing(LINE % (1, 110, "null"), then="sys.exit(1)"))
    assert (len(marks), notes[-1]) == (1, "no back-test: it has ended")


@pytest.mark.parametrize("output", ["", "nonsense"])
def test_who_leaves_ends_the_process_whatever_it_has_printed(tmp_path: Path, output: str) -> None:
    written = tmp_path / "pid"
    start = f"import os; open({str(written)!r}, 'w').write(str(os.getpid()))"
    command = [sys.executable, "-c", f"{start}\nprint({output!r})\nimport time; time.sleep(600)"]

    async def go() -> None:
        task = asyncio.create_task(BacktestProcess(command, 0.0, 1.0, lambda _, __: None).run())
        while not written.exists() or not written.read_text():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(go())
    wait_until(lambda: not Path(f"/proc/{written.read_text()}").exists())


def judged(folder: Path, **changes: object) -> BacktestRequest:
    arguments = {"start": DAY / 1000, "end": END / 1000, "packs": ("nvidia",), **changes}
    return BacktestRequest(folder=str(folder), **arguments)  # type: ignore[arg-type]


def test_the_engine_finds_the_lost_device_of_the_archive(folder: Path) -> None:
    marks, notes = followed(judged(folder).command())
    [lost] = [mark for mark in marks if mark.rule == "nvidia.lost"]
    assert (lost.level, lost.node, lost.device) == ("alert", "node000", device(0, 1))
    assert lost.opened >= LOST_FROM / 1000
    assert lost.closed is not None
    assert notes[-1] == ""


def test_what_the_detector_finds_is_on_the_time_line_with_its_sentence(tmp_path: Path) -> None:
    fault = Fault("nvlink", 5, 3607.0, 1800.0, 2)
    plan = Plan(nodes=12, devices=4, spare=2, seconds=7200, seed=3, sessions=False, faults=(fault,))
    fleet = archive(tmp_path / "archive", plan)
    span = {"start": float(plan.start), "end": float(plan.start + plan.seconds)}
    command = judged(tmp_path / "archive", packs=("detector",), **span).command()
    marks, _ = followed(command)
    [found] = [mark for mark in marks if mark.level == "alert"]
    assert found.rule.startswith("detector.device.")
    assert found.node == fleet.names[5]
    assert fleet.names[5] in found.sentence
    assert SOURCE not in {reason.signal for reason in found.reasons}

    [shown] = incidents_at([found], found.opened)
    sentence, *signals = shown.incident.evidence
    assert (sentence.source, sentence.text) == (SOURCE, found.sentence)
    assert len(signals) == len(found.reasons)


def test_an_archive_without_a_description_is_not_judged_and_says_why(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.nice", lambda _: 0)
    command = judged(tmp_path).command()
    assert main(command[-1:]) == 1
    assert "it has no history.json" in capfd.readouterr().err
