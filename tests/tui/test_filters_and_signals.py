"""Filters over devices and processes; signals only to the very process that was selected."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.errors import ExpressionError, UsageError
from accelwatch.fleet.picture.time_parsing import parse_time
from accelwatch.schema.reading import Process
from accelwatch.system.kernel import proc
from accelwatch.tui.local import filters
from accelwatch.tui.local.processes import signals
from accelwatch.tui.local.processes.arranging import rows_of
from accelwatch.tui.local.processes.environment import read_environment
from accelwatch.tui.local.processes.signals import Target, send, targets
from support.dashboards.local import busy_process, lost, node


def devices_kept(text: str) -> set[str]:
    keeps = filters.device_filter(text, "n01")
    views = node(8, d3=lost(3)).devices
    return {view.device.name for view in views if keeps is None or keeps(view)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {f"nvidia{n}" for n in range(8)}),
        ("nvidia5", {"nvidia5"}),
        ("LOST", {"nvidia3"}),
        ('state == "lost"', {"nvidia3"}),
        ("index in (1, 2)", {"nvidia1", "nvidia2"}),
        ("utilization_ratio > 0.9", set()),
        ('host == "elsewhere"', set()),
    ],
)
def test_device_filters(text: str, expected: set[str]) -> None:
    assert devices_kept(text) == expected


@pytest.mark.parametrize(
    ("text", "pids"),
    [
        ("4001", {4001}),
        ("vllm", {4001, 4004}),
        ('user == "ada" and pid < 4002', {4000}),
        ("gpu_memory_bytes > GiB(20)", {4003, 4004}),
        ('name == "nvidia1" and cpu_utilization_ratio > 2', {4003}),
        ('pod == "nowhere"', set()),
    ],
)
def test_process_filters(text: str, pids: set[int]) -> None:
    keeps = filters.process_filter(text, "n01")
    assert keeps is not None
    rows = rows_of(node(2).devices)
    assert {row.process.pid for row in rows if row.process and keeps(row)} == pids


def test_a_wrong_expression_is_one_line_with_a_column_and_a_hint() -> None:
    with pytest.raises(ExpressionError) as caught:
        filters.process_filter("usr == 'ada'", "")
    assert filters.complaint(caught.value) == "unknown name usr (column 1); did you mean user?"


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env={"SECRET": "x y", "A": "1"}
    )
    yield process
    process.kill()
    process.wait()


def started(pid: int) -> float:
    start = proc.start_time(Path("/"), pid)
    assert start is not None
    return start


def test_a_signal_reaches_the_process(sleeper: "subprocess.Popen[bytes]") -> None:
    message = send(Target(sleeper.pid, started(sleeper.pid)), signal.SIGTERM)
    assert message == f"SIGTERM sent to {sleeper.pid}"
    assert sleeper.wait(timeout=60) == -signal.SIGTERM


def test_a_number_used_again_is_not_hit(sleeper: "subprocess.Popen[bytes]") -> None:
    message = send(Target(sleeper.pid, started(sleeper.pid) - 100), signal.SIGKILL)
    assert message == f"{sleeper.pid} has ended"
    assert sleeper.poll() is None


def test_a_process_that_has_ended_is_shown(sleeper: "subprocess.Popen[bytes]") -> None:
    target = Target(sleeper.pid, started(sleeper.pid))
    sleeper.kill()
    sleeper.wait()
    assert send(target, signal.SIGTERM) == f"{target.pid} has ended"


def test_another_users_process_is_shown() -> None:
    def refuse(_: int) -> int:
        raise PermissionError

    assert "another user" in send(Target(1, started(1)), signal.SIGTERM, open_pidfd=refuse)


def test_without_pidfd_the_start_time_is_still_checked(
    sleeper: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    wrong = Target(sleeper.pid, started(sleeper.pid) - 100)
    assert send(wrong, signal.SIGKILL) == f"{sleeper.pid} has ended"
    right = Target(sleeper.pid, started(sleeper.pid))
    assert send(right, signal.SIGTERM).startswith("SIGTERM sent")


def test_only_processes_of_this_namespace_with_a_start_are_targets() -> None:
    mine = busy_process("nvidia:0", 1)
    foreign = msgspec.structs.replace(mine, pid=9, pid_namespace="foreign")
    ageless = msgspec.structs.replace(mine, pid=10, start_time=None)
    assert targets([mine, mine])[0] == [Target(mine.pid, mine.start_time or 0.0)]
    found, why = targets([foreign])
    assert found == []
    assert "another pid namespace" in why
    found, why = targets([ageless])
    assert found == []
    assert "not known when" in why


def test_the_first_offer_is_the_mild_one() -> None:
    assert signals.OFFERED[0] is signal.SIGTERM


def test_an_environment_is_read_of_the_same_process_only(
    sleeper: "subprocess.Popen[bytes]",
) -> None:
    one = Process(device_id="", pid=sleeper.pid, start_time=started(sleeper.pid))
    found = read_environment(one, local=True)
    assert isinstance(found, dict)
    assert found["SECRET"] == "x y"
    other = msgspec.structs.replace(one, start_time=1.0)
    assert read_environment(other, local=True) == "The process has ended."
    foreign = msgspec.structs.replace(one, pid_namespace="foreign")
    assert "another pid namespace" in str(read_environment(foreign, local=True))
    assert "recording" in str(read_environment(one, local=False))


# 08:00:00 UTC.
FIRST = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "offset"),
    [("+5m", 1300), ("-30s", 970), ("50%", 1800), ("0%", 0), ("08:10", 600), ("08:10:05", 605)],
)
def test_times(text: str, offset: float) -> None:
    found = parse_time(text, FIRST, FIRST + 1000, FIRST + 3600)
    assert found == pytest.approx(FIRST + offset, abs=1.0)


@pytest.mark.parametrize("text", ["", "soon", "25:00", "+", "x%", "1:2:3:4"])
def test_what_is_no_time_is_shown(text: str) -> None:
    with pytest.raises(UsageError):
        parse_time(text, FIRST, FIRST, FIRST + 10)
