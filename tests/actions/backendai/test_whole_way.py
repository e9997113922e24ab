"""From a fault to a free agent and an idle spare: real decisions, the real action, no clock."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.remediation.execution.operations.operation import OperationState
from support.backendai.fleet_watch import BAD, FAULT_S, SPARE, BackendAiWatch, written


@pytest.fixture(params=["26.9.6", "26.1.0"])
def watch(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BackendAiWatch]:
    older = request.param == "26.1.0"
    options = {"specifications": written(tmp_path)} if older else {}
    watch = BackendAiWatch(tmp_path, monkeypatch, request.param, **options)
    watch.create("train", 3)
    watch.at(FAULT_S, lambda: watch.fault(BAD))
    yield watch
    watch.close()


def steps(watch: BackendAiWatch) -> list[str]:
    """What was seen to be done, in order."""
    return [
        operation.step.kind
        for operation in watch.operations()
        if operation.state is OperationState.OBSERVED
    ]


def agents(watch: BackendAiWatch) -> dict[str, tuple[bool, str]]:
    """Of each whether it takes new sessions, and its group."""
    return {row.id: (row.schedulable, row.group) for row in watch.manager.agents.rows.values()}


def goes_on(watch: BackendAiWatch, seconds: float) -> None:
    """Another hub takes over what the journal knows."""
    watch.engine = watch.new()
    watch.run(seconds)


def test_a_session_runs_on_and_agent_and_spare_go_back(watch: BackendAiWatch) -> None:
    watch.run(FAULT_S + 60.0)
    assert steps(watch) == ["unschedule", "draw", "end_session", "create_session"]
    assert agents(watch)[BAD] == (False, "default")
    (session,) = watch.live("train")
    assert BAD not in [kernel.agent for kernel in session.kernels]
    watch.heal(BAD)
    goes_on(watch, 300.0)
    assert agents(watch)[BAD] == (True, "default")
    assert agents(watch)[SPARE] == (True, "default"), "a session runs there"
    watch.request("DELETE", f"/session/{session.id}?forced=true")
    goes_on(watch, 300.0)
    assert agents(watch)[SPARE] == (True, "spare")
    assert watch.engine.state.remedies == {}
    assert watch.engine.problems == ()


def test_a_person_who_takes_the_agent_out_when_it_has_come_back_keeps_it(
    watch: BackendAiWatch,
) -> None:
    watch.run(FAULT_S + 60.0)
    watch.heal(BAD)
    goes_on(watch, 300.0)
    assert agents(watch)[BAD] == (True, "default")
    watch.change_agent(BAD, schedulable=False)
    goes_on(watch, 300.0)
    assert agents(watch)[BAD] == (False, "default")
    assert steps(watch).count("schedule") == 1


def test_a_person_who_moves_the_agent_away_is_not_undone(watch: BackendAiWatch) -> None:
    watch.at(FAULT_S + 60.0, lambda: watch.change_agent(BAD, group="quarantine"))
    watch.run(FAULT_S + 90.0)
    watch.heal(BAD)
    goes_on(watch, 300.0)
    assert agents(watch)[BAD] == (True, "quarantine"), "only what was our own doing is undone"
