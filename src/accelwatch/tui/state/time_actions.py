"""Actions on time: how often is read, and where in a recording or an archive one is."""

from accelwatch.tui.state.action import Action

PAUSE = Action(
    group="Time",
    id="pause",
    keys=("p",),
    label="pause",
    help="Pause the display while readings continue; pauses a recording.",
    footer=True,
)
FASTER = Action(
    group="Time",
    id="faster",
    keys=("plus", "equals_sign"),
    label="faster",
    help="Read more often; play a recording faster.",
)
SLOWER = Action(
    group="Time",
    id="slower",
    keys=("minus",),
    label="slower",
    help="Read less often; play a recording slower.",
)
STEP = Action(
    group="Time",
    id="step",
    keys=("full_stop",),
    label="step",
    help="The next snapshot of a recording.",
    footer=True,
    replay_only=True,
)
STEP_BACK = Action(
    group="Time",
    id="step_back",
    keys=("comma",),
    label="step back",
    help="The previous snapshot.",
    replay_only=True,
)
SEEK = Action(
    group="Time",
    id="seek",
    keys=("right_square_bracket",),
    label="+1 min",
    help="One minute forward in a recording.",
    footer=True,
    replay_only=True,
)
SEEK_BACK = Action(
    group="Time",
    id="seek_back",
    keys=("left_square_bracket",),
    label="-1 min",
    help="One minute back.",
    replay_only=True,
)
SEEK_TO = Action(
    group="Time",
    id="seek_to",
    keys=("at",),
    label="go to",
    help="Go to a moment of a recording: 10:32, 2026-03-14, 2026-03-14 10:32, +5m, -2h or 50%.",
    replay_only=True,
)
HOUR = Action(
    group="Time",
    id="hour",
    keys=("right_curly_bracket",),
    label="+1 h",
    help="One hour forward in a fleet's archive.",
    archive_only=True,
)
HOUR_BACK = Action(
    group="Time",
    id="hour_back",
    keys=("left_curly_bracket",),
    label="-1 h",
    help="One hour back.",
    archive_only=True,
)
INCIDENT = Action(
    group="Time",
    id="incident",
    keys=("n",),
    label="incident",
    help="Jump to the next incident in a fleet's archive.",
    footer=True,
    archive_only=True,
)
INCIDENT_BACK = Action(
    group="Time",
    id="incident_back",
    keys=("N",),
    label="incident back",
    help="The previous one.",
    archive_only=True,
)
EVENT = Action(
    group="Time",
    id="event",
    keys=("v",),
    label="event",
    help="Jump to the next event in a fleet's archive.",
    footer=True,
    archive_only=True,
)
EVENT_BACK = Action(
    group="Time",
    id="event_back",
    keys=("V",),
    label="event back",
    help="The previous one.",
    archive_only=True,
)
LOOP = Action(
    group="Time",
    id="loop",
    keys=("l",),
    label="loop",
    help="Restart a recording at its end.",
    replay_only=True,
)

OF_TIME: tuple[Action, ...] = (
    PAUSE,
    FASTER,
    SLOWER,
    STEP,
    STEP_BACK,
    SEEK,
    SEEK_BACK,
    SEEK_TO,
    HOUR,
    HOUR_BACK,
    INCIDENT,
    INCIDENT_BACK,
    EVENT,
    EVENT_BACK,
    LOOP,
)
