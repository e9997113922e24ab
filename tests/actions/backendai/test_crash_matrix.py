"""Killed at any commit of a whole remedy: no hold is forgotten, no session runs twice.

Fault, quarantine, spare, end, create, verify, release: by the engine's own decisions, over the stand-in.
The second engine has the journal and the manager, and nothing else.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.remediation.execution.operations.operation import (
    KIND,
    OperationState,
    operation_of,
)
from accelwatch_lab.cluster.backendai.api_server.faults import Fault
from accelwatch_lab.cluster.backendai.api_server.release import NEWEST
from support.backendai.fleet_watch import BAD, FAULT_S, SPARE, BackendAiWatch, written

HEAL_S = 420.0
# From fault to release: the passive check of a minute comes last. Who waits for what may still come
# waits for 15 minutes, as long as a manager takes a signed request.
WHOLE_S = 600.0
LATER_S = 1400.0
# So many batches a whole remedy writes.
COMMITS = 33
_ANSWERED = (OperationState.ANSWERED, OperationState.UNKNOWN)
RELEASES = (NEWEST, "26.1.0")
# Every write of a remedy, as its request is seen: what a step sends.
WRITES = {
    "unschedule": r'"schedulable": ?false',
    "draw": r'"scaling_group": ?"default"[^{]*}',
    "end_session": "",
    "create_session": '"reuseIfExists"',
    "schedule": r'"schedulable": ?true',
}


def staged(folder: Path, monkeypatch: pytest.MonkeyPatch, release: str) -> BackendAiWatch:
    """A session on three agents, of which one goes bad and comes back."""
    watch = BackendAiWatch(folder, monkeypatch, release, specifications=written(folder))
    watch.create("train", 3)
    watch.at(FAULT_S, lambda: watch.fault(BAD))
    watch.at(HEAL_S, lambda: watch.heal(BAD))
    return watch


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BackendAiWatch]:
    watch = staged(tmp_path, monkeypatch, NEWEST)
    yield watch
    watch.close()


@pytest.fixture(params=RELEASES)
def each(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BackendAiWatch]:
    watch = staged(tmp_path, monkeypatch, request.param)
    yield watch
    watch.close()


def assert_whole(watch: BackendAiWatch) -> None:
    """Moved once, and everything given back that is ours to give back."""
    first, second = watch.sessions("train")
    assert (first.status, second.status) == ("TERMINATED", "RUNNING")
    assert sorted(second.agent_ids) == ["i-gpu2", "i-gpu3", SPARE]
    assert second.tag.startswith(f"accelwatch:{first.id}:")
    agents = watch.manager.agents.rows.values()
    assert all(agent.schedulable for agent in agents)
    assert watch.engine.state.remedies == {}
    assert not any(operation.is_open for operation in watch.operations())


def fault_of(kind: str, **effect: object) -> Fault:
    """Something that happens to the first request of a step."""
    if kind == "end_session":
        return Fault(method="DELETE", **effect)  # type: ignore[arg-type]
    path = "/session$" if kind == "create_session" else "/admin/gql"
    return Fault(method="POST", path=path, body=WRITES[kind], **effect)  # type: ignore[arg-type]


def is_answered(kind: str) -> Callable[[Batch], bool]:
    """Whether a batch writes down what has become of a step's request, or that nobody knows."""

    def is_time(batch: Batch) -> bool:
        operations = [
            operation_of(record)
            for record in batch.records
            if isinstance(record, StateRecord) and record.kind == KIND
        ]
        return any(each.step.kind == kind and each.state in _ANSWERED for each in operations)

    return is_time


def commit(number: int) -> Callable[[Batch], bool]:
    """Whether a batch is the one with that number, from 0."""
    numbers = itertools.count()
    return lambda _: next(numbers) == number


def test_a_whole_remedy(each: BackendAiWatch) -> None:
    each.run(WHOLE_S)
    assert_whole(each)
    steps = [operation.step.kind for operation in each.operations()]
    assert steps == list(WRITES)


@pytest.mark.parametrize(
    ("when", "number"),
    [
        *(("before", number) for number in range(COMMITS)),
        *(("after", number) for number in range(0, COMMITS, 3)),
    ],
)
def test_a_kill_at_any_commit_does_no_harm(watch: BackendAiWatch, when: str, number: int) -> None:
    watch.run_until_killed(WHOLE_S, when, commit(number))
    watch.run(WHOLE_S)
    assert_whole(watch)


@pytest.mark.parametrize("kind", WRITES)
def test_an_answer_that_is_lost_does_no_harm(each: BackendAiWatch, kind: str) -> None:
    each.manager.faults.add(fault_of(kind, effect="drop_after"))
    each.run(WHOLE_S)
    assert_whole(each)


@pytest.mark.parametrize("late_s", [5.0, 25.0])
@pytest.mark.parametrize("kind", WRITES)
def test_a_request_that_comes_after_a_kill_does_no_harm(
    watch: BackendAiWatch, kind: str, late_s: float
) -> None:
    watch.manager.faults.add(fault_of(kind, effect="late", delay_s=late_s))
    assert watch.run_until_killed(WHOLE_S, "before", is_answered(kind))
    watch.run(WHOLE_S)
    assert_whole(watch)


@pytest.mark.parametrize("late_s", [300.0, 800.0])
def test_a_creation_that_comes_minutes_late_makes_no_second_session(
    each: BackendAiWatch, late_s: float
) -> None:
    each.manager.faults.add(fault_of("create_session", effect="late", delay_s=late_s))
    each.run(LATER_S)
    assert len(each.live("train")) == 1
    assert_whole(each)
