"""Two whole hubs, one event each: what no other test plays with processes that are killed for real.

A leader that is stopped or cut off and a database that is away or hung are in tests/fleet/hub and
tests/alerting/incidents; the benchmark plays all six, many times.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from support.postgresql.server import programs

SCRIPT = Path(__file__).parents[2] / "benchmarks/hub/failover.py"
# A run waits for processes to start, and some seconds after the event for what is done twice.
_WITHIN_S = 400.0


@pytest.mark.parametrize("event", ["leader killed", "database failed over"])
def test_nothing_is_done_twice_when_the_next_hub_leads(event: str) -> None:
    if programs() is None:
        pytest.skip("there is no PostgreSQL server: apt-get install postgresql")
    command = [sys.executable, str(SCRIPT), "--times", "1", "--event", event]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_WITHIN_S)
    assert ended.returncode == 0, ended.stderr
    row = ended.stdout.splitlines()[1].removeprefix(event).split()
    runs, repeated, backwards, out = int(row[0]), *map(int, row[-3:])
    assert (runs, repeated, backwards) == (1, 0, 0)
    assert out <= 1
