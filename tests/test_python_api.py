"""The Python API: the same model as the command line, typed, and safe beside the caller's threads."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import accelwatch
from standins import NvmlScenario

PROGRAM = """
import json, threading
import accelwatch
threading.Thread(target=threading.Event().wait, daemon=True).start()
one = accelwatch.snapshot(backends=["nvidia"], timeout_s=5)
two = list(accelwatch.watch(0.25, count=2, backends=["nvidia"]))
print(json.dumps({
    "states": [view.state for view in one.devices],
    "power": [view.reading.values[("power_watts",)] for view in one.devices],
    "ticks": [len(shot.devices) for shot in two],
    "busy": ("busy_seconds_total",) in two[1].devices[0].reading.values,
}))
"""


def test_snapshot_and_watch_in_a_program_with_threads(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **scenario.environment()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["states"] == ["ok"] * 8
    assert all(watts > 0 for watts in found["power"])
    assert found["ticks"] == [8, 8]
    assert found["busy"]


def test_public_names_are_documented_and_typed() -> None:
    assert accelwatch.__all__ == ["__version__", "snapshot", "watch"]
    for name in ("snapshot", "watch"):
        function = getattr(accelwatch, name)
        signature = inspect.signature(function)
        assert function.__doc__
        assert signature.return_annotation is not inspect.Signature.empty
        annotations = [one.annotation for one in signature.parameters.values()]
        assert inspect.Parameter.empty not in annotations


def test_importing_the_package_loads_nothing_else() -> None:
    probe = (
        "import sys, accelwatch;"
        "ours = {m for m in sys.modules if m.startswith('accelwatch.')};"
        "print(sorted(ours - {'accelwatch.version'}))"
    )
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
