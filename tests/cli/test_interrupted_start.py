"""^C while a command is still being loaded: it ends at once, without a word."""

import os
import signal
import subprocess
import sys

import pytest

from accelwatch.base.exit_codes import INTERRUPTED

PROGRAM = """
import os, signal, sys
def audit(event, arguments):
    if event == "import" and arguments[0] == {module!r}:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(audit)
sys.argv = ["accelwatch", *{words!r}]
from accelwatch.cli.startup.main import main
main()
"""
FLEET = ("fleet", "-t", "127.0.0.1:1", "--no-state")


def interrupted(module: str, words: tuple[str, ...]) -> "subprocess.CompletedProcess[bytes]":
    """Run it; ^C comes as a module is about to be loaded."""
    program = PROGRAM.format(module=module, words=list(words))
    return subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "TERM": "xterm"},
    )


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("accelwatch.cli.startup.entry", FLEET),
        ("accelwatch.cli.startup.entry", ("--hub", "127.0.0.1:1")),
        ("accelwatch.node.sampler.early", ("--json",)),
        ("accelwatch.cli.node.snapshot", ("--json",)),
    ],
)
def test_nothing_is_printed_before_a_command_runs(module: str, words: tuple[str, ...]) -> None:
    ended = interrupted(module, words)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")


def test_a_command_that_runs_ends_by_its_own_code() -> None:
    ended = interrupted("accelwatch.cli.startup.app", ("doctor",))
    assert (ended.returncode, ended.stdout, ended.stderr) == (INTERRUPTED, b"", b"")


def test_what_ignores_interrupts_from_the_start_goes_on() -> None:
    ignoring = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN){PROGRAM}"
    program = ignoring.format(module="accelwatch.cli.startup.entry", words=["--version"])
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert ended.stdout.startswith(b"accelwatch ")
