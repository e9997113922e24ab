"""A table of processes is read whole or not at all: who cannot be placed may use any device."""

import re

import pytest

from accelwatch.backend.kit.text.process_rows import process_rows

ROW = re.compile(r"\|\s*(\d{1,4})\s+(\d{1,9})\s+(\S+)\s*\|")
NOBODY = re.compile(r"\| no process found \|")


@pytest.mark.parametrize(
    ("lines", "pids"),
    [
        (["| 0  4711  train |", "| 1  4712  train |"], ["4711", "4712"]),
        (["| no process found |"], []),
        (["| 0  4711  train |", "WARNING: 12 clocks differ"], ["4711"]),
        (["| 0  4711  train |", "2026-01-01 12:00:00"], ["4711"]),
        ([" | 0  4711  train | "], ["4711"]),
    ],
)
def test_processes_are_known(lines: list[str], pids: list[str]) -> None:
    matches = process_rows(lines, ROW, NOBODY)
    assert matches is not None
    assert [match[2] for match in matches] == pids


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["| GPU  PID  Name |"],
        ["| 0,1  4711  train |"],
        ["| 0  4711  train |", "| 1  N/A  train |"],
        ["| 0  4711  train |", "| 1  47"],
        ["| 1  N/A  train |", "| no process found |"],
    ],
)
def test_processes_are_unknown(lines: list[str]) -> None:
    assert process_rows(lines, ROW, NOBODY) is None
