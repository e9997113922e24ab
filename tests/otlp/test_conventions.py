"""Every row of the catalogue that names a convention fits it: its unit, its instrument, its labels."""

import pytest

from accelwatch.otlp.conventions import CONVENTIONS, Instrument, outlet, parsed, unit_of
from accelwatch.schema.catalogue.lookup import by_key, catalogue
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.metrics import Kind, Metric

MAPPED = [row for row in catalogue() if row.otel]


@pytest.mark.parametrize("row", MAPPED, ids=lambda row: row.key)
def test_a_row_fits_its_convention(row: Metric) -> None:
    name, attributes = parsed(row.otel)
    convention = CONVENTIONS[name]
    counts = convention.instrument is Instrument.COUNTER
    assert counts == (row.kind is Kind.COUNTER)
    others = {"{event}": "{error}", "": "1"}
    assert others.get(unit_of(row), unit_of(row)) == convention.unit
    named = [value[1:] for value in attributes.values() if value.startswith("$")]
    assert set(named) <= set(row.labels)
    assert row.otel.count("=") == len(attributes)


def test_every_convention_is_used() -> None:
    assert {parsed(row.otel)[0] for row in MAPPED} == set(CONVENTIONS)


def test_a_sum_over_a_metric_counts_nothing_twice() -> None:
    """Usage, limit, power and energy come from one row each."""
    names = [parsed(row.otel)[0] for row in MAPPED]
    for once in (
        "hw.gpu.memory.usage",
        "hw.gpu.memory.limit",
        "hw.power",
        "hw.energy",
        "hw.gpu.io",
    ):
        assert names.count(once) == 1


def test_what_is_no_gpu_is_none() -> None:
    load = by_key()["utilization_ratio"]
    assert outlet(load, DeviceKind.GPU).name == "hw.gpu.utilization"
    assert outlet(load, DeviceKind.NPU).name == "accel_utilization_ratio"
    assert outlet(by_key()["power_watts"], DeviceKind.NPU).name == "hw.power"


def test_units_are_those_of_ucum() -> None:
    rows = by_key()
    assert unit_of(rows["clock_hertz"]) == "Hz"
    assert unit_of(rows["error_events_total"]) == "{event}"
    assert unit_of(rows["pcie_link_width_lanes"]) == "{lane}"
    assert unit_of(rows["reset_required"]) == ""
