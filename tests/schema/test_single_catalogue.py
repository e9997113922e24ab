"""Every surface has each quantity of the catalogue under its own name, and none that is not in it."""

import csv
import io
import json

import msgspec
import pytest

from accelwatch.schema.catalogue.lookup import opt_in_groups
from accelwatch.schema.fields import fields
from accelwatch.schema.json.wire import device_rows
from accelwatch.schema.metrics import Kind, Metric, Series
from accelwatch.schema.reading import Number, Reading
from accelwatch_csv import CsvExporter
from accelwatch_json import JsonExporter
from accelwatch_prometheus import PrometheusExporter
from support.machines.composed import snapshot, view
from support.processes.installed_command import accelwatch

ROWS = tuple(row for row in device_rows() if row.kind is not Kind.HISTOGRAM)


def series(row: Metric) -> Series:
    """A series of the quantity with an invented value for each label."""
    return (row.key, *(row.primary[0] if row.primary else ("x",) * len(row.labels)))


def whole() -> Reading:
    """A reading in which every quantity has a value."""
    values: dict[Series, Number] = {series(row): 1 for row in ROWS}
    return Reading(device_id=view(0).device.id, values=values)


SHOT = snapshot(msgspec.structs.replace(view(0), reading=whole()))


@pytest.fixture(scope="module")
def exposition() -> str:
    groups = frozenset(opt_in_groups())
    return PrometheusExporter().render(SHOT, {"groups": groups}).decode()


def test_json_has_every_quantity() -> None:
    (item,) = json.loads(JsonExporter().render(SHOT, {}))["devices"]
    assert [row.key for row in device_rows() if row.key not in item] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_quantity_has_one_name_everywhere(row: Metric, exposition: str) -> None:
    table = CsvExporter().render(SHOT, {"fields": (row.key,)}).decode()
    (header, cells) = csv.reader(io.StringIO(table))
    assert header == [".".join(series(row))]
    assert cells == ["1"]
    (field,) = [field for field in fields() if field.name == row.key]
    assert (field.unit, field.help, field.labels) == (row.unit, row.help, row.labels)
    assert f"\naccel_{row.key}{{" in exposition
    assert f"# HELP accel_{row.key} {row.help}\n" in exposition


def test_the_list_for_people_is_that_of_the_catalogue() -> None:
    shown = accelwatch("--fields", "help").stdout.splitlines()
    names = [line.split()[0].partition(".")[0] for line in shown]
    assert names == [field.name for field in fields()]
    assert {row.key for row in device_rows()} <= set(names)
