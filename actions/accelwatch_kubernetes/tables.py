"""Who answers for which intent and which step: what is added to the action is a row here."""

from collections.abc import Mapping

from accelwatch.action.intent import IntentKind
from accelwatch_kubernetes.effects.device_taints import DEVICE_EFFECTS
from accelwatch_kubernetes.effects.eviction import POD_EFFECTS
from accelwatch_kubernetes.effects.node_patch import NODE_EFFECTS
from accelwatch_kubernetes.effects.out_of_service import fence_effects
from accelwatch_kubernetes.proposals.cancelling import (
    propose_cancel,
    propose_follow,
    propose_restore,
)
from accelwatch_kubernetes.proposals.devices import propose_back, propose_out
from accelwatch_kubernetes.proposals.fencing import propose_fence
from accelwatch_kubernetes.proposals.moving import propose_move
from accelwatch_kubernetes.proposals.spares import propose_draw, propose_return
from accelwatch_kubernetes.readings.devices import read_devices
from accelwatch_kubernetes.readings.fences import read_fence
from accelwatch_kubernetes.readings.jobs import read_job, read_move
from accelwatch_kubernetes.readings.spares import read_spare
from accelwatch_kubernetes.rows import Effect, Propose, Read
from accelwatch_kubernetes.settings.options import KubernetesOptions

# Besides the node, which is read for every intent.
READINGS: Mapping[IntentKind, Read] = {
    IntentKind.QUARANTINE: read_devices,
    IntentKind.RELEASE: read_devices,
    IntentKind.DRAW_SPARE: read_spare,
    IntentKind.RETURN_SPARE: read_spare,
    IntentKind.FENCE: read_fence,
    IntentKind.MOVE_JOB: read_move,
    IntentKind.CANCEL_JOB: read_job,
    IntentKind.FOLLOW_JOB: read_job,
    IntentKind.RESTORE_JOB: read_job,
}

# An intent that has no row here is refused as impossible.
PROPOSALS: Mapping[IntentKind, Propose] = {
    IntentKind.QUARANTINE: propose_out,
    IntentKind.RELEASE: propose_back,
    IntentKind.DRAW_SPARE: propose_draw,
    IntentKind.RETURN_SPARE: propose_return,
    IntentKind.FENCE: propose_fence,
    IntentKind.MOVE_JOB: propose_move,
    IntentKind.CANCEL_JOB: propose_cancel,
    IntentKind.FOLLOW_JOB: propose_follow,
    IntentKind.RESTORE_JOB: propose_restore,
}


def effects_of(options: KubernetesOptions) -> Mapping[str, Effect]:
    """By the kind of a step."""
    return {**NODE_EFFECTS, **POD_EFFECTS, **fence_effects(options), **DEVICE_EFFECTS}
