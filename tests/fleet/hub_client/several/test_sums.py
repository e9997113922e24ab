"""Totals, groups, usage, histories, metrics of several hubs added up; who speaks for a shared node."""

from typing import Any

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.documents.fleet import GroupRow
from accelwatch.fleet.hub_client.several.hub_picture import totals_of
from accelwatch.fleet.hub_client.several.merging.exposition import pages_merged
from accelwatch.fleet.hub_client.several.merging.histories import added_histories
from accelwatch.fleet.hub_client.several.merging.totals import (
    added,
    groups_added,
    groups_without,
    stale,
    stale_group,
    without,
)
from accelwatch.fleet.hub_client.several.merging.usage import usage_added
from accelwatch.fleet.hub_client.several.names.locations import is_hub_label, labelled
from accelwatch.fleet.hub_client.several.names.shared_nodes import ownership
from accelwatch.fleet.picture.model import RecentHistory
from accelwatch.fleet.wire import DeviceTotals
from accelwatch.node.usage.report import EnergyPrice, UsageReport, UsageRow
from accelwatch.node.usage.shares import Kind
from support.dashboards.fleets import fleet_view


def totals(**changes: Any) -> DeviceTotals:
    usual: dict[str, Any] = {
        "nodes_total": 1,
        "nodes": {"up": 1},
        "devices_total": 4,
        "devices": {"ok": 4},
        "health": {"ok": 4},
        "power_watts": 400.0,
        "memory_used_bytes": 10,
        "memory_size_bytes": 40,
        "utilization_ratio": 0.5,
    }
    return DeviceTotals(**{**usual, **changes})


def test_the_mean_load_counts_each_hub_by_its_devices_that_answer() -> None:
    both = added([totals(), totals(health={"ok": 12}, utilization_ratio=0.9)])
    assert both.utilization_ratio == pytest.approx((4 * 0.5 + 12 * 0.9) / 16)
    assert (both.devices_total, both.power_watts, both.memory_size_bytes) == (8, 800.0, 80)


def test_a_hub_that_knows_no_power_leaves_that_of_the_others() -> None:
    silent = totals(power_watts=None, utilization_ratio=None)
    assert added([silent, totals()]).power_watts == 400.0
    assert added([silent, totals()]).utilization_ratio == 0.5
    assert added([silent, silent]).power_watts is None
    assert added([silent, silent]).utilization_ratio is None


def test_a_device_that_is_missing_is_counted_and_does_not_answer() -> None:
    view = fleet_view(1, 2, faults={"n001/1": "missing"})
    some = totals_of(view, {node.node: node for node in view.nodes})
    assert (some.devices_total, some.devices) == (2, {"ok": 1, "missing": 1})
    assert some.health == {"ok": 1}


def test_parts_are_taken_out_of_totals_and_nothing_is_below_zero() -> None:
    both = added([totals(), totals(utilization_ratio=1.0, nodes={"down": 1})])
    left = without(both, [totals(utilization_ratio=1.0)])
    assert left.utilization_ratio == pytest.approx(0.5)
    assert (left.nodes_total, left.devices_total, left.power_watts) == (1, 4, 400.0)
    assert left.nodes == {"up": 0, "down": 1}
    less = without(totals(), [totals(), totals()])
    assert (less.nodes_total, less.devices, less.utilization_ratio) == (0, {"ok": 0}, None)
    assert less.power_watts == 0.0
    assert without(totals(), []) == totals()


def test_what_a_silent_hub_reported_is_stale_and_what_was_lost_is_lost() -> None:
    old = stale(
        totals(
            nodes={"up": 2, "slow": 1, "down": 1},
            devices={"ok": 5, "degraded": 1, "lost": 1, "missing": 1, "unreachable": 8},
        )
    )
    assert old.nodes == {"stale": 3, "down": 1}
    assert old.devices == {"stale": 6, "lost": 1, "missing": 1, "unreachable": 8}
    assert (old.health, old.power_watts, old.utilization_ratio) == ({}, None, None)


def group(name: str | None, worst: str = "ok", **changes: Any) -> GroupRow:
    fields = msgspec.structs.asdict(totals(**changes))
    return GroupRow(group=name, worst=worst, **fields)


def test_groups_of_one_name_are_one() -> None:
    rows = groups_added([group("r2"), group(None), group("r1"), group("r1", "lost")])
    assert [(row.group, row.devices_total, row.worst) for row in rows] == [
        ("r1", 8, "lost"),
        ("r2", 4, "ok"),
        (None, 4, "ok"),
    ]


