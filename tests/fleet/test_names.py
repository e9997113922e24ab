"""The words of a fleet are the same wherever they are asked for."""

import msgspec
import pytest

from accelwatch.fleet.api.query.groups import check_grouping
from accelwatch.fleet.api.query.names import condition as hub_condition
from accelwatch.fleet.documents.fleet import DeviceRow
from accelwatch.fleet.names import GONE, NODE_SEVERITY, SHOWN_STATES, NodeState
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.wire import DeviceSlot
from accelwatch.schema.device import UP
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import OWNER_NAMES, Owner
from accelwatch.schema.status.device_status import BAD, WORST_FIRST, effective_state, severity
from accelwatch.tui.fleet import filters
from support.dashboards.fleets import slot_of

CONDITIONS = [
    *(f'{name} == "ml"' for name in OWNER_NAMES),
    *(f'state == "{state}"' for state in SHOWN_STATES),
    *(f'node_state == "{state}"' for state in NodeState),
    'node == "n1" and rack == "r1" and host == "n1"',
]


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_filter_that_the_hub_takes_the_dashboard_takes(text: str) -> None:
    hub_condition(text, ["rack"])
    assert filters.condition(text, ["rack"]) == text


@pytest.mark.parametrize("name", OWNER_NAMES)
def test_each_part_of_an_owner_is_a_field_of_rows_and_slots_and_a_group(name: str) -> None:
    fields = {"job": "job_id"}
    assert fields.get(name, name) in Owner.__struct_fields__
    assert name in DeviceRow.__struct_fields__
    assert name in DeviceSlot.__struct_fields__
    check_grouping(name, [])
    assert name in grouping.choices([])
    assert grouping.by_device(name, [])
    assert grouping.owned(name, [])
    slot = msgspec.structs.replace(slot_of(0, "n1", 0, "r1"), **{name: "special"})
    group = grouping.group_of(name, [])
    assert group is not None
    assert group(slot) == "special"
    assert filters._searched_texts(slot).count("special") == 1


def test_every_state_of_a_fleet_has_its_rank_among_the_worst() -> None:
    assert {*SHOWN_STATES, "failed", "hot"} == set(WORST_FIRST)
    assert sorted(WORST_FIRST, key=severity, reverse=True) == list(WORST_FIRST)
    assert set(NODE_SEVERITY) == set(NodeState)
    assert set(GONE.values()) <= {word for word in WORST_FIRST if severity(word) >= BAD}
    assert severity("of a later version") == severity("degraded") < BAD


@pytest.mark.parametrize("state", SHOWN_STATES)
@pytest.mark.parametrize("health", Health)
def test_the_health_of_a_device_that_answers_says_more_than_its_state(
    state: str, health: Health
) -> None:
    ill = health in (Health.DEGRADED, Health.FAILED)
    assert effective_state(state, health) == (health if ill and state in UP else state)
