"""Observations of a job of Backend.AI that is to leave its agents."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.api_client.backendai.server import ServerOptions
from accelwatch_backendai.api.agents import Agent
from accelwatch_backendai.api.sessions import Kernel, Session
from accelwatch_backendai.api.tags import tag_of
from accelwatch_backendai.observed_context import OFF, ObservedContext
from accelwatch_backendai.sessions.job_view import (
    AGENTS,
    DEPENDENTS,
    SESSIONS,
    TERMINATED,
    UNSPECIFIED,
    WAITS,
)
from accelwatch_backendai.sessions.lineage import lineage_of
from accelwatch_backendai.sessions.observed_job import observed_job
from accelwatch_backendai.settings.options import BackendAiOptions

NOW = 1_800_000_000.0
OPTIONS = BackendAiOptions(
    server=ServerOptions(url="http://manager:8091", access_key="AKIA", secret_key_file="/secret")
)
FIRST = "d2e3eb9d-67cf-49a0-80dc-f989772b84de"
SECOND = "82b37613-8088-4a6e-ad90-37546188c4eb"
KEY = JobKey("cluster", FIRST, 0.0)


def session(
    id: str = FIRST,
    agents: Sequence[str] = ("gpu1",),
    *,
    kernels: str = "",
    **more: Any,
) -> Session:
    """A batch session of a training run; `kernels` is the status of its kernels, as its own if empty."""
    status = more.setdefault("status", "RUNNING")
    values: dict[str, Any] = {
        "name": "train",
        "type": "batch",
        "project": "ml",
        "created": NOW - 900.0,
    }
    return Session(
        id=id,
        kernels=tuple(
            Kernel(
                agent=agent,
                status=kernels or status,
                role="main" if not at else "sub",
                index=at or 1,
            )
            for at, agent in enumerate(agents)
        ),
        **{**values, **more},
    )


def successor(
    agents: Sequence[str] = ("gpu3",), *, of: str = FIRST, id: str = SECOND, **more: Any
) -> Session:
    """What was created in the place of another session, by that one's id."""
    return session(id, agents, **{"tag": tag_of(FIRST, of), "created": NOW - 5.0, **more})


def ended(agents: Sequence[str] = ("gpu1",), **more: Any) -> Session:
    """The first session after it was ended at somebody's request."""
    values = {"status": "TERMINATED", "status_info": "user-requested", "result": "SUCCESS", **more}
    return session(FIRST, agents, **values)


def intent(kind: IntentKind = IntentKind.MOVE_JOB, **more: Any) -> Intent:
    """About that job, on `gpu1`, which is bad."""
    values: dict[str, Any] = {
        "mark": OwnerAnnotation("inc-1", 3),
        "node": "gpu1",
        "job": KEY,
        "bad_nodes": ("gpu1",),
        "asked": NOW - 10.0,
        "deadline": NOW + 3600.0,
        **more,
    }
    return Intent(kind=kind, **values)


def after_end(*sessions: str, kind: IntentKind = IntentKind.MOVE_JOB, **more: Any) -> Intent:
    """The same, once a step for it has ended some sessions."""
    original = {TERMINATED + session: "train on gpu1" for session in sessions or (FIRST,)}
    return intent(kind, original={**original, **more.pop("original", {})}, **more)


def job_context(
    *sessions: Session,
    agents: Mapping[str, str] = {},
    off: Sequence[str] = (),
    unspecified: str = "",
    waits: str = "",
    dependents: str = "",
    options: BackendAiOptions = OPTIONS,
    agent: Agent | None = None,
    annotation: OwnerAnnotation | None = None,
) -> ObservedContext:
    """What is seen of it; `agents` has the status of those that are not ALIVE."""
    names = {kernel.agent for each in sessions for kernel in each.kernels if kernel.agent}
    rows = [
        Agent(id=name, status=agents.get(name, "ALIVE")) for name in sorted(names | set(agents))
    ]
    lineage = lineage_of(FIRST, sessions)
    return ObservedContext(
        time=NOW,
        options=options,
        agent=agent,
        annotation=annotation,
        spare=None,
        job=observed_job(KEY, lineage, waits, requeueable=True),
        proven_dead=False,
        own={
            SESSIONS: msgspec.json.encode(lineage.sessions).decode(),
            AGENTS: msgspec.json.encode(rows).decode(),
            OFF: ",".join(off),
            UNSPECIFIED: unspecified,
            WAITS: waits,
            DEPENDENTS: dependents,
        },
    )


def agent(id: str, *, status: str = "ALIVE", schedulable: bool = True) -> Agent:
    """An agent as the manager shows it."""
    return Agent(id=id, status=status, schedulable=schedulable)
