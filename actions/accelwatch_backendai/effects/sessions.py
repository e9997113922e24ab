"""Steps that end a session, and create its successor.

A session has one successor at most. Its tag, made of the ids of the first session and of the one before,
is looked for before each try; its name, which stays its user's, lets no second one run beside it until
its user gives it another. What was sent and not answered is waited for; a manager refuses what arrives
15 minutes after it was signed.
"""

import asyncio
from collections.abc import Mapping

import msgspec

from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.step import Committed, Recovery, Report, ReportStatus, StartedStep, Step
from accelwatch.api_client.backendai.client import decoded
from accelwatch.api_client.backendai.errors import BackendAiRefusedError
from accelwatch_backendai.api.answers import DONE, unavailable_if_unread
from accelwatch_backendai.api.sessions import OwnedSession, session_by_id, sessions_tagged
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.rows import Access, Effect
from accelwatch_backendai.sessions import steps
from accelwatch_backendai.sessions.job_view import SESSIONS, sessions_in
from accelwatch_backendai.sessions.states import is_finished

_TERMINATING = "TERMINATING"
# Where two requests for one name race, the database lets one of them through (26.9; 500 in 26.1).
_RACE = 409


class _Terminated(msgspec.Struct, frozen=True):
    stats: dict[str, object] = {}


class _Created(msgspec.Struct, frozen=True):
    session_id: str = msgspec.field(name="sessionId", default="")
    # False where an older session of the name was given instead.
    created: bool = False


async def _session(access: Access, session: str) -> OwnedSession:
    """Read now. Raises ChangedError, ActionUnavailableError."""
    with unavailable_if_unread():
        owned = await session_by_id(access.client, session)
    if owned is None:
        raise ChangedError(f"Backend.AI knows no session {session} any more")
    return owned


async def _end(access: Access, step: Step, operation: Committed) -> Report:
    forced = step.arguments.get("forced", "")
    # The proof is read again: a node may have been powered on since it was proposed.
    agents = [agent for agent in step.arguments.get("off", "").split(",") if agent]
    off = await asyncio.gather(*map(access.power.is_off, agents))
    for agent, is_off in zip(agents, off, strict=True):
        if not is_off:
            raise ChangedError(f"{agent} is not known to be off any more")
    owned = await _session(access, step.arguments["session"])
    if is_finished(owned.session.status):
        raise ChangedError(f"session {owned.session.id} has ended without us")
    if owned.session.status == _TERMINATING and not forced:
        raise ChangedError(f"session {owned.session.id} is terminating without us")
    query = {"owner_access_key": owned.owner, **({"forced": "true"} if forced else {})}
    path = f"/session/{owned.session.id}"
    body = await access.client.delete(path, query, withdrawn=operation.withdrawn)
    if decoded(body, _Terminated).stats or not forced:
        return DONE
    # 26.1 ends nothing by force that is TERMINATING already, and has no other way.
    text = f"the manager keeps session {owned.session.id} TERMINATING until its agents answer"
    return Report(status=ReportStatus.REFUSED, text=text)


async def _create(access: Access, step: Step, operation: Committed) -> Report:
    tag = step.arguments["tag"]
    predecessor = await _session(access, step.arguments["session"])
    if not is_finished(predecessor.session.status):
        raise ChangedError(f"session {predecessor.session.id} has not ended")
    if there := await _with_tag(access, predecessor, tag):
        return Report(status=ReportStatus.DONE, text="it is there already", reference=there)
    with unavailable_if_unread():
        specification = await access.specifications.read(predecessor.session)
    if specification is None:
        text = f"the specification of session {predecessor.session.id} is unknown"
        return Report(status=ReportStatus.REFUSED, text=text)
    try:
        body = await access.client.post(
            "/session",
            specification.body(tag=tag, owner_access_key=predecessor.owner),
            private=True,
            withdrawn=operation.withdrawn,
        )
    except BackendAiRefusedError as error:
        return await _refused(access, error, tag)
    answer = decoded(body, _Created)
    if not answer.created:
        text = f"the manager returned session {answer.session_id} instead of creating one"
        return Report(status=ReportStatus.REFUSED, text=text)
    return Report(status=ReportStatus.DONE, reference=answer.session_id)


