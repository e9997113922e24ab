"""Which sessions leave an agent that is taken out; of each that does not, why not. Pure."""

from collections.abc import Mapping, Sequence

from accelwatch_backendai.api.sessions import Session
from accelwatch_backendai.session_rules import Leave, SessionRule, SessionType

_BY_RULE = "the session rules leave it where it is, and it is not resumed by us"
_INTERACTIVE = "it is interactive, and what its user has open would be lost"
# No rule moves these: who ends one has it replaced by its service, or breaks the platform.
_NEVER: Mapping[str, str] = {
    SessionType.INFERENCE: "its model service decides where its replicas run",
    SessionType.SYSTEM: "it is a system session",
}


def stay_reason(session: Session, rules: Sequence[SessionRule], tag: str | None = None) -> str:
    """Why a session stays where it is; empty for one that is moved.

    `tag` is its user's own where that is known to be another: what we create has a tag of ours.
    """
    if reason := _NEVER.get(session.type):
        return reason
    rule = next((rule for rule in rules if _fits(rule, session, tag)), None)
    if rule is not None:
        return "" if rule.leave is Leave.MOVE else _BY_RULE
    return "" if session.type == SessionType.BATCH else _INTERACTIVE


def _fits(rule: SessionRule, session: Session, tag: str | None) -> bool:
    return rule.fits(
        session_type=session.type,
        project=session.project,
        name=session.name,
        tag=session.tag if tag is None else tag,
    )
