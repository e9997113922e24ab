"""Numbers of foreign exporters that cannot be true: an absence, a count and a word for people."""

import re
from pathlib import Path

import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import read_devices
from accelwatch.fleet.state.nodes.devices import ReadDevice
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Kind
from support.machines.samples import FIXTURES, samples_root

NOW = 1_700_000_000.0
GPU = 'gpu="0",UUID="GPU-1",device="nvidia0"'
PAGES = sorted((FIXTURES / "fleet" / "dialects").glob("*.prom"))
EMPTY = (2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, 0x7FFFFFFFFFFFFFF0)
_VALUE = re.compile(r"(?m)^([^#\s{]+(?:\{.*\})?) +\S+")


@pytest.mark.parametrize("number", EMPTY)
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_no_exporter_makes_an_empty_register_a_fact(page: Path, number: int) -> None:
    text = _VALUE.sub(rf"\g<1> {number}", page.read_text())
    read = read_devices(text, NOW)
    assert read.dialects
    for view in read.devices:
        reading = ReadDevice(view).reading()
        flags = {series for series, value in reading.values.items() if value == 1}
        assert reading.values.keys() == flags
        assert {by_key()[series[0]].kind for series in flags} <= {Kind.GAUGE, Kind.INFO}
        for process in reading.processes or ():
            assert (process.gpu_memory_bytes, process.utilization_ratio) == (None, None)


def test_what_was_refused_is_shown() -> None:
    text = (
        f"DCGM_FI_DEV_POWER_USAGE{{{GPU}}} 4294967.295\nDCGM_FI_DEV_GPU_TEMP{{{GPU}}} 40\n"
        f"DCGM_FI_DEV_FB_USED{{{GPU}}} 90000\nDCGM_FI_DEV_FB_TOTAL{{{GPU}}} 81559\n"
    )
    read = read_devices(text, NOW)
    (view,) = read.devices
    assert view.reading.values == {
        ("temperature_celsius", "gpu"): 40,
        ("memory_size_bytes",): 81559 << 20,
    }
    assert view.reading.absent["power_watts",] is Absence.ERROR
    assert view.reading.absent["memory_used_bytes",] is Absence.ERROR
    assert [note.partition(" ")[0] for note in view.reading.notes] == [
        "power_watts:",
        "memory_used_bytes:",
    ]
    assert read.rejected["blank"] + read.rejected["implausible"] == 2


@pytest.mark.oracle
def test_every_number_of_a_recorded_page_is_believed() -> None:
    pages = sorted(samples_root().glob("exporters/*/*.metrics"))
    if not pages:
        pytest.skip("no recordings")
    for page in pages:
        read = read_devices(page.read_bytes(), NOW)
        assert not {"implausible", "blank"} & read.rejected.keys(), page.name
        assert not [view for view in read.devices if "not believed" in repr(view.reading.notes)]
