"""Who answers for which intent and which step: what is added to the action is a row here."""

from collections.abc import Mapping

from accelwatch.action.intent import IntentKind
from accelwatch_backendai.effects.agents import AGENT_EFFECTS
from accelwatch_backendai.effects.power import power_effects
from accelwatch_backendai.effects.sessions import SESSION_EFFECTS
from accelwatch_backendai.proposals.cancelling import (
    propose_cancel,
    propose_follow,
    propose_restore,
)
from accelwatch_backendai.proposals.fencing import propose_fence
from accelwatch_backendai.proposals.moving import propose_move
from accelwatch_backendai.proposals.quarantine import propose_quarantine, propose_release
from accelwatch_backendai.proposals.spares import propose_draw, propose_return
from accelwatch_backendai.readings.fences import read_fence
from accelwatch_backendai.readings.jobs import read_job
from accelwatch_backendai.readings.spares import read_spare
from accelwatch_backendai.rows import Effect, Propose, Read
from accelwatch_backendai.settings.options import BackendAiOptions

# Besides the agent, which is read for every intent.
READINGS: Mapping[IntentKind, Read] = {
    IntentKind.DRAW_SPARE: read_spare,
    IntentKind.RETURN_SPARE: read_spare,
    IntentKind.FENCE: read_fence,
    IntentKind.MOVE_JOB: read_job,
    IntentKind.CANCEL_JOB: read_job,
    IntentKind.FOLLOW_JOB: read_job,
    IntentKind.RESTORE_JOB: read_job,
}

# An intent that has no row here is refused as impossible.
PROPOSALS: Mapping[IntentKind, Propose] = {
    IntentKind.QUARANTINE: propose_quarantine,
    IntentKind.RELEASE: propose_release,
    IntentKind.DRAW_SPARE: propose_draw,
    IntentKind.RETURN_SPARE: propose_return,
    IntentKind.FENCE: propose_fence,
    IntentKind.MOVE_JOB: propose_move,
    IntentKind.CANCEL_JOB: propose_cancel,
    IntentKind.FOLLOW_JOB: propose_follow,
    IntentKind.RESTORE_JOB: propose_restore,
}


def effects_of(options: BackendAiOptions) -> Mapping[str, Effect]:
    """By the kind of a step."""
    return {**AGENT_EFFECTS, **SESSION_EFFECTS, **power_effects(options.power_timeout_s)}
