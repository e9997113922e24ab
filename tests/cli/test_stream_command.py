"""`accelwatch stream`: the agent's stream over pipes, which ends with either of them."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from accelwatch.fleet.follow.frames import FrameReader, RawTick
from accelwatch.schema.stream.compact import Hello, Layout
from support.machines.packed_trees import FakeTree
from support.processes.warm_command import accelwatch


@pytest.fixture
def machine(tmp_path: Path) -> tuple[str, ...]:
    FakeTree(tmp_path).lay_out("amd/mi300x-x2")
    return "--root", str(tmp_path), "--backend", "amd"


def started(
    *words: str, stdout: IO[bytes] | int = subprocess.PIPE, stderr: int | None = None
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "accelwatch", "stream", *words],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
    )


def test_lines_until_standard_input_ends(machine: tuple[str, ...]) -> None:
    with started(*machine) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        messages = []
        # Ticks without a device come before where the driver takes long; for a minute at most.
        for line in itertools.islice(process.stdout, 60):
            messages.append(json.loads(line))
            if messages[-1]["type"] == "tick" and messages[-1]["devices"]:
                break
        assert messages[0]["type"] == "hello"
        layouts = [one for one in messages if one["type"] == "layout"]
        assert len(layouts) == len(messages[-1]["devices"]) > 1
        process.stdin.close()
        assert process.wait(60) == 0


def test_nowhere_to_write_is_reported_in_one_line(machine: tuple[str, ...]) -> None:
    with (
        Path("/dev/full").open("wb") as full,
        started(*machine, stdout=full, stderr=subprocess.PIPE) as process,
    ):
        assert process.stderr is not None
        errors = process.stderr.read()
        assert process.wait(60) == 1
    assert errors == b"accelwatch: cannot write to stdout: No space left on device\n"


def test_packed_messages_until_nobody_reads(machine: tuple[str, ...]) -> None:
    with started("--format", "packed", "--interval", "250ms", *machine) as process:
        assert process.stdout is not None
        reader, kinds = FrameReader(10 << 20), []
        # As above: the first tick may be without a device.
        for _ in range(240):
            data = os.read(process.stdout.fileno(), 1 << 16)
            assert data, "it has ended"
            kinds += [type(message) for message, _ in reader.feed(data)]
            if {Layout, RawTick} <= {*kinds}:
                break
        assert kinds[0] is Hello
        assert {Layout, RawTick} <= {*kinds}
        process.stdout.close()
        assert process.wait(60) == 0


def test_a_format_that_is_none() -> None:
    run = accelwatch("stream", "--format", "yaml")
    assert run.returncode == 2
    assert "--format is json or packed" in run.stderr
