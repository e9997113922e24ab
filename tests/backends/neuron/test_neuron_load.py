"""What neuron-monitor's records say of load, and the command that prints them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Context, Request
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Reading
from accelwatch_neuron import NeuronBackend, load
from backends.neuron.machines import TRN1, lay_out
from support.machines.samples import sample
from support.machines.staged_machines import Stage
from support.machines.staging import two_ticks
from support.processes.shell_scripts import script
from support.processes.waiting import wait_until

BUSY: Series = ("utilization_ratio",)


def runtime(error: str = "", **cores: Any) -> dict[str, Any]:
    """A runtime and its cores, `c3=12.5` for core 3 in percent."""
    used = {name[1:]: {"neuroncore_utilization": share} for name, share in cores.items()}
    counters = {"neuroncores_in_use": used, "error": error}
    return {"pid": 7, "error": "", "report": {"neuroncore_counters": counters}}


def record(*runtimes: Any, **hardware: Any) -> bytes:
    counters = {"neuron_device_index": 0, "mem_ecc_corrected": 5, "sram_ecc_corrected": 2}
    return json.dumps(
        {
            "neuron_runtime_data": runtimes,
            "system_data": {"neuron_hw_counters": {"neuron_devices": [counters], "error": ""}},
            "neuron_hardware_info": {"neuroncore_per_device_count": 2, "error": "", **hardware},
        }
    ).encode()


def reading_of(line: bytes, index: int = 0, cores: tuple[int, ...] | None = None) -> Reading:
    parsed = load.parse(line)
    assert parsed is not None
    out = Collected("neuron:x")
    load.collect_load(out, index, parsed, cores)
    return out.reading()


def test_the_recorded_records() -> None:
    lines = sample("neuron/cli/neuron_monitor_trn1_2xlarge_busy.ndjson").read_bytes().splitlines()
    seen = [reading_of(line).values for line in lines]
    assert [values[("core_utilization_ratio", "0")] for values in seen] == [
        pytest.approx(0.013631567613356375),
        pytest.approx(0.013560819560861623),
        pytest.approx(0.013128372400154966),
    ]
    assert seen[0][BUSY] == pytest.approx(0.0068157838)
    assert seen[0][("core_utilization_ratio", "1")] == 0
    assert seen[0][("ecc_errors_total", "corrected")] == 0


def test_cores_are_counted_through_all_devices() -> None:
    line = record(runtime(c0=50), runtime(c2=100, c3=20))
    assert reading_of(line).values == {
        ("core_utilization_ratio", "0"): 0.5,
        ("core_utilization_ratio", "1"): 0.0,
        BUSY: 0.25,
        ("ecc_location_errors_total", "corrected", "hbm"): 5,
        ("ecc_location_errors_total", "corrected", "sram"): 2,
        ("ecc_errors_total", "corrected"): 7,
    }
    assert reading_of(line, 1).values[BUSY] == pytest.approx(0.6)


def test_cores_are_those_that_neuron_ls_numbers() -> None:
    line = record(runtime(c0=50, c1=10), runtime(c17=100))
    assert reading_of(line, 8, (16, 17)).values[BUSY] == 0.5
    assert reading_of(line, 8, (0, 1)).values[BUSY] == pytest.approx(0.3)
    assert reading_of(line, 8).values[BUSY] == 0.5
    assert reading_of(line, 0, (0, 1, 2)).absent[BUSY] is Absence.ERROR, (
        "of another partition into cores"
    )


def test_an_idle_machine_is_idle() -> None:
    assert reading_of(record()).values[BUSY] == 0


def test_a_core_that_two_runtimes_used_in_turn() -> None:
    assert reading_of(record(runtime(c0=50), runtime(c0=25))).values[BUSY] == pytest.approx(0.375)


@pytest.mark.parametrize(
    "line",
    [
        record(runtime("cannot be read", c0=50)),
        record(runtime(c0=50), {"pid": 9, "error": "gone"}),
        record(runtime(c0=102)),
        record(runtime(c0=-1)),
        record(runtime(c0="50")),
        record(runtime(c0=True)),
        record(runtime(c0=80), runtime(c0=80)),
        record(runtime(c0=50), error="no hardware"),
        record(runtime(c0=50), neuroncore_per_device_count=0),
        b'{"neuron_hardware_info": {"neuroncore_per_device_count": 2}}',
    ],
)
def test_what_is_not_known_is_not_idle(line: bytes) -> None:
    assert reading_of(line).absent[BUSY] is Absence.ERROR
    assert BUSY not in reading_of(line).values


@pytest.mark.parametrize("line", [b"", b"\xff", b"[]", b"7", b"{"])
def test_what_is_no_record(line: bytes) -> None:
    assert load.parse(line) is None


_KEYS = ("neuron_runtime_data", "report", "neuroncore_counters", "neuroncores_in_use", "0", "error")


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda part: (
            st.lists(part, max_size=2) | st.dictionaries(st.sampled_from(_KEYS), part, max_size=4)
        ),
    )
)
def test_no_damaged_record_escapes(document: Any) -> None:
    parsed = load.parse(json.dumps(document).encode())
    if parsed is not None:
        load.collect_load(Collected("neuron:x"), 0, parsed, None)


def test_load_of_a_device_with_its_age(tmp_path: Path) -> None:
    lay_out(tmp_path, TRN1)
    (tmp_path / "record.json").write_bytes(record(runtime(c2=50)) + b"\n")
    program = tmp_path / "opt/aws/neuron/bin/neuron-monitor"
    script(program, f"cat {tmp_path}/record.json; exec sleep 600")
    clock = ManualClock()
    backend = NeuronBackend(Context(root=tmp_path, clock=clock))
    try:
        assert backend.open().source == "sysfs+neuron-ls+neuron-monitor"
        first, second = backend.discover()

        def has_spoken() -> bool:
            (reading,) = backend.read(second, Request())
            return reading.absent.get(BUSY) is not Absence.NOT_COLLECTED

        wait_until(has_spoken)
        clock.advance(3)
        (reading,) = backend.read(second, Request())
        assert (reading.values[BUSY], reading.age_s, reading.pace_s) == (0.25, 3.0, 5.0)
        assert backend.read(first, Request())[0].values[BUSY] == 0
    finally:
        backend.close()


def test_one_look_at_a_machine_whose_monitor_has_not_spoken_yet_finds_it_well(
    tmp_path: Path,
) -> None:
    lay_out(tmp_path, TRN1)
    script(tmp_path / "opt/aws/neuron/bin/neuron-monitor", "exec sleep 600")
    snapshot = two_ticks(Stage(NeuronBackend, tmp_path))
    assert {view.reading.absent[BUSY] for view in snapshot.devices} == {Absence.NOT_COLLECTED}
    assert {(view.state, view.health) for view in snapshot.devices} == {(DeviceState.OK, Health.OK)}
