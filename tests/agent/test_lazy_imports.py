"""An agent starts without what only a hub needs."""

import subprocess
import sys


def test_an_agent_loads_no_numpy_and_nothing_of_the_fleet() -> None:
    code = (
        "import sys, accelwatch.runtime, accelwatch.agent.server, accelwatch.agent.stream\n"
        "print([name for name in sys.modules"
        " if name == 'numpy' or name.startswith('accelwatch.fleet')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"
