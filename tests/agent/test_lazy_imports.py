"""An agent starts without what only a hub needs, and without rules as long as there are none.

What it loads stays in its memory for months: each of the names here takes between 0.1 and 14 MiB.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from support.machines.nvml_stand_ins import NvmlScenario
from support.servers.agent_processes import AgentProcess

NEEDLESS = (
    *("aiohttp", "typer", "pydantic", "html", "difflib", "numpy", "sqlite3", "email"),
    *("lzma", "gzip", "grpc"),
)


def test_a_running_agent_resolves_no_user_and_loads_nothing_for_it(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    environ = {**scenario.environment(), "PYTHONPROFILEIMPORTTIME": "1"}
    agent = AgentProcess(tmp_path, "log: {level: info}", environ)
    try:
        agent.wait_for(agent.ready)
        assert "accel_device_up" in agent.get("/metrics")
        assert "accelwatch" in agent.get("/")
    finally:
        agent.kill()
    lines = [
        line.split("|") for line in agent.log_text().splitlines() if line.startswith("import time:")
    ]
    loaded = {line[-1].strip() for line in lines}
    assert {"accelwatch.agent.runtime", "h11"} <= loaded
    assert {name for name in loaded if name.split(".")[0] in NEEDLESS} == set()


def test_rules_without_a_receiver_load_no_client() -> None:
    code = (
        "import sys, accelwatch.agent.rules.evaluator, accelwatch.alerting.evaluation.runner\n"
        "import accelwatch.alerting.evaluation.pages, accelwatch.alerting.evaluation.silences.pages\n"
        "import accelwatch.alerting.evaluation.alerting\n"
        "print('aiohttp' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("flags", ["{'web.listen_address': ['127.0.0.1:1']}", "{}"])
def test_who_reads_no_file_loads_no_yaml(flags: str) -> None:
    code = (
        "import sys\n"
        "from accelwatch.config.layers import effective\n"
        f"effective(None, {{}}, {flags})\n"
        "print('yaml' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "False"


def test_who_only_writes_loads_no_reader() -> None:
    code = (
        "import sys, accelwatch.exposition.text, accelwatch.archive.recording.recorder\n"
        "print([name for name in sys.modules if name.endswith(('.reader', '.recording.recording'))])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"


def test_an_agent_loads_nothing_of_fleet_rules_and_alerts() -> None:
    code = (
        "import sys, accelwatch.agent.runtime, accelwatch.agent.server, accelwatch.agent.stream\n"
        "forbidden = ('numpy', 'sqlite3', 'accelwatch.fleet', 'accelwatch.agent.rules',"
        " 'accelwatch.alerting.rules', 'accelwatch.alerting.incidents', 'accelwatch.alerting.delivery',"
        " 'accelwatch.alerting.evaluation.runner', 'accelwatch.alerting.evaluation.pages',"
        " 'accelwatch.alerting.evaluation.alerting')\n"
        "print([name for name in sys.modules if name.startswith(forbidden)])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"


def test_an_agent_with_rules_loads_no_numpy() -> None:
    code = (
        "import sys, accelwatch.agent.rules.evaluator, accelwatch.alerting.evaluation.runner\n"
        "import accelwatch.alerting.evaluation.pages, accelwatch.alerting.delivery.dispatcher\n"
        "print([name for name in sys.modules if name.startswith(('numpy', 'accelwatch.fleet'))])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"
