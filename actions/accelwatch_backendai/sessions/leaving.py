"""Which sessions leave a quarantined agent; of each that does not, why not. Pure."""

from collections.abc import Mapping, Sequence

from accelwatch_backendai.api.sessions import Session
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.sessions.job_view import JobView
from accelwatch_backendai.settings.session_rules import Leave, SessionRule, SessionType

_BY_RULE = "the session rules leave it where it is, and it is not resumed by us"
_INTERACTIVE = "it is interactive, and what its user has open would be lost"
_WAITED_FOR = (
    "{} would start without its result, or never, if it were ended; a rule with"
    " `ignore_dependents: true` moves it all the same"
)
# No rule moves these: who ends one has it replaced by its service, or breaks the platform.
_NEVER: Mapping[str, str] = {
    SessionType.INFERENCE: "its model service decides where its replicas run",
    SessionType.SYSTEM: "it is a system session",
}


def stay_reason(
    session: Session,
    rules: Sequence[SessionRule],
    tag: str | None = None,
    *,
    dependents: str = "",
) -> str:
    """Why a session stays where it is; empty for one that is moved.

    `tag` is its user's own where that is known to be another: what we create has a tag of ours.
    `dependents` says which sessions wait for it to succeed, where some do.
    """
    if reason := _NEVER.get(session.type):
        return reason
    rule = next((rule for rule in rules if _fits(rule, session, tag)), None)
    if rule is not None and rule.leave is Leave.STAY:
        return _BY_RULE
    if rule is None and session.type != SessionType.BATCH:
        return _INTERACTIVE
    if dependents and not (rule is not None and rule.ignore_dependents):
        return _WAITED_FOR.format(dependents)
    return ""


def why_it_stays(session: Session, context: ObservedContext, view: JobView) -> str:
    """The same of a job's session, as an observation shows it."""
    return stay_reason(
        session, context.options.sessions, view.lineage.users_tag, dependents=view.dependents
    )


def _fits(rule: SessionRule, session: Session, tag: str | None) -> bool:
    return rule.fits(
        session_type=session.type,
        project=session.project,
        name=session.name,
        tag=session.tag if tag is None else tag,
    )
