"""Several processes that judge side by side say what one says, and leave nothing behind."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.base.errors import AccelwatchError
from accelwatch.cli.rules import backtest_command
from accelwatch.cli.rules.backtest_share import Share
from accelwatch.cli.startup.app import build
from accelwatch.fleet.backtest.incidents import Backtest, Helpers
from accelwatch.fleet.backtest.shares import shares
from support.archives.synthetic_fleet import Fault, Plan, archive
from support.processes.waiting import wait_until

from .conftest import Rules
from .test_shortcuts import PLAN

MINE = """
version: 1
rules:
- {id: a.hot, title: Too warm, when: "temperature_celsius.gpu > 80", keep: 0, severity: critical}
- {id: b.low, title: Low, when: 'avg(power_watts, "5m") < 1'}
- {id: c.many, title: Many, when: 'peers_affected("a.hot", by="node") > 1'}
- {id: d.idle, title: Idle, when: "utilization_ratio < 0"}
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE, encoding="utf-8")
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Forty minutes of three nodes, of which one is too warm."""
    faults = (Fault("thermal", 1, 900.0, 600.0, 0),)
    plan = Plan(nodes=3, devices=2, spare=1, seconds=2400, sessions=False, faults=faults)
    archive(tmp_path / "archive", plan)
    return tmp_path / "archive"


def printed(*words: str) -> tuple[bytes, str]:
    result = CliRunner().invoke(build(), ["rules", "backtest", *words])
    assert result.exit_code == 0, result.exception
    return result.stdout_bytes, result.stderr


def beside(folder: Path, mine: Path, *words: str) -> Backtest:
    """A back-test whose helper is a command of these words."""

    def command(_: Sequence[str]) -> Sequence[str]:
        return words

    return Backtest(Archive(folder), load([mine]).rules, helpers=Helpers(1, command))


def test_two_and_three_processes_say_what_one_says(tmp_path: Path, packs: Rules) -> None:
    archive(tmp_path, PLAN)
    digest = load([pack_file(name) for name in pack_names()], tests=False).digest

    def command(ids: Sequence[str]) -> Sequence[str]:
        return Share(folder=str(tmp_path), ids=tuple(ids), digest=digest).command()

    def incidents(*helpers: Helpers) -> list[bytes]:
        test = Backtest(Archive(tmp_path), packs, None, None, *helpers)
        return [msgspec.json.encode(one) for one in test.incidents()]

    one = incidents()
    assert len({msgspec.json.decode(incident)["rule"] for incident in one}) >= 6
    assert incidents(Helpers(1, command)) == one
    assert incidents(Helpers(2, command)) == one


def test_rules_that_refer_to_one_another_are_evaluated_together(mine: Path) -> None:
    rules = load([mine]).rules
    for count in (1, 2, 3, 9):
        found = shares(rules, (), (), count)
        assert sorted(id_ for ids in found for id_ in ids) == sorted(rules)
        assert 1 <= len(found) <= min(count, 3)
        assert all(("a.hot" in ids) == ("c.many" in ids) for ids in found)
    assert len(shares(rules, (), (), 2)) == 2


def test_what_is_never_true_costs_nothing(packs: Rules) -> None:
    asleep = [id_ for id_ in packs if not id_.startswith("nvidia.")]
    judged = [sum(id_ not in asleep for id_ in ids) for ids in shares(packs, asleep, (), 2)]
    assert min(judged) > 10


def test_a_helper_that_is_killed_is_reported_and_nobody_waits(folder: Path, mine: Path) -> None:
    end = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    test = beside(folder, mine, sys.executable, "-c", end)
    with pytest.raises(AccelwatchError, match=r"has ended \(signal 9, Killed\).*--processes 1"):
        list(test.steps())


def test_a_helper_that_fails_is_reported(folder: Path, mine: Path) -> None:
    test = beside(folder, mine, sys.executable, "-c", "raise SystemExit(3)")
    with pytest.raises(AccelwatchError, match=r"has ended \(exit code 3\)"):
        list(test.steps())
    with pytest.raises(AccelwatchError, match="no second process can be started: No such file"):
        list(beside(folder, mine, "/nowhere/at/all").steps())


def test_a_helper_ends_with_who_started_it(folder: Path, mine: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import os, pathlib, pickle, sys, time\n"
        "from accelwatch.fleet.backtest.partner import Report\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))\n"
        "pickle.dump(Report(float('inf'), {}), sys.stdout.buffer)\n"
        "sys.stdout.buffer.flush()\n"
        "time.sleep(600)\n"
    )
    with closing(beside(folder, mine, sys.executable, "-c", code).steps()) as steps:
        next(steps)
        pid = int(pid_file.read_text())
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_helper_that_nobody_reads_ends_quietly(folder: Path, mine: Path) -> None:
    rules = load([mine])
    share = Share(folder=str(folder), ids=("a.hot",), digest=rules.digest, files=(str(mine),))
    with subprocess.Popen(
        share.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        wait_until(lambda: process.poll() is not None)
    assert (process.returncode, errors) == (0, b"")


def test_rules_that_have_changed_meanwhile_are_refused(folder: Path, mine: Path) -> None:
    share = Share(folder=str(folder), ids=("a.hot",), digest="other", files=(str(mine),))
    run = subprocess.run(share.command(), capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "rule files have changed since the back-test started\n"


def test_one_processor_is_shown(folder: Path, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = ["--history", str(folder), "--rules", str(mine)]
    monkeypatch.setattr(backtest_command, "_LONG_STEPS", 10)
    beside_, errors = printed(*played)
    assert "one processor" not in errors
    monkeypatch.setattr(backtest_command, "processors", lambda: 1)
    alone, errors = printed(*played)
    assert "one processor: one process evaluates all rules" in errors
    assert alone == beside_
    assert b"a.hot" in alone
