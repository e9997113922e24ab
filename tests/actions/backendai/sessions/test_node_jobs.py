"""Which jobs are on which agents."""

from accelwatch_backendai.sessions.node_jobs import jobs_by_agent
from accelwatch_backendai.settings.session_rules import Leave, SessionRule
from support.backendai.moving import FIRST, KEY, SECOND, session, successor


def test_each_agent_has_the_jobs_of_its_kernels() -> None:
    shown = jobs_by_agent("cluster", [session(agents=("gpu1", "gpu2"), user="Ada")], [])
    assert set(shown) == {"gpu1", "gpu2"}
    assert shown["gpu1"].jobs == (KEY,)
    assert shown["gpu1"].restartable == {KEY}
    assert shown["gpu1"].owners == {FIRST: "Ada"}


def test_a_session_that_replaces_another_is_the_same_job() -> None:
    assert jobs_by_agent("cluster", [successor(("gpu3",))], [])["gpu3"].jobs == (KEY,)


def test_one_that_waits_or_whose_kernel_has_ended_is_on_no_agent() -> None:
    waits = session(agents=(), status="PENDING")
    partly = session(SECOND, ("gpu1",), status="TERMINATING", kernels="TERMINATED")
    assert jobs_by_agent("cluster", [waits, partly], []) == {}


def test_what_the_rules_leave_is_shown_but_not_restarted() -> None:
    stays = [SessionRule(names=["train"], leave=Leave.STAY)]
    for sessions, rules in (([session()], stays), ([session(type="interactive")], [])):
        shown = jobs_by_agent("cluster", sessions, rules)["gpu1"]
        assert (shown.jobs, shown.restartable) == ((KEY,), frozenset())