async def _with_tag(access: Access, predecessor: OwnedSession, tag: str) -> str:
    """The id of the session that is there for a tag; empty without one."""
    with unavailable_if_unread():
        name = predecessor.session.name
        tagged = await sessions_tagged(access.client, predecessor.owner, name, tag)
    return next((session.id for session in tagged), "")


async def _refused(access: Access, error: BackendAiRefusedError, tag: str) -> Report:
    """A name that is in use: by our own session, by one that is still ending, or by its user's."""
    existing = error.problem.existing_session_id
    if error.status == _RACE and not existing:
        return Report(status=ReportStatus.RETRY, text=str(error))
    if not existing:
        raise error
    owned = await _session(access, existing)
    if owned.session.tag == tag:
        return Report(status=ReportStatus.DONE, reference=existing)
    if owned.session.status == _TERMINATING or is_finished(owned.session.status):
        text = f"session {existing} with the same name is still terminating"
        return Report(status=ReportStatus.RETRY, text=text)
    text = f"its user already runs session {existing} with the same name"
    return Report(status=ReportStatus.REFUSED, text=text)


def _is_terminating(step: Step, context: ObservedContext) -> bool | None:
    """Whether the session ends, or has; None where it was not read, or is known no more."""
    sessions = sessions_in(context.own.get(SESSIONS, ""))
    session = next((each for each in sessions if each.id == step.arguments["session"]), None)
    if session is None:
        return None
    forced = "forced" in step.arguments
    return is_finished(session.status) or (session.status == _TERMINATING and not forced)


def _recovered_end(started_step: StartedStep, context: ObservedContext) -> Recovery:
    """What ended without us is not ours: it is not created anew.

    What was sent and not answered may come yet. If it came after it was written down as not done, and
    before another try, the end that it brings would look like its user's.
    """
    if started_step.is_without_effect:
        return Recovery.REDO
    is_terminating = _is_terminating(started_step.step, context)
    if is_terminating is None:
        return Recovery.UNKNOWN
    if is_terminating:
        return Recovery.DONE
    report = started_step.report
    is_answered = report is not None and report.status is ReportStatus.DONE
    is_over = is_answered or _is_late(started_step, steps.END_SESSION, context)
    return Recovery.REDO if is_over else Recovery.UNKNOWN


def _is_created(step: Step, context: ObservedContext) -> bool | None:
    text = context.own.get(SESSIONS)
    if text is None:
        return None
    return any(session.tag == step.arguments["tag"] for session in sessions_in(text))


def _recovered_creation(started_step: StartedStep, context: ObservedContext) -> Recovery:
    """A request that got no answer may arrive as long as a proxy holds it; then it never will."""
    is_created = _is_created(started_step.step, context)
    if is_created is None:
        return Recovery.UNKNOWN
    if is_created:
        return Recovery.DONE
    if started_step.is_without_effect:
        return Recovery.REDO
    report = started_step.report
    if report is not None and report.status is ReportStatus.DONE:
        # The manager said so, and shows no such session: a person has to see why.
        return Recovery.UNKNOWN
    is_over = _is_late(started_step, steps.CREATE_SESSION, context)
    return Recovery.REDO if is_over else Recovery.UNKNOWN


def _is_late(started_step: StartedStep, kind: str, context: ObservedContext) -> bool:
    """Whether a request that was not answered was sent so long ago that it is not waited for."""
    started = started_step.started
    return started is not None and context.time - started >= steps.KINDS[kind].settle_s


SESSION_EFFECTS: Mapping[str, Effect] = {
    steps.END_SESSION: Effect(
        kind=steps.KINDS[steps.END_SESSION],
        perform=_end,
        is_observed=_is_terminating,
        recover=_recovered_end,
    ),
    steps.CREATE_SESSION: Effect(
        kind=steps.KINDS[steps.CREATE_SESSION],
        perform=_create,
        is_observed=_is_created,
        recover=_recovered_creation,
    ),
}
