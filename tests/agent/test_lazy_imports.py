"""An agent starts without what only a hub needs, and without rules as long as there are none."""

import subprocess
import sys


def test_an_agent_loads_nothing_of_fleet_rules_and_alerts() -> None:
    code = (
        "import sys, accelwatch.runtime, accelwatch.agent.server, accelwatch.agent.stream\n"
        "forbidden = ('numpy', 'sqlite3', 'accelwatch.fleet', 'accelwatch.agent.rules',"
        " 'accelwatch.rules', 'accelwatch.incidents', 'accelwatch.delivery',"
        " 'accelwatch.judging.runner', 'accelwatch.judging.pages', 'accelwatch.judging.alerting')\n"
        "print([name for name in sys.modules if name.startswith(forbidden)])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"


def test_an_agent_with_rules_loads_no_numpy() -> None:
    code = (
        "import sys, accelwatch.agent.rules.evaluator, accelwatch.judging.runner\n"
        "import accelwatch.judging.pages, accelwatch.delivery.dispatcher\n"
        "print([name for name in sys.modules if name.startswith(('numpy', 'accelwatch.fleet'))])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"
