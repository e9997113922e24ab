"""The benchmark of rules in columns runs on a small fleet, and times all of its rules."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks/rules/bench_rules.py"


def test_it_times_every_rule() -> None:
    command = [sys.executable, str(SCRIPT), "--devices", "64", "--ticks", "2"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    assert (figures["devices"], figures["rules"]) == (64, 60)
    assert figures["windows_mib"] > 0
