"""Words of states and health as small numbers, so that they can stand in arrays."""

from accelwatch.fleet.names import SHOWN_STATES, NodeState
from accelwatch.schema.health import Health

# A device's own states, then what it is called whose node is silent or that has gone.
STATES: tuple[str, ...] = SHOWN_STATES
STATE = {state: code for code, state in enumerate(STATES)}
HEALTHS: tuple[str, ...] = tuple(Health)
HEALTH = {health: code for code, health in enumerate(HEALTHS)}
NODE_STATES = tuple(NodeState)
NODE_STATE = {state: code for code, state in enumerate(NODE_STATES)}
