"""What a process uses, against what the kernel says elsewhere."""

import os
from pathlib import Path

import pytest

from accelwatch.node.store.usage import cpu_seconds, resident_bytes


def resident_by_status(pid: int) -> int:
    (line,) = (
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS:")
    )
    return int(line.split()[1]) * 1024


def test_processor_time_is_that_of_user_and_system() -> None:
    for _ in range(5000):  # until there is enough of the one that is told apart by nothing else
        os.getrandom(1 << 14)
        if os.times().system > 0.2:
            break
    before, found, after = os.times(), cpu_seconds(), os.times()
    assert before.user + before.system - 0.05 <= found <= after.user + after.system + 0.05


def test_resident_memory_is_in_bytes_and_this_process_is_the_default() -> None:
    own = resident_by_status(os.getpid())
    assert resident_bytes() == pytest.approx(own, rel=0.1)
    assert resident_bytes(os.getpid()) == pytest.approx(own, rel=0.1)


def test_resident_memory_of_another_process_is_its_own() -> None:
    other = os.getppid()
    assert resident_bytes(other) == pytest.approx(resident_by_status(other), rel=0.1)


def test_a_process_that_is_gone_uses_nothing() -> None:
    assert resident_bytes(2**22 + 1) == 0