def test_a_group_of_which_nothing_is_left_is_left_out() -> None:
    rows = groups_without([group("r1"), group("r2", devices_total=8)], [group("r1"), group("r2")])
    assert [(row.group, row.nodes_total, row.devices_total) for row in rows] == [("r2", 0, 4)]
    assert stale_group(group("r1")).worst == "stale"


def test_a_shared_node_is_of_the_hub_that_follows_it_best_then_of_the_first() -> None:
    hubs = ["a", "b", "c"]
    none: list[dict[str, frozenset[str]]] = [{}, {}, {}]
    states = [{"n1": "down", "n2": "up"}, {"n1": "slow", "n2": "up"}, {"n1": "stale"}]
    owner = ownership(hubs, states, none)
    assert owner.shared == {"n1": (1, 0, 2), "n2": (0, 1)}
    assert owner.hidden == (frozenset({"n1"}), frozenset({"n2"}), frozenset({"n1"}))
    assert owner.hub_label(1, "n1") == "a+b+c"
    assert "2 nodes are followed by several hubs (a, b, c)" in owner.sentence
    assert ownership(hubs, [{"n1": "up"}, {"n2": "up"}, {}], none).sentence == ""


def test_of_three_hubs_two_may_mean_one_machine_and_the_third_another() -> None:
    states = [{"n1": "up"}] * 3
    uuids = [{"n1": frozenset({"x"})}, {"n1": frozenset({"y"})}, {"n1": frozenset({"x", "z"})}]
    owner = ownership(["a", "b", "c"], states, uuids)
    assert owner.shared == {"n1@a": (0, 2)}
    assert owner.renamed == ({"n1": "n1@a"}, {"n1": "n1@b"}, {"n1": "n1@a"})
    assert owner.routes == {"n1@a": (0, "n1"), "n1@b": (1, "n1")}


def past(end: float, **values: list[float | None]) -> RecentHistory:
    return RecentHistory(step_s=60, end=end, values=values)


def test_histories_are_added_from_the_newest_step_back() -> None:
    first = past(
        600.0,
        utilization_ratio=[0.2, 0.2],
        power_watts=[1.0, 2.0],
        devices=[8, 8],
        devices_not_answering=[0, 4],
    )
    second = past(630.0, utilization_ratio=[0.8], power_watts=[10.0], devices=[4])
    both = added_histories([first, second])
    assert both is not None
    assert (both.step_s, both.end) == (60, 630.0)
    assert both.values["power_watts"] == [None, 12.0]
    assert both.values["utilization_ratio"] == [None, pytest.approx(0.5)]
    assert (
        added_histories([first, RecentHistory(step_s=15, end=600.0, values={"power_watts": [1.0]})])
        is None
    )


def test_a_hub_of_which_no_device_answers_hides_no_load_of_others() -> None:
    busy = past(600.0, utilization_ratio=[0.5], devices=[4], devices_not_answering=[0])
    down = past(600.0, utilization_ratio=[None], devices=[4], devices_not_answering=[4])
    both = added_histories([busy, down])
    assert both is not None
    assert both.values["utilization_ratio"] == [0.5]
    none = added_histories([down, down])
    assert none is not None
    assert none.values["utilization_ratio"] == [None]
    # How many answer is not known: neither is what their load comes to.
    unknown = added_histories([busy, past(600.0, utilization_ratio=[0.8])])
    assert unknown is not None
    assert unknown.values["utilization_ratio"] == [None]


def test_hubs_that_have_no_history_yet_come_to_none() -> None:
    both = added_histories([past(600.0), past(600.0)])
    assert both is not None
    assert both.values == {}


def row(user: str, **changes: Any) -> UsageRow:
    usual: dict[str, Any] = {
        "kind": Kind.USER,
        "user": user,
        "job": None,
        "devices": 1,
        "device_names": ("n1/nvidia0",),
        "device_seconds": 100.0,
        "unseen_seconds": 0.0,
        "shared_seconds": 0.0,
        "load_ratio": 0.5,
        "load_seconds": 100.0,
        "idle_seconds": 10.0,
        "memory_bytes": 4.0,
        "memory_peak_bytes": 8.0,
        "energy_kwh": 1.0,
        "energy_seconds": 100.0,
        "energy_divided_seconds": 0.0,
        "cost": 0.25,
        "counted_since": "2030-01-31T10:00:00Z",
        "began": None,
        "last_seen": "2030-01-31T11:00:00Z",
        "holds_now": False,
    }
    return UsageRow(**{**usual, **changes})


