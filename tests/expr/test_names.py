"""The name table follows the catalogue, and the page of the language follows both."""

from pathlib import Path

import pytest

from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS, SUBJECTS
from accelwatch.expr.vocabulary.events import EVENT_FUNCTIONS, EVENT_KINDS
from accelwatch.expr.vocabulary.functions import FUNCTIONS
from accelwatch.expr.vocabulary.names import (
    FLAGS,
    IDENTITY,
    STATE_FAMILIES,
    Fault,
    Resolved,
    Type,
    device_names,
)
from accelwatch.expr.vocabulary.peers import FOLDS, GROUPS, PEERS
from accelwatch.expr.vocabulary.rule_names import of_host, rule_names
from accelwatch.expr.vocabulary.windows import WINDOWS
from accelwatch.fleet.names import fleet_names
from accelwatch.schema.catalogue.lookup import catalogue
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Kind, Scope
from accelwatch.schema.snapshot import OWNER_NAMES


def test_every_current_number_of_a_device_is_a_name() -> None:
    names = device_names()
    for row in catalogue():
        parts = {"pid", "partition"} & set(row.labels)
        numeric = row.kind in (Kind.GAUGE, Kind.COUNTER, Kind.STATE)
        numeric = numeric or row.key in STATE_FAMILIES
        usable = row.scope is Scope.DEVICE and numeric and not parts
        assert (row.key in names.rows) is usable, row.key
        if usable:
            found = names.resolve(row.key, tuple("ok" for _ in row.labels))
            assert isinstance(found, Resolved)


def test_every_identity_field_is_a_name() -> None:
    structural = {"device_nodes", "absent"}
    assert set(Device.__struct_fields__) - structural <= set(device_names().identity)


def test_flags_are_the_device_gauges_that_answer_a_question() -> None:
    states = {
        row.key
        for row in device_names().rows.values()
        if row.kind is Kind.GAUGE and not row.unit and row.help.startswith("Whether ")
    }
    assert states == FLAGS


def test_states_are_flags() -> None:
    found = device_names().resolve("health", ("ok",))
    assert found == Resolved(keys=(("health", "ok"),), type=Type.FLAG)


def test_families_that_say_a_state_are_flags() -> None:
    for key, word in (("recovery_action_info", "node_reboot"), ("fabric_state_info", "completed")):
        found = device_names().resolve(key, (word,))
        assert found == Resolved(keys=((key, word),), type=Type.FLAG)
    assert isinstance(device_names().resolve("fabric_clique_info", ("1",)), Fault)


def test_labels_without_a_primary_must_be_given() -> None:
    for row in device_names().rows.values():
        if row.labels and not row.primary and row.key not in device_names().identity:
            fault = device_names().resolve(row.key, ())
            assert isinstance(fault, Fault)
            assert row.key in fault.hint


def test_the_page_names_every_function_and_identity_field() -> None:
    page = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text(encoding="utf-8")
    rules = (*WINDOWS, *EVENT_FUNCTIONS, *EVENT_KINDS, *PEERS, *GROUPS, *OWNER_NAMES)
    for name in (*FUNCTIONS, *IDENTITY, *FLAGS, *rules):
        assert f"`{name}" in page, name
    for name in FOLDS:
        assert f"`node.{name}(" in page, name


def test_every_number_of_a_host_is_a_name_of_a_rule() -> None:
    names = rule_names()
    for row in catalogue():
        numeric = row.kind in (Kind.GAUGE, Kind.COUNTER, Kind.STATE)
        if row.scope is Scope.NODE and numeric:
            assert isinstance(names.resolve(row.key, tuple("a" for _ in row.labels)), Resolved)
            assert of_host((row.key, "a"))
            assert row.key not in device_names().rows
    assert not of_host(("power_watts",))
    assert set(device_names().rows) <= set(names.rows)


def test_a_rule_knows_the_words_of_a_fleet() -> None:
    fleet = fleet_names(["rack"])
    hub, agent = rule_names(fleet), rule_names()
    assert set(OWNER_NAMES) | {"node", "node_state"} <= set(agent.identity)
    assert set(fleet.identity) <= set(hub.identity)
    assert hub.values == {**fleet.values, "detector.subject": SUBJECTS}
    assert set(fleet.values["state"]) <= set(agent.values["state"])
    assert isinstance(hub.resolve("labels", ("rack",)), Resolved)


def test_a_rule_knows_what_a_detector_finds() -> None:
    names = rule_names()
    for name, field in DETECTOR_FIELDS.items():
        first, *labels = name.split(".")
        resolved = names.resolve(first, tuple(labels))
        assert isinstance(resolved, Resolved)
        assert (resolved.keys, resolved.type) == ((name,), field.type)


@pytest.mark.parametrize(
    ("labels", "hint"),
    [
        (("alrt",), "did you mean detector.alert?"),
        (("nod", "family"), "did you mean detector.node.family?"),
        ((), "write for example detector.alert"),
    ],
)
def test_a_word_that_no_detector_says_has_a_hint(labels: tuple[str, ...], hint: str) -> None:
    fault = rule_names().resolve("detector", labels)
    assert isinstance(fault, Fault)
    assert fault.hint == hint
