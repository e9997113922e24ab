"""The states of sessions over time: scheduled, started, ended, or waiting for an agent that is gone."""

from accelwatch.base.clock import Clock
from accelwatch_lab.cluster.backendai.api_server.pace import Pace
from accelwatch_lab.cluster.backendai.api_server.release import Release
from accelwatch_lab.cluster.backendai.api_server.state.agents import Agents
from accelwatch_lab.cluster.backendai.api_server.state.scheduling import placement
from accelwatch_lab.cluster.backendai.api_server.state.sessions import (
    CLOSED,
    STAGES,
    Session,
    Sessions,
)


class Lifecycle:
    """Carries all sessions on to now, at each request."""

    def __init__(
        self, clock: Clock, release: Release, pace: Pace, agents: Agents, sessions: Sessions
    ) -> None:
        self._clock = clock
        self._release = release
        self._pace = pace
        self._agents = agents
        self._sessions = sessions

    def settle(self) -> float:
        """Let happen what is due, in its order; Unix seconds of now."""
        now = self._clock.wall()
        self._agents.notice(now, self._pace.lost_after_s)
        while (session := self._next(now)) is not None:
            assert session.due is not None
            self._go_on(session, session.due)
        return now

    def _next(self, now: float) -> Session | None:
        due = [
            (session.due, number, session)
            for number, session in enumerate(self._sessions.open())
            if session.due is not None and session.due <= now
        ]
        return min(due)[2] if due else None

    def _go_on(self, session: Session, at: float) -> None:
        match session.status:
            case "PENDING":
                self._schedule(session, at)
            case "TERMINATING":
                session.become("TERMINATED", at)
            case "RUNNING":
                # Only a batch session ends of itself: its time is over.
                session.result = "FAILURE"
                self.start_termination(session, at, "task-timeout")
            case status:
                self._start(session, STAGES[STAGES.index(status) + 1], at)

    def _schedule(self, session: Session, at: float) -> None:
        chosen = placement(session, self._agents, self._sessions, self._release)
        if chosen is None:
            session.due = at + self._pace.retry_s
            if not self._release.has_v2:
                session.status_info = "Unavailable : No agents can be allocated at this time."
            return
        for kernel, agent in zip(session.kernels, chosen, strict=True):
            kernel.agent = agent
        session.scheduled_at = at
        session.become("SCHEDULED", at, None if self._release.has_v2 else "scheduled")
        session.due = at + self._pace.stage_s

    def _start(self, session: Session, status: str, at: float) -> None:
        if not self._all_run(session):
            # The manager waits for an agent that does not answer.
            session.due = None
            return
        session.become(status, at)
        if status != "RUNNING":
            session.due = at + self._pace.stage_s
            return
        timeout_s = session.batch_timeout_s if session.is_batch else None
        session.due = None if timeout_s is None else at + timeout_s

    def start_termination(self, session: Session, at: float, why: str) -> None:
        """Have its agents end it; it hangs until one that does not answer comes back."""
        session.become("TERMINATING", at, why)
        session.due = at + self._pace.end_s if self._all_run(session) else None

    def end(self, session: Session, forced: bool) -> str:
        """As a caller wants it: what the manager answers; empty where nothing is to be done."""
        at = self._clock.wall()
        forced_now = forced and self._release.forces_termination
        if session.status in CLOSED or (session.status == "TERMINATING" and not forced_now):
            return ""
        if session.status == "PENDING":
            session.become("CANCELLED", at, "user-requested")
            return "cancelled"
        if forced_now:
            # The rows alone: nobody has called the agents.
            session.become("TERMINATED", at, "force-terminated")
            return "terminated"
        if session.is_batch:
            session.result = "FAILURE"
        self.start_termination(session, at, "force-terminated" if forced else "user-requested")
        return "terminated"

    def finish(self, session: Session, succeeded: bool) -> None:
        """The command of a batch session has ended."""
        session.result = "SUCCESS" if succeeded else "FAILURE"
        why = "task-finished" if succeeded else "task-failed"
        info = why if self._release.has_v2 else "scheduled"
        self.start_termination(session, self._clock.wall(), info)

    def agent_is_back(self, agent_id: str) -> None:
        """What waited for it goes on."""
        at = self._clock.wall()
        for session in self._sessions.on(agent_id):
            if session.due is None and session.status != "RUNNING" and self._all_run(session):
                ends = session.status == "TERMINATING"
                session.due = at + (self._pace.end_s if ends else self._pace.stage_s)

    def _all_run(self, session: Session) -> bool:
        return all(self._agents.rows[name].runs for name in session.agent_ids)
