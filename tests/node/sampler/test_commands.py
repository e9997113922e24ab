"""Vendor commands that a collector still runs end with it; it is not ended itself."""

import os
import select
import subprocess
import sys

import pytest

from accelwatch.node.sampler.protocol.commands import kill_commands

# One child in its group, and one that leads a group of its own with a child of its own.
_COLLECTOR = """
import subprocess, sys
alone = subprocess.Popen(["sleep", "60"])
leader = subprocess.Popen(["sh", "-c", "sleep 60 & echo; wait"], start_new_session=True, stdout=-1)
leader.stdout.readline()
print(flush=True)
print(alone.wait(), leader.wait(), flush=True)
sys.stdin.read()
"""


def test_children_and_the_groups_that_they_lead_are_ended() -> None:
    here, there = os.pipe()
    collector = subprocess.Popen(
        [sys.executable, "-c", _COLLECTOR],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=there,  # which the commands inherit
        text=True,
    )
    os.close(there)
    assert collector.stdout is not None
    try:
        collector.stdout.readline()
        kill_commands(collector.pid)
        assert collector.stdout.readline() == "-9 -9\n"
        assert collector.poll() is None
        collector.communicate("", timeout=30)
        readable, _, _ = select.select([here], [], [], 30)
        assert readable, "a command of the group that was led still runs"
        assert os.read(here, 1) == b""
    finally:
        collector.kill()
        collector.wait()
        os.close(here)


def test_a_process_that_has_gone_has_no_commands() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    kill_commands(gone.pid)


_UNREACHABLE = """
import os, subprocess
import pytest

from accelwatch.node.sampler.protocol.commands import kill_commands
first = subprocess.Popen(["sleep", "60"])
second = subprocess.Popen(["sleep", "60"])
group = os.getpgid
def refused(pid):
    if pid == first.pid:
        raise {error}
    return group(pid)
os.getpgid = refused
kill_commands(os.getpid())
print(second.wait(), first.poll())
first.kill()
"""


@pytest.mark.parametrize("error", [ProcessLookupError, PermissionError])
def test_a_command_that_has_gone_or_is_anothers_keeps_none_of_the_others(
    error: type[OSError],
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _UNREACHABLE.format(error=error.__name__)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "-9 None\n"
