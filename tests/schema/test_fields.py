"""The field list: which names there are, which columns they become, what a device has for each."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.errors import UsageError
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import Device
from accelwatch.schema.fields import Cell, Field, cell, columns, fields, reason, resolve
from accelwatch.schema.json.wire import device_rows
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import DeviceView
from support.machines import composed as machines

STATE_FIELDS = ("state", "state_since", "sample_time", "sample_age_s", "health")


def telling(
    values: dict[Series, Number] | None = None, absent: dict[Series, Absence] | None = None
) -> DeviceView:
    """A device with nothing but these."""
    reading = Reading(device_id="x", values=values or {}, absent=absent or {})
    return machines.view(0, reading=reading)


def test_identity_comes_first_then_how_it_stands_then_the_catalogue() -> None:
    names = [field.name for field in fields()]
    identity = set(Device.__struct_fields__) - {"absent", "device_nodes"}
    assert set(names[: len(identity)]) == identity
    assert names[len(identity) :] == [*STATE_FIELDS, *(row.key for row in device_rows())]


def test_a_quantity_says_its_unit_its_help_and_its_labels_and_identity_has_none() -> None:
    by_name = {field.name: field for field in fields()}
    row = by_key()["temperature_limit_celsius"]
    assert by_name[row.key] == Field(row.key, "celsius", row.help, ("sensor", "limit"))
    assert by_name["serial"] == Field("serial", "", "Serial number of the board.")
    assert all(field.help for field in fields())


def test_names_are_taken_as_they_are_written_without_blanks_around() -> None:
    names = [" index", "temperature_celsius", "temperature_limit_celsius.gpu.slowdown "]
    assert resolve(names) == (
        "index",
        "temperature_celsius",
        "temperature_limit_celsius.gpu.slowdown",
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "temprature_celsius",
            "no field named 'temprature_celsius'; did you mean temperature_celsius?"
            " (--fields help lists them)",
        ),
        ("qqqqq", "no field named 'qqqqq' (--fields help lists them)"),
        (
            "temperature_limit_celsius.gpu",
            "field 'temperature_limit_celsius.gpu' is written"
            " temperature_limit_celsius.<sensor>.<limit>",
        ),
        ("index.1", "field 'index.1' is written index"),
    ],
)
def test_a_wrong_name_is_refused_with_the_right_one(name: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        resolve(["name", name])
    assert str(refused.value) == message


def test_a_bare_labelled_quantity_becomes_a_column_a_series_found_in_any_device() -> None:
    first = telling({("temperature_celsius", "gpu"): 61, ("power_watts",): 1.0})
    second = telling(
        {("temperature_celsius", "gpu"): 60, ("temperature_celsius", "memory"): 70},
        {("clock_hertz", "sm"): Absence.ERROR, ("*",): Absence.ERROR},
    )
    names = ("index", "temperature_celsius", "power_watts", "clock_hertz")
    assert columns(names, [first, second]) == (
        "index",
        "temperature_celsius.gpu",
        "temperature_celsius.memory",
        "power_watts",
        "clock_hertz.sm",
    )


def test_a_quantity_that_a_device_lacks_as_a_whole_adds_no_column() -> None:
    first = telling({("temperature_celsius", "gpu"): 61})
    second = telling(absent={("temperature_celsius",): Absence.UNSUPPORTED})
    assert columns(("temperature_celsius",), [first, second]) == ("temperature_celsius.gpu",)


def test_a_name_stays_a_column_where_no_device_has_it() -> None:
    assert columns(("temperature_celsius", "model"), [telling()]) == (
        "temperature_celsius",
        "model",
    )
    named = ("temperature_celsius.memory", "no_such_field")
    assert columns(named, [machines.view(0)]) == named


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("index", 0),
        ("model", "NVIDIA H100 80GB HBM3"),
        ("parent_id", None),
        ("state", "ok"),
        ("health", "ok"),
        ("state_since", "2027-01-15T07:59:00.000Z"),
        ("sample_time", "2027-01-15T07:59:59.750Z"),
        ("sample_age_s", 0.25),
        ("power_watts", 642.125),
        ("temperature_celsius", 61),
        ("temperature_celsius.memory", 72),
        ("temperature_limit_celsius.gpu.slowdown", 89),
        ("temperature_celsius.no_such_sensor", None),
        ("fan_speed_ratio", None),
        ("no_such_field", None),
        ("no_such_field.label", None),
    ],
)
def test_the_cell_of_a_device(name: str, expected: Cell) -> None:
    found = cell(machines.view(0), name)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("name", ["sample_time", "sample_age_s"])
def test_a_device_that_was_never_read_has_no_time(name: str) -> None:
    assert cell(machines.view(0, sample_time=None, sample_age_s=None), name) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("power_watts", Absence.PERMISSION),
        ("temperature_celsius.memory", Absence.ERROR),
        ("clock_hertz.sm", Absence.TIMEOUT),
        ("clock_hertz", Absence.TIMEOUT),
        ("fan_speed_ratio", Absence.LOST),
    ],
)
def test_why_a_cell_is_empty(name: str, expected: Absence) -> None:
    """That of the series, else of its quantity, else of the whole device."""
    absent: dict[Series, Absence] = {
        ("power_watts",): Absence.PERMISSION,
        ("temperature_celsius", "memory"): Absence.ERROR,
        ("clock_hertz",): Absence.TIMEOUT,
        ("*",): Absence.LOST,
    }
    assert reason(telling(absent=absent), name) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("power_watts", Absence.UNSUPPORTED),
        ("serial", Absence.PERMISSION),
        ("uuid", Absence.UNSUPPORTED),
    ],
)
def test_why_identity_is_empty(name: str, expected: Absence) -> None:
    one = machines.device(0, absent={"serial": Absence.PERMISSION, "power_watts": Absence.ERROR})
    assert reason(msgspec.structs.replace(telling(), device=one), name) is expected


def test_a_state_of_the_first_look_has_no_time() -> None:
    view = msgspec.structs.replace(machines.view(0), state_since=0.0)
    assert cell(view, "state_since") is None
