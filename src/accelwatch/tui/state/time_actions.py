"""Actions on time: how often is read, and where in a recording or an archive one is."""

from accelwatch.tui.state.action import (
    Action,
    action,
)

OF_TIME: tuple[Action, ...] = (
    action(
        "Time",
        "pause",
        "p",
        "pause",
        "Hold the picture; readings go on. A recording stops.",
        footer=True,
    ),
    action(
        "Time", "faster", "plus equals_sign", "faster", "Read more often; play a recording faster."
    ),
    action("Time", "slower", "minus", "slower", "Read less often; play a recording slower."),
    action(
        "Time",
        "step",
        "full_stop",
        "step",
        "The next snapshot of a recording.",
        footer=True,
        replay_only=True,
    ),
    action("Time", "step_back", "comma", "step back", "The snapshot before.", replay_only=True),
    action(
        "Time",
        "seek",
        "right_square_bracket",
        "+1 min",
        "One minute forward in a recording.",
        footer=True,
        replay_only=True,
    ),
    action(
        "Time", "seek_back", "left_square_bracket", "-1 min", "One minute back.", replay_only=True
    ),
    action(
        "Time",
        "seek_to",
        "colon",
        "go to",
        "Go to a moment of a recording: 10:32, 2026-03-14, 2026-03-14 10:32, +5m, -2h or 50%.",
        replay_only=True,
    ),
    action(
        "Time",
        "hour",
        "right_curly_bracket",
        "+1 h",
        "One hour forward in a fleet's archive.",
        archive_only=True,
    ),
    action("Time", "hour_back", "left_curly_bracket", "-1 h", "One hour back.", archive_only=True),
    action(
        "Time",
        "incident",
        "n",
        "incident",
        "To where the next incident of a fleet's archive was opened.",
        footer=True,
        archive_only=True,
    ),
    action("Time", "incident_back", "N", "incident back", "The one before.", archive_only=True),
    action(
        "Time",
        "event",
        "v",
        "event",
        "To the next event of a fleet's archive.",
        footer=True,
        archive_only=True,
    ),
    action("Time", "event_back", "V", "event back", "The one before.", archive_only=True),
    action("Time", "loop", "l", "loop", "Begin a recording again at its end.", replay_only=True),
)
