"""What is read of a job that is moved, cancelled, followed or restored."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.action.intent import Intent, IntentKind, JobKey
from accelwatch.action.kit.effects import Reading
from accelwatch.action.observed import JobObservation, JobState
from accelwatch.api_client.backendai.errors import BackendAiRefusedError
from accelwatch_backendai.api.agents import Agent, agents_by_id
from accelwatch_backendai.api.answers import is_final, unavailable_if_unread
from accelwatch_backendai.api.dependents import dependents_of
from accelwatch_backendai.api.sessions import (
    OwnedSession,
    Session,
    live_sessions,
    session_by_id,
    sessions_of,
)
from accelwatch_backendai.api.tags import first_of
from accelwatch_backendai.api.waiting import why_pending
from accelwatch_backendai.observed_context import AGENT, OFF, agent_of
from accelwatch_backendai.rows import Access
from accelwatch_backendai.sessions.dependents import dependents_text
from accelwatch_backendai.sessions.job_view import (
    AGENTS,
    DEPENDENTS,
    SESSIONS,
    UNSPECIFIED,
    WAITS,
    agents_of,
    unfinished,
)
from accelwatch_backendai.sessions.lineage import Lineage, lineage_of
from accelwatch_backendai.sessions.observed_job import observed_job
from accelwatch_backendai.sessions.states import state_of
from accelwatch_backendai.settings.checkpoint_patterns import of_project

# Where the job may begin again from a checkpoint.
_WITH_CHECKPOINTS = (IntentKind.MOVE_JOB, IntentKind.FOLLOW_JOB)
# Where it may be created anew, which needs its specification.
_CREATES = (IntentKind.MOVE_JOB, IntentKind.RESTORE_JOB)

# Where it may be ended, on which others may depend.
_ENDS = (IntentKind.MOVE_JOB, IntentKind.CANCEL_JOB)
# Of a project: no part of a path that leads elsewhere.
_NO_FOLDER = ("", ".", "..")


async def read_job(access: Access, intent: Intent, own: Mapping[str, str]) -> Reading:
    """The sessions of a job, their agents, and the power of those. Raises ActionUnavailableError."""
    if intent.job is None:
        return Reading()
    with unavailable_if_unread():
        lineage = await _lineage(access, intent, intent.job)
        agents = await _agents(access, lineage, agent_of(own.get(AGENT, "")))
        waits = await _waits(access, lineage.head)
        unspecified = await _unspecified(access, intent, lineage.head)
        dependents = await _dependents(access, intent, lineage.head)
    off = await _without_power(access, lineage, agents)
    job = observed_job(intent.job, lineage, waits, requeueable=not unspecified)
    if intent.kind in _WITH_CHECKPOINTS:
        job = await with_checkpoint(access, job, lineage.head)
    return Reading(
        own={
            SESSIONS: msgspec.json.encode(lineage.sessions).decode(),
            AGENTS: msgspec.json.encode(agents).decode(),
            OFF: ",".join(sorted(off)),
            UNSPECIFIED: unspecified,
            WAITS: waits,
            DEPENDENTS: dependents,
        },
        job=job,
    )


async def _lineage(access: Access, intent: Intent, key: JobKey) -> Lineage:
    """By name and owner of the first session, or, where that was deleted, of one that runs."""
    origin = await session_by_id(access.client, key.id) or await _descendant(access, intent, key)
    if origin is None:
        return Lineage()
    others = await sessions_of(access.client, origin.owner, origin.session.name)
    return lineage_of(key.id, (origin.session, *others))


async def _descendant(access: Access, intent: Intent, key: JobKey) -> OwnedSession | None:
    here = await live_sessions(access.client, intent.node)
    return next((each for each in here if first_of(each.session) == key.id), None)


async def _agents(access: Access, lineage: Lineage, own: Agent | None) -> list[Agent]:
    """Those of the job; the intent's own is `own`, as the observation shows it.

    Read a second time it might be LOST by now: a move that is refused for that is given up for good by
    a reader who sees in the same observation that the agent answers.
    """
    names = [name for name in _agents_of(lineage) if own is None or name != own.id]
    others = await agents_by_id(access.client, names)
    return [*others] if own is None else [*others, own]


def _agents_of(lineage: Lineage) -> list[str]:
    """Where its newest two sessions are or were: the one that ends, and its successor."""
    return sorted({agent for session in lineage.sessions[-2:] for agent in agents_of(session)})


async def _waits(access: Access, head: Session | None) -> str:
    if head is None or state_of(head.status) is not JobState.WAITING:
        return ""
    return await why_pending(access.client, await access.release.current(), head)


async def _unspecified(access: Access, intent: Intent, head: Session | None) -> str:
    """Why the newest session could not be created anew; empty where it could, or need not now."""
    if head is None or intent.kind not in _CREATES or not _may_be_next(intent, head):
        return ""
    try:
        return await access.specifications.missing(head)
    except BackendAiRefusedError as error:
        # Of a session that has ended already, a refusal is the end of its move.
        if not is_final(error):
            raise
        return str(error)


async def _dependents(access: Access, intent: Intent, head: Session | None) -> str:
    """Who depends on the newest session; empty where nobody does, or it is not ended next."""
    if head is None or intent.kind not in _ENDS or not _may_be_terminated(intent, head):
        return ""
    release = await access.release.current()
    return dependents_text(await dependents_of(access.client, release, head.id))


def _may_be_terminated(intent: Intent, head: Session) -> bool:
    is_open = state_of(head.status) in (JobState.RUNNING, JobState.WAITING)
    return is_open and (intent.kind is IntentKind.CANCEL_JOB or _may_be_next(intent, head))


def _may_be_next(intent: Intent, head: Session) -> bool:
    """Whether it would be ended or created anew next: only then it is worth two requests."""
    state = state_of(head.status)
    leaves = state is JobState.RUNNING and not set(agents_of(head)).isdisjoint(intent.avoided)
    return leaves or state is JobState.FINISHED


async def _without_power(
    access: Access, lineage: Lineage, agents: Sequence[Agent]
) -> frozenset[str]:
    """Agents that the site's command says to be off, of those on which something may still run."""
    answering = {agent.id for agent in agents if agent.alive}
    requested = sorted(
        {
            kernel.agent
            for session in lineage.sessions[-2:]
            for kernel in unfinished(session)
            if kernel.agent not in answering
        }
    )
    off = await asyncio.gather(*map(access.power.is_off, requested))
    return frozenset(agent for agent, is_off in zip(requested, off, strict=True) if is_off)


async def with_checkpoint(
    access: Access, job: JobObservation, head: Session | None
) -> JobObservation:
    """A job with what a search for its checkpoints finds, by the name of its newest session."""
    options = access.options.checkpoints
    if options is None or head is None or "/" in head.project or head.project in _NO_FOLDER:
        return job
    searched = of_project(options, head.project)
    output = await access.checkpoints.output(searched.search(head.name))
    if not output:
        return job
    checkpoint, _ = searched.read(output)
    step = searched.step_of(head.name, checkpoint)
    return msgspec.structs.replace(job, checkpoint=checkpoint, step=step)
