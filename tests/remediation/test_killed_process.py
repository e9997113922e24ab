"""A process that is really killed, with a journal that is really on a disk."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.remediation.execution.operations.operation import operation_of
from accelwatch.remediation.policy.state.pursued import PursuitResult
from remediation import killed_engine
from remediation.bench import MARK, Bench
from remediation.crash import PLAYS, Point

TESTS = Path(__file__).parents[1]


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.loop.close()


def killed(folder: Path, kind: IntentKind, point: Point) -> list[str]:
    """What had happened to the world by then."""
    command = [sys.executable, killed_engine.__file__, str(folder), kind.value, point.value]
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False)
    assert ended.returncode == -signal.SIGKILL
    effects = folder / "effects"
    return effects.read_text(encoding="utf-8").split() if effects.exists() else []


@pytest.mark.parametrize(
    ("kind", "point", "endings"),
    [
        (IntentKind.QUARANTINE, Point.AFTER_START, [PursuitResult.ACHIEVED]),
        (IntentKind.QUARANTINE, Point.AFTER_EFFECT, [PursuitResult.ACHIEVED]),
        (IntentKind.SERVICE, Point.AFTER_RESERVE, [PursuitResult.ACHIEVED]),
        (IntentKind.SERVICE, Point.AFTER_EFFECT, [PursuitResult.UNKNOWN]),
        (IntentKind.SERVICE, Point.AFTER_REPORT, [PursuitResult.ACHIEVED]),
    ],
)
def test_a_killed_process_is_followed_by_one_that_goes_on(
    bench: Bench, tmp_path: Path, kind: IntentKind, point: Point, endings: list[PursuitResult]
) -> None:
    effects = killed(tmp_path, kind, point)
    file = open_file(tmp_path / FILE)
    wanted = PLAYS[kind](bench)
    bench.journal.take_up(file.load(wanted.deadline).states)
    bench.restart()
    if "drain" in effects:
        bench.world.nodes["n1"].mark = MARK
    bench.pursue(wanted)
    assert [one.result for one in bench.reported] == endings
    done = [*effects, *(one.kind for one in bench.world.effects if one.operation)]
    assert len(done) == 1
    file.write([Batch(time=bench.clock.wall(), records=bench.journal.written)])
    kept = {one.key: operation_of(one) for one in file.load(0.0).states}
    assert kept == {one.id: one for one in bench.operations()}
    assert file.verify() >= 3
    file.close()
