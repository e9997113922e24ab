"""Who answers for which intent and which step: what is added to the action is a row here."""

from collections.abc import Mapping

from accelwatch.action.intent import IntentKind
from accelwatch_kubernetes.rows import Effect, Propose, Read

# Besides the node, which is read for every intent.
READINGS: Mapping[IntentKind, Read] = {}

# An intent that has no row here is refused as impossible.
PROPOSALS: Mapping[IntentKind, Propose] = {}

# By the kind of a step.
EFFECTS: Mapping[str, Effect] = {}
