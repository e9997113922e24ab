"""Steps of a drain and of a fence: their names in the journal, and what they are like."""

import msgspec

from accelwatch.action.power_switch import STATE_TIMEOUT_S
from accelwatch.action.step import StepKind

EVICT = "evict"
DELETE_POD = "delete_pod"
SUSPEND = "suspend"
START_AGAIN = "start_again"
POWER_OFF = "power_off"
OUT_OF_SERVICE = "out_of_service"
IN_SERVICE = "in_service"

# For how long an API server may go on with a request whose client is gone (its --request-timeout).
_SERVER_TIMEOUT_S = 60.0
_TIMEOUT_S = 20.0
# Of steps that need a node without power, which is checked once more before.
_WITHOUT_POWER_S = _TIMEOUT_S + STATE_TIMEOUT_S
# An eviction is never sent twice: what got no answer is waited for until it cannot come any more.
_OF_POD = StepKind(
    idempotent=False,
    reversible=False,
    timeout_s=_TIMEOUT_S,
    settle_s=_SERVER_TIMEOUT_S,
    observe_for_s=1.0,
)
_PATCH = StepKind(
    idempotent=True, reversible=True, timeout_s=_TIMEOUT_S, settle_s=10.0, observe_for_s=1.0
)

KINDS = {
    EVICT: _OF_POD,
    DELETE_POD: msgspec.structs.replace(_OF_POD, timeout_s=_WITHOUT_POWER_S),
    SUSPEND: _PATCH,
    START_AGAIN: _PATCH,
    OUT_OF_SERVICE: msgspec.structs.replace(_PATCH, timeout_s=_WITHOUT_POWER_S),
    IN_SERVICE: _PATCH,
}
