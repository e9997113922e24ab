"""Actions on a fleet: its nodes, its incidents, and what is done about them."""

from accelwatch.tui.state.action import INCIDENTS, ON_INCIDENTS, ONLY_FLEET, Action

GROUP_BY = Action(
    group="Fleet",
    id="group_by",
    keys=("b",),
    label="by",
    help="Choose the label to group the fleet by.",
    screens=ONLY_FLEET,
)
GRID = Action(
    group="Fleet",
    id="grid",
    keys=("m",),
    label="map",
    help="Map of devices, or list of nodes.",
    screens=ONLY_FLEET,
    footer=True,
)
SHADE = Action(
    group="Fleet",
    id="shade",
    keys=("M",),
    label="shade",
    help="What the map shows: load, memory or temperature.",
    screens=ONLY_FLEET,
)
EVENTS = Action(
    group="Fleet",
    id="events",
    keys=("E",),
    label="events",
    help="Show or hide events below the nodes.",
    screens=ONLY_FLEET,
    footer=True,
)
PROBLEMS = Action(
    group="Fleet",
    id="problems",
    keys=("exclamation_mark",),
    label="problems",
    help="Hub problems: target discovery, inventory, store.",
    screens=ONLY_FLEET | {INCIDENTS},
)
OVER = Action(
    group="Fleet",
    id="over",
    keys=("o",),
    label="over",
    help="Also recently resolved incidents, or open ones only.",
    screens=frozenset({INCIDENTS}),
    footer=True,
)
SILENCE = Action(
    group="Fleet",
    id="silence",
    keys=("S",),
    label="silence",
    help="Mute notifications for the incident, its node or its rule, or unmute; asks first.",
    screens=ON_INCIDENTS,
    footer=True,
)
CLOSE_INCIDENT = Action(
    group="Fleet",
    id="close_incident",
    keys=("X",),
    label="close",
    help="Close the incident by hand; asks for a reason.",
    screens=ON_INCIDENTS,
    footer=True,
)
APPROVE = Action(
    group="Remedies",
    id="approve",
    keys=("P",),
    label="approve",
    help="Approve the plan for the incident's node; shows the plan and asks for a reason.",
    screens=ON_INCIDENTS,
    footer=True,
    acts=True,
)
DENY = Action(
    group="Remedies",
    id="deny",
    keys=("D",),
    label="deny",
    help="Reject the plan for an hour or longer; asks first.",
    screens=ON_INCIDENTS,
    footer=True,
    acts=True,
)
HOLD = Action(
    group="Remedies",
    id="hold",
    keys=("H",),
    label="hold",
    help="Put a hold on the incident's node (no automatic action), or remove it; asks first.",
    screens=ON_INCIDENTS,
    footer=True,
    acts=True,
)
RELEASE = Action(
    group="Remedies",
    id="release",
    keys=("R",),
    label="give back",
    help="Release the node, also by force; mark it repaired; retry a failed step.",
    screens=ON_INCIDENTS,
    footer=True,
    acts=True,
)
QUARANTINE = Action(
    group="Remedies",
    id="quarantine",
    keys=("Q",),
    label="take out",
    help="Drain the node by hand; it returns only by release. Asks first.",
    screens=ON_INCIDENTS,
    acts=True,
)
BREAKER = Action(
    group="Remedies",
    id="breaker",
    keys=("B",),
    label="breaker",
    help="Reset the breaker, which opens on too many faults at once; asks first.",
    screens=ON_INCIDENTS | ONLY_FLEET,
    acts=True,
)
STOP = Action(
    group="Remedies",
    id="stop",
    keys=("Z",),
    label="STOP",
    help="Emergency stop: start no new remedies, or resume; the word has to be typed.",
    screens=ON_INCIDENTS | ONLY_FLEET,
    footer=True,
    acts=True,
)
ACKNOWLEDGE = Action(
    group="Fleet",
    id="acknowledge",
    keys=("A",),
    label="acknowledge",
    help="Forget missing devices of a node, or a node that is gone; asks first.",
    screens=ONLY_FLEET,
)

OF_A_FLEET: tuple[Action, ...] = (
    GROUP_BY,
    GRID,
    SHADE,
    EVENTS,
    PROBLEMS,
    OVER,
    SILENCE,
    CLOSE_INCIDENT,
    APPROVE,
    DENY,
    HOLD,
    RELEASE,
    QUARANTINE,
    BREAKER,
    STOP,
    ACKNOWLEDGE,
)
