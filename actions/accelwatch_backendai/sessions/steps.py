"""Steps about sessions: their names in the journal, and what they are like."""

from accelwatch.action.power_switch import STATE_TIMEOUT_S
from accelwatch.action.step import StepKind

END_SESSION = "end_session"
CREATE_SESSION = "create_session"
POWER_OFF = "power_off"

KINDS = {
    # By id, which is never given again: twice is once. A manager calls the session's agents before it
    # answers, and its own call to an agent ends after 60 s at most (26.1, seen on a lost one). Before
    # one is ended by force, the power switch is queried once more.
    END_SESSION: StepKind(
        idempotent=True,
        reversible=False,
        timeout_s=75.0 + STATE_TIMEOUT_S,
        settle_s=60.0,
        observe_for_s=5.0,
    ),
    # What got no answer is waited for as long as a proxy may hold it; a name that its user has in use
    # lets no second one come, and the tag is looked for before each try.
    CREATE_SESSION: StepKind(
        idempotent=False, reversible=False, timeout_s=75.0, settle_s=60.0, observe_for_s=5.0
    ),
}
