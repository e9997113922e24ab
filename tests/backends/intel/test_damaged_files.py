"""Whatever a file holds, a reading comes back, and no number in it that no file holds."""

import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from accelwatch.base.errors import ReadError
from support.machines.intel_machines import EVERYTHING, Machine
from support.machines.samples import FIXTURES

_TREE = json.loads((FIXTURES / "intel/arc-b580/tree.json").read_text())
_READ = sorted(
    path
    for path in _TREE["files"]
    if "/0000:03:00.0/" in path and not path.endswith(("/vendor", "/device", "/class"))
)
_CLIENTS = sorted(path for path in _TREE["files"] if "/fdinfo/" in path)
# The name by which a folder of sensors is known: without it all of them are somebody else's.
_SENSORS = next(path for path in _READ if path.endswith("/hwmon4/name"))


def machine_with(damage: dict[str, bytes], folder: str) -> Machine:
    machine = Machine(Path(folder))
    machine.tree.lay_out("intel/arc-b580")
    for path, content in damage.items():
        machine.tree.write(path, content)
    return machine


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from(_READ + _CLIENTS), st.binary(max_size=40), max_size=12))
def test_damaged_files_never_raise_anything_else(damage: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machine = machine_with(damage, folder)
        try:
            machine.devices()
            for reading in machine.read():
                assert not set(reading.values) & set(reading.absent)
        except ReadError:
            assert any(path.endswith("power/runtime_status") for path in damage)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@example(_SENSORS, 0)
@example(_SENSORS, 1)
@given(st.sampled_from(_READ + _CLIENTS), st.integers(0, 400))
def test_a_truncated_file_changes_nothing_but_its_own_quantities(path: str, cut: int) -> None:
    whole = _TREE["files"][path].encode()
    with tempfile.TemporaryDirectory() as healthy, tempfile.TemporaryDirectory() as folder:
        expected = machine_with({}, healthy).read(groups=EVERYTHING)[0]
        machine = machine_with({path: whole[: min(cut, len(whole))]}, folder)
        (reading,) = machine.read(groups=EVERYTHING)
        changed = {
            series[0]
            for series in {*expected.values, *reading.values}
            if expected.values.get(series) != reading.values.get(series)
        }
        if path == _SENSORS:
            assert all(expected.values[series] == value for series, value in reading.values.items())
            assert "clock_hertz" not in changed
        else:
            assert len(changed) <= 3
