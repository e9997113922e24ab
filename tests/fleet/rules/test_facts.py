"""Whose job is on a node: as its agent reports it, else as the scheduler shows it."""

from collections.abc import Iterator, Mapping

import pytest

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.fleet.rules.facts import facts_of, with_scheduled
from accelwatch.schema.snapshot import Owner
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

NODE = Entity(scope=Scope.NODE, node="a")
FIRST = Entity(scope=Scope.DEVICE, node="a", device=machines.device(0).id)
SHOWN = {"17": "ada", "18": ""}


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench("a")
    yield bench
    bench.fleet.close()


def set_owners(bench: Bench, *owners: Owner) -> None:
    """The agent reports two devices, of which the second has these owners."""
    bench.report("a", machines.view(0), machines.view(1, owners=owners))
    bench.fleet.table.refresh(bench.fleet.nodes.values(), (), bench.clock.monotonic())


def named(
    bench: Bench, entity: Entity, shown: Mapping[str, str] = SHOWN
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    facts = with_scheduled(bench.fleet, entity, facts_of(bench.fleet, entity), shown)
    return facts.jobs, facts.users


@pytest.mark.parametrize("entity", [NODE, FIRST])
def test_where_the_agent_does_not_know_the_scheduler_does(bench: Bench, entity: Entity) -> None:
    set_owners(bench)
    jobs, users = named(bench, entity)
    assert jobs == ("17", "18")
    assert users[0] == "ada"


def test_what_the_agent_reports_of_jobs_counts(bench: Bench) -> None:
    set_owners(bench, Owner(kind="job", scheduler="slurm", job_id="9", user="eve"))
    assert named(bench, NODE)[0] == ("9",)
    assert "eve" in named(bench, NODE)[1]


def test_a_device_without_a_job_has_none_where_the_agent_reports_others(bench: Bench) -> None:
    set_owners(bench, Owner(kind="job", scheduler="slurm", job_id="17", user="ada"))
    assert named(bench, FIRST)[0] == ()


def test_where_no_scheduler_shows_anything_nothing_is_made_up(bench: Bench) -> None:
    set_owners(bench)
    before = facts_of(bench.fleet, NODE)
    assert with_scheduled(bench.fleet, NODE, before, {}) == before
