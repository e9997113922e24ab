"""How far may be gone now with one node: the least of what everybody allows. Pure.

The site, the profile of the node, the rule, the trust in its evidence, its canary share, silences and
persons each have a say; it is asked again before every stage. What we did ourselves may be undone
whatever they say.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.rules.document import Mode, Trust
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind


class Ceiling(StrEnum):
    """How far rules may go; each has those before it."""

    OBSERVE = "observe"
    QUARANTINE = "quarantine"
    # The node's jobs are signalled to save, and leave it.
    DRAIN = "drain"
    # Reset, reboot, power cycle, test, ticket.
    REMEDY = "remedy"
    # Jobs run on elsewhere.
    RESUME = "resume"

    @property
    def height(self) -> int:
        """Greater goes further."""
        return _HEIGHTS[self]


_HEIGHTS = {ceiling: at for at, ceiling in enumerate(Ceiling)}


# Which ceiling an intent needs; those that only undo what we did, or only look, need none.
NEEDS: Mapping[IntentKind, Ceiling] = MappingProxyType(
    {
        IntentKind.QUARANTINE: Ceiling.QUARANTINE,
        IntentKind.SIGNAL_JOB: Ceiling.DRAIN,
        IntentKind.CANCEL_JOB: Ceiling.DRAIN,
        IntentKind.PROBE: Ceiling.RESUME,
        IntentKind.FENCE: Ceiling.RESUME,
        IntentKind.MOVE_JOB: Ceiling.RESUME,
        IntentKind.SWAP_IN_JOB: Ceiling.RESUME,
        IntentKind.DRAW_SPARE: Ceiling.RESUME,
        IntentKind.RESET_DEVICE: Ceiling.REMEDY,
        IntentKind.REBOOT: Ceiling.REMEDY,
        IntentKind.POWER_CYCLE: Ceiling.REMEDY,
        IntentKind.TEST: Ceiling.REMEDY,
        IntentKind.SERVICE: Ceiling.REMEDY,
        IntentKind.RELEASE: Ceiling.OBSERVE,
        IntentKind.RESTORE_JOB: Ceiling.OBSERVE,
        IntentKind.FOLLOW_JOB: Ceiling.OBSERVE,
        IntentKind.RETURN_SPARE: Ceiling.OBSERVE,
    }
)

UNDOING = frozenset(kind for kind, ceiling in NEEDS.items() if ceiling is Ceiling.OBSERVE)


class Bearing(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that bears upon how far may be gone with a node for an incident."""

    node: str
    # Of the rule.
    mode: Mode
    # Whether the rule is sure enough to act without a person's approval.
    sure: bool = True
    # Why the journal may lose what is written down before it is done; empty where it keeps it.
    loss_risk: str = ""
    site: Ceiling
    # Of the first profile that fits the node; None where there are no profiles at all.
    profile: Ceiling | None = None
    # Who stopped everything, and how: a person's command, or the file.
    stopped_by: str = ""
    canary: Answer = PERMIT
    # Whether all of the evidence came by an authenticated way.
    trusted: bool = True
    # The trust that the rule requires.
    trust: Trust = Trust.AUTHENTICATED
    # Id of the silence or maintenance that bids not to act.
    silence: str = ""
    # Who vetoed any action on the node; or the label that says so.
    vetoed_by: str = ""
    denied_by: str = ""


def answers(bearing: Bearing, kind: IntentKind) -> tuple[Answer, ...]:
    """What everybody says to an intent, denials and permits."""
    # First: while everything is stopped, or a ceiling is lowered, our own marks must still come
    # off.
    if kind in UNDOING:
        return (PERMIT,)
    needed = NEEDS[kind]
    # The order is that in which reasons are shown; each of them denies by itself.
    return (
        _stopped(bearing),
        _of_mode(bearing),
        _under(bearing.site, needed, "the site's ceiling (remedy.ceiling)"),
        *_of_profile(bearing, needed),
        bearing.canary,
        _of_trust(bearing),
        *_of_people(bearing),
    )


def _of_profile(bearing: Bearing, needed: Ceiling) -> tuple[Answer, ...]:
    if bearing.profile is None:
        return ()
    return (_under(bearing.profile, needed, f"the ceiling of the profile of {bearing.node}"),)


def _stopped(bearing: Bearing) -> Answer:
    if not bearing.stopped_by:
        return PERMIT
    text = (
        f"everything is stopped: {bearing.stopped_by}. "
        "`accelwatch remedy start --reason WHY` resumes it"
    )
    return Denial(why=DenialKind.STOPPED, text=text)


def _of_mode(bearing: Bearing) -> Answer:
    match bearing.mode:
        case Mode.AUTO if bearing.sure and not bearing.loss_risk:
            return PERMIT
        case Mode.AUTO if bearing.sure:
            # The next hub would not know of it, and do it again.
            text = (
                "a fail-over may lose what is written down, so it needs a person's approval: "
                f"{bearing.loss_risk}"
            )
            return Denial(why=DenialKind.APPROVAL, text=text)
        case Mode.AUTO:
            text = (
                "the rule's confidence is low, so it asks for a person's approval; "
                "`act_on: low` lets it act without"
            )
            return Denial(why=DenialKind.APPROVAL, text=text)
        case Mode.APPROVE:
            return Denial(why=DenialKind.APPROVAL, text="the rule asks for a person's approval")
        case Mode.OBSERVE:
            return Denial(why=DenialKind.MODE, text="the rule only observes")
        case Mode.OFF:
            return Denial(why=DenialKind.MODE, text="the rule is off")


def _under(ceiling: Ceiling, needed: Ceiling, whose: str) -> Answer:
    if ceiling.height >= needed.height:
        return PERMIT
    return Denial(why=DenialKind.CEILING, text=f"{whose} is {ceiling}, and this needs {needed}")


def _of_trust(bearing: Bearing) -> Answer:
    if bearing.trusted or bearing.trust is Trust.ANY:
        return PERMIT
    text = "some of the evidence is unauthenticated: anyone could have sent it"
    return Denial(why=DenialKind.TRUST, text=text)


def _of_people(bearing: Bearing) -> Iterator[Answer]:
    for who, kind, text in (
        (bearing.silence, DenialKind.SILENCE, "it is silenced or in maintenance: {}"),
        (bearing.vetoed_by, DenialKind.VETOED, "nothing may be done to it: {}"),
        (bearing.denied_by, DenialKind.DENIED, "{} has denied it"),
    ):
        yield Denial(why=kind, text=text.format(who)) if who else PERMIT
