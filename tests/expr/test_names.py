"""The name table follows the catalogue, and the page of the language follows both."""

from pathlib import Path

from accelwatch.expr.functions import FUNCTIONS
from accelwatch.expr.names import FLAGS, IDENTITY, Fault, Resolved, Type, device_names
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Kind, Scope, catalogue


def test_every_current_number_of_a_device_is_a_name() -> None:
    names = device_names()
    for row in catalogue():
        parts = {"pid", "partition"} & set(row.labels)
        numeric = row.kind in (Kind.GAUGE, Kind.COUNTER, Kind.STATE)
        usable = row.scope is Scope.DEVICE and numeric and not parts
        assert (row.key in names.rows) is usable, row.key
        if usable:
            found = names.resolve(row.key, tuple("ok" for _ in row.labels))
            assert isinstance(found, Resolved)


def test_every_identity_field_is_a_name() -> None:
    structural = {"device_nodes", "absent"}
    assert set(Device.__struct_fields__) - structural <= set(device_names().identity)


def test_flags_are_the_device_gauges_that_answer_a_question() -> None:
    asked = {
        row.key
        for row in device_names().rows.values()
        if row.kind is Kind.GAUGE and not row.unit and row.help.startswith("Whether ")
    }
    assert asked == FLAGS


def test_states_are_flags() -> None:
    found = device_names().resolve("health", ("ok",))
    assert found == Resolved(keys=(("health", "ok"),), type=Type.FLAG)


def test_labels_without_a_primary_must_be_given() -> None:
    for row in device_names().rows.values():
        if row.labels and not row.primary and row.key not in device_names().identity:
            fault = device_names().resolve(row.key, ())
            assert isinstance(fault, Fault)
            assert row.key in fault.hint


def test_the_page_names_every_function_and_identity_field() -> None:
    page = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text(encoding="utf-8")
    for name in (*FUNCTIONS, *IDENTITY, *FLAGS):
        assert f"`{name}" in page, name
