"""The Python API: the same model as the command line, typed, and safe beside the caller's threads."""

import asyncio
import contextlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import accelwatch
from support.machines.nvml_stand_ins import NvmlScenario
from support.machines.samples import FIXTURES
from support.processes.own_children import children, living_children

PROGRAM = """
import json, threading
import accelwatch
threading.Thread(target=threading.Event().wait, daemon=True).start()
one = accelwatch.snapshot(backends=["nvidia"], timeout_s=60)
two = list(accelwatch.watch(0.25, count=2, backends=["nvidia"], timeout_s=60))
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
    classes = {"AccelwatchError", "DeviceView", "Snapshot", "UsageError"}
    functions = {"read_recording", "snapshot", "watch", "watch_async"}
    assert set(accelwatch.__all__) == classes | functions | {"__version__"}
    assert set(accelwatch.__all__) <= set(dir(accelwatch))
    for name in functions:
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
        "print(sorted(ours - {'accelwatch.base', 'accelwatch.base.version'}))"
    )
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_classes_are_at_the_top() -> None:
    from accelwatch.base.errors import AccelwatchError, UsageError
    from accelwatch.schema.snapshot import DeviceView, Snapshot

    assert accelwatch.Snapshot is Snapshot
    assert accelwatch.DeviceView is DeviceView
    assert accelwatch.AccelwatchError is AccelwatchError
    assert accelwatch.UsageError is UsageError
    with pytest.raises(AttributeError, match="has no attribute 'Snapshoot'"):
        accelwatch.Snapshoot  # noqa: B018  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"groups": ["pipe"]}, "no opt-in group 'pipe'; did you mean pipes?"),
        ({"groups": ["everything"]}, "no opt-in group 'everything'; there are "),
        ({"groups": "pipes"}, "groups is a list of names: ['pipes']"),
        ({"backends": ["nvidai"]}, "backends: 'nvidai' is not installed; did you mean nvidia?"),
        ({"backends": "nvidia"}, "backends is a list of names: ['nvidia']"),
        ({"replay": "/nowhere/x.ndjson"}, "no recording '/nowhere/x.ndjson'"),
    ],
)
def test_typos_raise_when_called(arguments: dict[str, Any], complaint: str) -> None:
    for function in (accelwatch.snapshot, accelwatch.watch, accelwatch.watch_async):
        with pytest.raises(accelwatch.UsageError) as refused:
            function(**arguments)
        assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"interval_s": 0}, "interval_s is above 0, not 0"),
        ({"interval_s": -1.0}, "interval_s is above 0, not -1.0"),
        ({"interval_s": float("nan")}, "interval_s is above 0, not nan"),
        ({"count": 0}, "count is at least 1, not 0"),
    ],
)
def test_a_watch_that_cannot_be_is_refused(arguments: dict[str, Any], complaint: str) -> None:
    for function in (accelwatch.watch, accelwatch.watch_async):
        with pytest.raises(accelwatch.UsageError, match=complaint):
            function(**arguments)


def test_a_scenario_is_read_instead_of_the_machine() -> None:
    one = accelwatch.snapshot(replay="demo", timeout_s=60)
    assert isinstance(one, accelwatch.Snapshot)
    assert len(one.devices) == 14
    ticks = list(accelwatch.watch(0.25, count=2, replay="demo", timeout_s=60))
    assert [len(tick.devices) for tick in ticks] == [14, 14]


def test_a_recording_is_read_from_end_to_end() -> None:
    path = FIXTURES / "replay" / "two-vendors.ndjson"
    times = [one.time for one in accelwatch.read_recording(path)]
    assert times == sorted(times)
    assert len(times) == len(path.read_text().splitlines())
    with pytest.raises(accelwatch.UsageError, match="no recording 'nowhere'"):
        accelwatch.read_recording("nowhere")


def test_a_recording_that_is_damaged_is_read_up_to_there_and_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = (FIXTURES / "replay" / "two-vendors.ndjson").read_bytes().splitlines(keepends=True)
    path = tmp_path / "r.ndjson"
    path.write_bytes(lines[0] + b"rubbish\n" + b"".join(lines[1:]))
    assert len(list(accelwatch.read_recording(path))) == 1
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("accelwatch.node.snapshots", "WARNING")
    assert f"recording: damaged at byte {len(lines[0])}: only the 1 documents" in record.message
    assert record.message.endswith(f"accelwatch record --repair {path}")


def test_async_iteration_leaves_the_loop_to_others() -> None:
    async def program() -> tuple[list[int], int]:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        ticks = accelwatch.watch_async(0.25, count=2, replay="demo", timeout_s=60)
        devices = [len(tick.devices) async for tick in ticks]
        beside.cancel()
        return devices, turns

    devices, turns = asyncio.run(program())
    assert devices == [14, 14]
    assert turns > 100


def test_closing_an_async_watch_ends_its_collector() -> None:
    others = children()

    async def program() -> list[str]:
        async with contextlib.aclosing(
            accelwatch.watch_async(0.25, replay="demo", timeout_s=60)
        ) as ticks:
            async for tick in ticks:
                assert tick.devices
                assert children() - others
                break
        return sorted(living_children() - others)

    assert asyncio.run(program()) == []