def report(*rows: UsageRow, **changes: Any) -> UsageReport:
    usual: dict[str, Any] = {
        "by": "user",
        "since": "2030-01-31T10:00:00Z",
        "until": "2030-01-31T11:00:00Z",
        "seconds": 3600.0,
        "whole": True,
        "price": EnergyPrice(per_kwh=0.25, currency="EUR"),
        "rows": rows,
        "total": row("", kind=Kind.TOTAL),
    }
    return UsageReport(**{**usual, **changes})


def test_the_use_of_a_user_at_both_hubs_is_one_row() -> None:
    lacking = {"energy_kwh": Absence.NOT_COLLECTED}
    second = row(
        "ada",
        device_names=("n2/nvidia0",),
        load_ratio=0.9,
        load_seconds=300.0,
        memory_bytes=None,
        memory_peak_bytes=80.0,
        energy_kwh=None,
        cost=None,
        absent=lacking,
        holds_now=True,
        began="2030-01-31T09:00:00Z",
    )
    both = usage_added({"a": report(row("bob"), row("ada")), "b": report(second)}, {}, "")
    ada, bob = both.rows
    assert (ada.user, bob.user) == ("ada", "bob")
    assert (ada.devices, ada.device_names) == (2, ("n1/nvidia0", "n2/nvidia0"))
    assert ada.load_ratio == pytest.approx((0.5 * 100 + 0.9 * 300) / 400)
    assert (ada.memory_bytes, ada.memory_peak_bytes) == (4.0, 80.0)
    assert (ada.energy_kwh, ada.cost, ada.absent) == (1.0, 0.25, {})
    assert (ada.holds_now, ada.began) == (True, "2030-01-31T09:00:00Z")
    assert both.total is not None
    assert both.total.device_seconds == 200.0
    assert (both.whole, both.notes) == (True, ())


def test_use_without_a_common_price_has_no_cost_and_says_so() -> None:
    dollars = report(row("bob"), price=EnergyPrice(per_kwh=1.0, currency="USD"))
    both = usage_added(
        {"a": report(row("ada")), "b": dollars}, {"c": "no answer"}, "1 node is both's"
    )
    assert both.price is None
    assert [one.cost for one in both.rows] == [None, None]
    assert both.whole is False
    assert both.notes == (
        "c is missing: no answer",
        "the hubs have different prices, so there is no cost",
        "1 node is both's; each hub has counted their use, which is in here more than once",
    )


def test_metrics_get_the_hub_and_keep_an_own_label_of_that_name() -> None:
    first = '# HELP x Some.\n# TYPE x gauge\nx 1\nx{a="b"} 2\nx{} 3\n'
    second = '# HELP x Some.\n# TYPE x gauge\nx{a="1,hub=\\"q\\"",hub="mine"} 4\n# EOF\ny 5\n'
    text = pages_merged({'p"1': first, "p2": second}, ['p"1', "p2", "p3"]).decode()
    assert text == (
        "# HELP accel_fleet_hub_up Whether the hub answered.\n"
        "# TYPE accel_fleet_hub_up gauge\n"
        'accel_fleet_hub_up{hub="p\\"1"} 1\n'
        'accel_fleet_hub_up{hub="p2"} 1\n'
        'accel_fleet_hub_up{hub="p3"} 0\n'
        "# HELP x Some.\n"
        "# TYPE x gauge\n"
        'x{hub="p\\"1"} 1\n'
        'x{hub="p\\"1",a="b"} 2\n'
        'x{hub="p\\"1"} 3\n'
        'x{hub="p2",a="1,hub=\\"q\\"",exported_hub="mine"} 4\n'
        'y{hub="p2"} 5\n'
    )


def test_metrics_over_three_levels_have_each_family_and_label_once() -> None:
    page = b"x 1\n"
    for name in ("low", "middle", "top"):
        page = pages_merged({name: page.decode()}, [name])
    assert page.decode() == (
        "# HELP accel_fleet_hub_up Whether the hub answered.\n"
        "# TYPE accel_fleet_hub_up gauge\n"
        'accel_fleet_hub_up{hub="top"} 1\n'
        'accel_fleet_hub_up{hub="top",exported_hub="middle"} 1\n'
        'accel_fleet_hub_up{hub="top",exported_hub="middle",exported_exported_hub="low"} 1\n'
        'x{hub="top",exported_hub="middle",exported_exported_hub="low"} 1\n'
    )


def test_labels_over_three_levels_are_all_kept() -> None:
    labels = {"rack": "r1", "hub": "mine"}
    for name in ("low", "top"):
        labels = labelled(labels, name)
    expected = {"hub": "top", "exported_hub": "low", "exported_exported_hub": "mine"}
    assert labels == {"rack": "r1", **expected}
    assert {name for name in labels if is_hub_label(name)} == set(expected)
