"""Who answers for which intent and which step: what is added to the action is a row here."""

from collections.abc import Mapping

from accelwatch.action.intent import IntentKind
from accelwatch_backendai.effects.agents import AGENT_EFFECTS
from accelwatch_backendai.proposals.quarantine import propose_quarantine, propose_release
from accelwatch_backendai.proposals.spares import propose_draw, propose_return
from accelwatch_backendai.readings.spares import read_spare
from accelwatch_backendai.rows import Effect, Propose, Read

# Besides the agent, which is read for every intent.
READINGS: Mapping[IntentKind, Read] = {
    IntentKind.DRAW_SPARE: read_spare,
    IntentKind.RETURN_SPARE: read_spare,
}

# An intent that has no row here is refused as impossible.
PROPOSALS: Mapping[IntentKind, Propose] = {
    IntentKind.QUARANTINE: propose_quarantine,
    IntentKind.RELEASE: propose_release,
    IntentKind.DRAW_SPARE: propose_draw,
    IntentKind.RETURN_SPARE: propose_return,
}

# By the kind of a step.
EFFECTS: Mapping[str, Effect] = {**AGENT_EFFECTS}
