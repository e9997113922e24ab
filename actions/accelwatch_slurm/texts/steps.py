"""Every effect that the action can have, and what doing it twice means."""

from collections.abc import Mapping

from accelwatch.action.intent import IntentKind
from accelwatch.action.power_switch import power_off_kind
from accelwatch.action.step import StepKind

DRAIN = "drain"
UNDRAIN = "undrain"
RESUME = "resume"
LEAVE_DOWN = "leave_down"
UNMARK = "unmark"
HOLD = "hold"
SET_DOWN = "set_down"
POWER_OFF = "power_off"
PROBE = "probe"
SIGNAL = "signal"
ALLOW_REQUEUE = "allow_requeue"
RESERVE = "reserve"
REQUEUE = "requeue"
CANCEL = "cancel"
STEER = "steer"
LET_GO = "let_go"
START = "start"
UNSTEER = "unsteer"
LEAVE_RESERVATION = "leave_reservation"
RENEW_RESERVATION = "renew_reservation"
DELETE_RESERVATION = "delete_reservation"
DRAW = "draw"
RETURN = "return"
REBOOT = "reboot"
RUN_TEST = "run_test"

# Drains that one command does.
MOST_TOGETHER = 128
_QUICK = StepKind(idempotent=True, reversible=True, timeout_s=20.0, settle_s=10.0)
_OBSERVED_AT_ONCE = StepKind(idempotent=True, reversible=True, timeout_s=20.0, settle_s=1.0)
# By default of the option `power_timeout_s`.
_POWER_TIMEOUT_S = 60.0

STEPS = {
    DRAIN: StepKind(
        idempotent=True, reversible=True, timeout_s=20.0, settle_s=10.0, at_once=MOST_TOGETHER
    ),
    UNDRAIN: _QUICK,
    RESUME: _QUICK,
    LEAVE_DOWN: _QUICK,
    UNMARK: _QUICK,
    HOLD: _OBSERVED_AT_ONCE,
    SET_DOWN: StepKind(idempotent=True, reversible=False, timeout_s=20.0, settle_s=15.0),
    POWER_OFF: power_off_kind(_POWER_TIMEOUT_S),
    PROBE: StepKind(idempotent=False, reversible=False, timeout_s=20.0, settle_s=1.0),
    SIGNAL: StepKind(idempotent=True, reversible=False, timeout_s=20.0, settle_s=1.0),
    ALLOW_REQUEUE: _OBSERVED_AT_ONCE,
    RESERVE: _OBSERVED_AT_ONCE,
    REQUEUE: StepKind(idempotent=False, reversible=False, timeout_s=20.0, settle_s=10.0),
    CANCEL: StepKind(idempotent=True, reversible=False, timeout_s=20.0, settle_s=10.0),
    STEER: _OBSERVED_AT_ONCE,
    LET_GO: _OBSERVED_AT_ONCE,
    START: _OBSERVED_AT_ONCE,
    UNSTEER: _OBSERVED_AT_ONCE,
    LEAVE_RESERVATION: _OBSERVED_AT_ONCE,
    RENEW_RESERVATION: _OBSERVED_AT_ONCE,
    DELETE_RESERVATION: _OBSERVED_AT_ONCE,
    DRAW: _OBSERVED_AT_ONCE,
    RETURN: _OBSERVED_AT_ONCE,
    REBOOT: StepKind(idempotent=False, reversible=False, timeout_s=20.0, settle_s=900.0),
    RUN_TEST: StepKind(idempotent=True, reversible=True, timeout_s=20.0, settle_s=5.0),
}


def steps_of(*, power_timeout_s: float) -> Mapping[str, StepKind]:
    """What the steps are like; powering off may run as long as the site's command."""
    return {**STEPS, POWER_OFF: power_off_kind(power_timeout_s)}


INTENTS = frozenset(
    {
        IntentKind.QUARANTINE,
        IntentKind.RELEASE,
        IntentKind.FENCE,
        IntentKind.SIGNAL_JOB,
        IntentKind.MOVE_JOB,
        IntentKind.RESTORE_JOB,
        IntentKind.CANCEL_JOB,
        IntentKind.FOLLOW_JOB,
        IntentKind.DRAW_SPARE,
        IntentKind.RETURN_SPARE,
        IntentKind.REBOOT,
        IntentKind.TEST,
    }
)
