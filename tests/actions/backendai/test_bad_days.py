"""Days on which something else goes wrong as well: by the engine's decisions, over the stand-in."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch_lab.cluster.backendai.api_server.faults import Fault
from accelwatch_lab.cluster.backendai.api_server.release import NEWEST
from support.backendai.fleet_watch import BAD, FAULT_S, SPARE, BackendAiWatch, written

HEAL_S = FAULT_S + 180.0
WHOLE_S = FAULT_S + 480.0
AWAY = Fault(effect="refuse", status=502, message="Bad Gateway", times=None)


@pytest.fixture(params=[NEWEST, "26.1.0"])
def watch(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BackendAiWatch]:
    rules = written(tmp_path)
    watch = BackendAiWatch(tmp_path, monkeypatch, request.param, specifications=rules)
    watch.at(FAULT_S, lambda: watch.fault(BAD))
    watch.at(HEAL_S, lambda: watch.heal(BAD))
    yield watch
    watch.close()


def writes(watch: BackendAiWatch) -> list[str]:
    """What the hub has had changed, in its order; requests of tests have no agent of ours."""
    return [operation.step.kind for operation in watch.operations() if operation.report is not None]


def is_moved(watch: BackendAiWatch, name: str = "train") -> bool:
    """Whether a session was created anew once, away from the bad agent."""
    sessions = watch.sessions(name)
    if [session.status for session in sessions] != ["TERMINATED", "RUNNING"]:
        return False
    return BAD not in sessions[1].agent_ids


@pytest.mark.parametrize("after_s", [-30.0, 0.1, 0.6, 2.0])
def test_a_manager_that_is_away_in_the_middle_is_waited_for(
    watch: BackendAiWatch, after_s: float
) -> None:
    watch.create("train", 3)
    watch.at(FAULT_S + after_s, lambda: watch.manager.faults.add(AWAY))
    watch.at(FAULT_S + after_s + 60.0, watch.manager.faults.clear)
    watch.run(WHOLE_S)
    assert is_moved(watch)
    assert watch.manager.agents.rows[BAD].schedulable


def test_a_manager_that_hangs_in_the_middle_is_waited_for(watch: BackendAiWatch) -> None:
    watch.create("train", 3)
    hang = Fault(effect="hang", times=None)
    watch.at(FAULT_S + 0.3, lambda: watch.manager.faults.add(hang))
    watch.at(FAULT_S + 60.0, watch.manager.faults.clear)
    watch.run(WHOLE_S)
    assert is_moved(watch)


def test_a_refusal_with_200_is_a_refusal(watch: BackendAiWatch) -> None:
    watch.create("train", 3)
    no = Fault(effect="not_ok", body="modify_agent", times=None)
    watch.manager.faults.add(no)
    watch.run(HEAL_S - 10.0)
    assert watch.manager.agents.rows[BAD].schedulable
    assert [session.status for session in watch.sessions("train")] == ["RUNNING"]
    assert any("modify_agent: " in note.text for note in watch.notes)


@pytest.mark.parametrize(
    "answer",
    [
        {"data": {"modify_agent": None}, "errors": [{"message": "x", "path": ["modify_agent"]}]},
        {"data": {"modify_agent": {"ok": False, "msg": "unexpected error: connection refused"}}},
    ],
    ids=["error-of-the-field", "unexpected-error"],
)
def test_a_database_that_fails_over_is_no_refusal(
    watch: BackendAiWatch, answer: dict[str, object]
) -> None:
    watch.create("train", 3)
    failing = Fault(body="modify_agent", status=200, message=json.dumps(answer), times=None)
    watch.at(FAULT_S - 1.0, lambda: watch.manager.faults.add(failing))
    watch.at(FAULT_S + 20.0, watch.manager.faults.clear)
    watch.run(WHOLE_S)
    assert is_moved(watch)
    assert watch.manager.agents.rows[BAD].schedulable


def test_a_clock_that_is_16_minutes_off_is_reported_and_nothing_is_done(
    watch: BackendAiWatch,
) -> None:
    watch.create("train", 3)
    watch.manager_clock.ahead_s = 16 * 60.0
    watch.run(HEAL_S - 10.0)
    assert watch.manager.agents.rows[BAD].schedulable
    assert watch.operations() == []


def test_a_name_that_is_terminating_for_long_is_waited_for(watch: BackendAiWatch) -> None:
    watch.create("train", 3)
    watch.manager.pace.end_s = 90.0
    watch.run(WHOLE_S)
    assert is_moved(watch)
    assert writes(watch).count("create_session") == 1


def test_an_agent_that_a_person_took_out_is_left_to_him(watch: BackendAiWatch) -> None:
    watch.create("train", 3)
    watch.at(FAULT_S - 20.0, lambda: watch.change_agent(BAD, schedulable=False))
    watch.run(WHOLE_S)
    assert not watch.manager.agents.rows[BAD].schedulable
    assert "unschedule" not in writes(watch)
    assert "schedule" not in writes(watch)


def test_an_agent_that_a_person_moves_meanwhile_stays_where_he_put_it(
    watch: BackendAiWatch,
) -> None:
    watch.at(FAULT_S + 5.0, lambda: watch.change_agent(BAD, group="quarantine"))
    watch.run(WHOLE_S)
    agent = watch.manager.agents.rows[BAD]
    assert (agent.group, agent.schedulable) == ("quarantine", True)


def test_a_spare_of_another_group_is_not_drawn(watch: BackendAiWatch) -> None:
    watch.create("train", 3)
    watch.change_agent(SPARE, group="quarantine")
    watch.run(WHOLE_S)
    assert watch.manager.agents.rows[SPARE].group == "quarantine"
    assert "draw" not in writes(watch)


@pytest.mark.parametrize(
    ("dead_s", "status"),
    [
        # By then the manager says LOST: its end is not tried.
        (60.0, "RUNNING"),
        # It says ALIVE for 37 s: the end hangs, and is not forced.
        (1.0, "TERMINATING"),
    ],
)
def test_a_dead_agent_may_compute_on_so_its_session_is_not_started_twice(
    watch: BackendAiWatch, dead_s: float, status: str
) -> None:
    watch.create("train", 2)
    watch.at(FAULT_S - dead_s, lambda: watch.manager.kill_agent(BAD))
    watch.run(WHOLE_S)
    assert not watch.manager.agents.rows[BAD].schedulable
    (session,) = watch.sessions("train")
    assert BAD in session.agent_ids
    assert session.status == status


def test_interactive_sessions_stay(watch: BackendAiWatch) -> None:
    body = {"type": "interactive", "startupCommand": None, "batch_timeout": None}
    watch.create("notebook", 3, **body)
    watch.run(WHOLE_S)
    assert [session.status for session in watch.sessions("notebook")] == ["RUNNING"]
    assert "end_session" not in writes(watch)
