"""From a fault to a node that works again: real decisions, real pursuits, a fake scheduler, no clock."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.incidents.journal.audit import audit_journal
from accelwatch.alerting.incidents.journal.opening import read_journal
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.remediation.execution.journaling import restored
from accelwatch.remediation.policy.state.changes import Command, Verb
from accelwatch.remediation.policy.state.world import World
from remediation.crash import run_until_killed
from remediation.fake_scheduler import IRREVERSIBLE
from remediation.fleet_watch import FleetWatch
from remediation.virtual_time import START

# After the engine has looked around.
FAULT_S = 300.0
WHOLE_WAY = ["drain", "exclude", "requeue", "start", "reboot", "undrain", "restore"]


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[FleetWatch]:
    watch = FleetWatch(tmp_path)
    watch.bench.world.add_job("17", "n03", exclude="n05")
    watch.bench.at(FAULT_S, lambda: watch.fault("n03"))
    yield watch
    watch.bench.loop.close()


def effects(watch: FleetWatch) -> list[str]:
    return [one.kind for one in watch.bench.world.effects]


def test_a_node_is_taken_out_its_job_runs_on_and_it_comes_back(watch: FleetWatch) -> None:
    watch.run(FAULT_S + 300.0)
    assert sorted(effects(watch)) == sorted(WHOLE_WAY)
    assert effects(watch)[:4] == WHOLE_WAY[:4]
    assert effects(watch)[-2:] == ["restore", "undrain"], (
        "a job that starts at once has its own lists"
    )
    job = watch.bench.world.jobs["17"]
    assert (job.nodes, job.restarts, job.exclude) == (("n00",), 1, "n05")
    assert watch.held() == []
    assert watch.engine.state.remedies == {}
    assert watch.engine.problems == ()


def test_one_thing_follows_upon_the_other_at_once(watch: FleetWatch) -> None:
    watch.run(FAULT_S + 300.0)
    started_at = watch.bench.clock.wall() - FAULT_S - 300.0
    times = {one.kind: one.time - started_at - FAULT_S for one in watch.bench.world.effects}
    assert times["drain"] < 0.1
    assert times["requeue"] < 1.0
    assert times["start"] < 4.0


def test_what_is_known_is_what_the_journal_says(watch: FleetWatch) -> None:
    for seconds in (FAULT_S + 4.0, 30.0, 300.0):
        watch.run(seconds)
        known = msgspec.structs.replace(watch.engine.state, world=World())
        assert restored(watch.bench.journal.states()) == known
        watch.engine = watch.new()


def test_the_journal_of_the_whole_way_is_well_and_can_be_made_again(
    watch: FleetWatch, tmp_path: Path
) -> None:
    watch.run(FAULT_S + 30.0)
    file = open_file(tmp_path / FILE)
    file.write([Batch(time=START, records=watch.bench.journal.written)])
    states = file.load(START).states
    assert restored(states) == restored(watch.bench.journal.states())
    assert audit_journal(read_journal(tmp_path), START).is_well
    file.rebuild()
    assert file.load(START).states == states
    file.close()


@pytest.mark.parametrize("number", range(0, 44, 3))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_at_any_commit_does_no_harm(watch: FleetWatch, when: str, number: int) -> None:
    run_until_killed(watch.bench, lambda: watch.run(FAULT_S + 30.0), when, number)
    watch.engine = watch.new()
    watch.run(900.0)
    done = Counter((one.kind, one.target) for one in watch.bench.world.effects if one.operation)
    assert all(count == 1 for (kind, _), count in done.items() if kind in IRREVERSIBLE)
    job = watch.bench.world.jobs["17"]
    assert (job.restarts, job.exclude, "n03" in job.nodes) == (1, "n05", False)
    assert watch.held() == []
    assert watch.engine.state.remedies == {}
    assert not any(one.is_open for one in watch.bench.operations())


def test_nothing_is_done_while_a_person_has_stopped_it(watch: FleetWatch) -> None:
    stop = Command(verb=Verb.STOP, by="anna", at=0.0)
    watch.bench.at(200.0, lambda: watch.engine.submit_changes([stop]))
    watch.run(FAULT_S + 600.0)
    assert effects(watch) == []
    start = Command(verb=Verb.START, by="anna", at=0.0)
    watch.bench.at(1.0, lambda: watch.engine.submit_changes([start]))
    watch.engine = watch.new()
    watch.run(900.0)
    assert sorted(effects(watch)) == sorted(WHOLE_WAY)


def test_a_controller_that_hangs_in_the_middle_loses_nothing(watch: FleetWatch) -> None:
    def hang() -> None:
        watch.bench.world.hung_until = watch.bench.clock.wall() + 30.0

    watch.bench.at(FAULT_S + 0.3, hang)
    watch.run(FAULT_S + 600.0)
    assert sorted(effects(watch)) == sorted(WHOLE_WAY)


def test_an_admin_who_drains_first_keeps_the_node(watch: FleetWatch) -> None:
    watch.bench.at(FAULT_S - 20.0, lambda: watch.bench.world.admin_drains("n03"))
    watch.run(FAULT_S + 600.0)
    assert watch.bench.world.nodes["n03"].reason == "swap the riser"
    assert "drain" not in effects(watch)
    assert "requeue" not in effects(watch)


def test_an_admin_who_takes_the_node_back_keeps_it(watch: FleetWatch) -> None:
    watch.bench.at(FAULT_S + 5.0, lambda: watch.bench.world.admin_resumes("n03"))
    watch.run(FAULT_S + 900.0)
    assert Counter(effects(watch))["drain"] == 1
    assert watch.held() == []
