"""Runs the installed command as a user would: own process, own environment, bytes on two streams."""

import os
import subprocess
import sys
from collections.abc import Mapping

# A deadline of a reading that no machine is too busy for; for a test without a device that hangs.
PATIENT = ("--timeout", "5m")


def accelwatch(
    *words: str, environ: Mapping[str, str] | None = None, timeout_s: float = 60.0
) -> "subprocess.CompletedProcess[str]":
    """The finished command; the time limit is only a guard against a test that never ends."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ACCELWATCH_")}
    env.update({"PYTHONUTF8": "1", "NO_COLOR": "1", **(environ or {})})
    return subprocess.run(
        [sys.executable, "-m", "accelwatch", *words],
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout_s,
        check=False,
    )
