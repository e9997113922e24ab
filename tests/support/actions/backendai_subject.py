"""Backend.AI's action, as the contract is asked of it: its situations and its steps."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from accelwatch.action.contract import Action, ActionContext
from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.observed import Observed
from accelwatch.action.step import Step
from accelwatch.base.clock import ManualClock
from accelwatch_backendai import BackendAiAction
from accelwatch_backendai.api.agents import Agent
from accelwatch_backendai.observed_context import AGENT, ANNOTATION, SPARE, text_of
from accelwatch_backendai.tables import effects_of
from support.backendai.moving import (
    FIRST,
    OPTIONS,
    SECOND,
    after_end,
    ended,
    intent,
    job_context,
    session,
    successor,
)

# Of the contract's tests.
NOW = 1795355600.0
# When things were asked for, and until when.
_TIMES = {"asked": NOW - 600.0, "deadline": NOW + 600.0}
_MARK = OwnerAnnotation("inc-1", 3)
_OTHER = OwnerAnnotation("inc-9", 1)
_CAPACITY = {"cpu": 64.0, "mem": 1000.0, "cuda.device": 8.0}
_OF_JOBS = frozenset(
    {IntentKind.MOVE_JOB, IntentKind.CANCEL_JOB, IntentKind.FOLLOW_JOB, IntentKind.RESTORE_JOB}
)


def backendai(folder: Path | None) -> Action:
    """Nobody listens at the discard port of this machine."""
    power = f"{folder or '/nonexistent'}/power"
    options: dict[str, object] = {
        "server": {
            "url": "http://127.0.0.1:9",
            "access_key": "AKIA",
            "secret_key_file": _secret(folder),
        },
        "groups": {"default": {"spares": "spare"}},
        "power_off": [power, "off", "{node}"],
        "power_state": [power, "state", "{node}"],
        "power_timeout_s": 0.2,
    }
    context = ActionContext(name="cluster", options=options, clock=ManualClock(wall=NOW))
    return BackendAiAction(context)


def _secret(folder: Path | None) -> str:
    if folder is None:
        return "/nonexistent/secret"
    file = folder / "secret"
    file.touch(mode=0o600)
    file.write_text("key\n")
    return str(file)


def _agent(id: str = "gpu1", **more: object) -> Agent:
    values: Mapping[str, object] = {
        "id": id,
        "status": "ALIVE",
        "schedulable": True,
        "resource_group": "default",
        "capacity": _CAPACITY,
        **more,
    }
    return msgspec.convert(values, Agent)


_AGENTS: Sequence[tuple[Agent | None, OwnerAnnotation | None]] = (
    (None, None),
    (_agent(), None),
    (_agent(status="LOST"), None),
    (_agent(status="RESTARTING"), None),
    (_agent(schedulable=False), None),
    (_agent(schedulable=False), _MARK),
    (_agent(schedulable=False), _OTHER),
    (_agent(schedulable=False, status="LOST"), _MARK),
    (_agent(resource_group="other"), None),
)
_SPARES = (
    None,
    _agent("s1", resource_group="spare"),
    _agent("s1"),
    _agent("s1", resource_group="other"),
    _agent("s1", resource_group="spare", status="LOST"),
    _agent("s1", resource_group="spare", schedulable=False),
)


def _own(
    agent: Agent | None, annotation: OwnerAnnotation | None, spare: Agent | None
) -> dict[str, str]:
    return {AGENT: text_of(agent), ANNOTATION: text_of(annotation), SPARE: text_of(spare)}


def _contexts() -> Sequence[tuple[bool, Observed]]:
    """Whether the session was ended for the intent, and how its job is."""
    two = ("gpu1", "gpu2")
    terminating = session(agents=two, status="TERMINATING", status_info="user-requested")
    contexts = (
        (False, job_context()),
        (False, job_context(session(agents=two))),
        (False, job_context(session(agents=two), agents={"gpu1": "LOST"})),
        (False, job_context(session(agents=two, type="interactive"))),
        (False, job_context(session(agents=two), unspecified="nobody knows how")),
        (True, job_context(terminating)),
        (True, job_context(terminating, agents={"gpu1": "LOST"})),
        (True, job_context(terminating, agents={"gpu1": "LOST"}, off=("gpu1",))),
        (True, job_context(ended(two))),
        (False, job_context(ended(two))),
        (True, job_context(ended(two), successor((), status="PENDING"))),
        (True, job_context(ended(two), successor())),
        (True, job_context(ended(two), successor(("gpu1",)))),
        (True, job_context(session(agents=two), successor())),
    )
    return [
        (is_ours, Observed(time=NOW, job=context.job, own=context.own))
        for is_ours, context in contexts
    ]


def situations() -> Sequence[tuple[Intent, Observed]]:
    """Intents about jobs with each job, the others with each agent and spare."""
    about_jobs = [
        ((after_end if is_ours else intent)(kind=kind, spare="s1", **_TIMES), observed)
        for kind in sorted(_OF_JOBS)
        for is_ours, observed in _contexts()
    ]
    about_agents = [
        (intent(kind, spare=spare.id if spare else "", **_TIMES), Observed(time=NOW, own=own))
        for kind in IntentKind
        if kind not in _OF_JOBS
        for agent, annotation in _AGENTS
        for spare in (_SPARES if "spare" in kind.value else _SPARES[:1])
        for own in [_own(agent, annotation, spare)]
    ]
    return [*about_agents, *about_jobs]


def foreign() -> Sequence[tuple[Intent, Observed]]:
    """A person has taken the agent out, or uses the spare otherwise."""
    drained = _agent(schedulable=False)
    own = _own(drained, None, _agent("s1", resource_group="other"))
    kinds = (IntentKind.QUARANTINE, IntentKind.DRAW_SPARE)
    return [(intent(kind, spare="s1"), Observed(time=NOW, own=own)) for kind in kinds]


def steps() -> Sequence[Step]:
    """One of every kind."""
    arguments = {
        "agent": "gpu1",
        "node": "gpu1",
        "incident": "inc-1",
        "group": "default",
        "session": FIRST,
        "first": FIRST,
        "tag": f"accelwatch:{FIRST}:{SECOND[-12:]}",
    }
    before = {"schedulable": "true", "group": "spare"}
    return [
        Step(kind=kind, arguments=arguments, precondition=before, text=kind)
        for kind in effects_of(OPTIONS)
    ]
