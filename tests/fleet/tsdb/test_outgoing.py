"""What a hub gives others of a node: its labels, and whether it answers."""

from typing import Any

import msgspec
import pytest

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.target import targets_of
from accelwatch.fleet.tsdb.remote_write.outgoing import Outgoing, hub_labels, node_labels
from accelwatch.schema.snapshot import BackendState
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines


def labels(bench: Bench, node: str, **static: str) -> dict[str, str]:
    return node_labels(bench.fleet.nodes[node], static)


def about_node(bench: Bench, node: str) -> dict[tuple[str, ...], Any]:
    """What is said of the node itself."""
    owned = Outgoing("default", frozenset()).of(bench.fleet, bench.fleet.nodes[node])
    return {series: value for one in owned if not one.labels for series, value in one.samples}


def test_a_node_has_the_job_and_instance_of_a_scrape() -> None:
    assert labels(Bench("n01"), "n01") == {
        "job": "accelwatch",
        "instance": "n01:9877",
        "node": "n01",
    }


@pytest.mark.parametrize("name", ["job", "instance"])
def test_a_targets_own_label_and_a_static_one_win(name: str) -> None:
    bench = Bench("n01")
    assert labels(bench, "n01", **{name: "standing"})[name] == "standing"
    bench.fleet.set_targets(targets_of(["n01"], {name: "of the target"}))
    assert labels(bench, "n01", **{name: "standing"})[name] == "of the target"


def test_a_target_of_a_store_keeps_the_names_that_it_has_there() -> None:
    bench = Bench("n01")
    (target,) = bench.targets.values()
    stored = msgspec.structs.replace(target, job="gpus", instance="10.0.0.1:9400")
    bench.fleet.set_targets([stored])
    found = labels(bench, "n01")
    assert (found["job"], found["instance"]) == ("gpus", "10.0.0.1:9400")


def test_our_agent_names_a_node_that_has_other_exporters_too() -> None:
    bench = Bench("n01")
    both = targets_of(["n01:9100", "n01:9877"])
    bench.fleet.set_targets(both)
    assert labels(bench, "n01")["instance"] == "n01:9100"
    bench.targets = {"n01": both[1]}
    bench.report("n01", machines.view(0))
    assert labels(bench, "n01")["instance"] == "n01:9877"


def test_a_node_without_targets_is_named_by_itself() -> None:
    bench = Bench("n01")
    bench.report("n01", machines.view(0))
    bench.fleet.set_targets([])
    assert labels(bench, "n01")["instance"] == "n01"


def test_up_follows_whether_a_node_answers() -> None:
    bench = Bench("n01")
    assert about_node(bench, "n01") == {}, "it has only just been asked"
    bench.fleet.fail(bench.targets["n01"].key, TargetFault(Reason.CONNECT, "refused"))
    assert about_node(bench, "n01") == {("up",): 0}
    bench.report("n01", machines.view(0))
    assert about_node(bench, "n01")["up",] == 1
    bench.clock.advance(60)
    assert about_node(bench, "n01") == {("up",): 0}


@pytest.mark.parametrize(
    ("state", "works"),
    [(BackendState.OK, 1), (BackendState.FAILED, 0), (BackendState.UNAVAILABLE, 0)],
)
def test_collectors_are_reported_by_their_state(state: BackendState, works: int) -> None:
    bench = Bench("n01")
    bench.report("n01", machines.view(0), backends=state)
    assert about_node(bench, "n01")["collector_up", "nvidia"] == works


def test_a_collector_with_nothing_to_read_is_not_down() -> None:
    bench = Bench("n01")
    bench.report("n01", machines.view(0), backends=BackendState.ABSENT)
    assert ("collector_up", "nvidia") not in about_node(bench, "n01")


def test_a_hub_names_itself_unless_configured_otherwise() -> None:
    assert hub_labels({})["job"] == "accelwatch-hub"
    assert hub_labels({})["instance"]
    assert hub_labels({"job": "pods", "instance": "pod-1"}) == {"job": "pods", "instance": "pod-1"}
