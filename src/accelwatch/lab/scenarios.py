"""What can be played: what is done in each scenario, and what has to be seen after it. Data."""

from enum import StrEnum
from typing import NamedTuple


class Act(StrEnum):
    """What is done to the lab."""

    LOSE_GPU = "lose_gpu"
    HANG_NODE = "hang_node"
    CUT_LINKS = "cut_links"
    STOP_CONTROLLER = "stop_controller"
    WAIT = "wait"
    START_CONTROLLER = "start_controller"
    TAKE_OVER = "take_over"
    GIVE_BACK = "give_back"
    MEND = "mend"
    MEND_FIRST = "mend_first"


class Seen(StrEnum):
    """What shows that it goes on as it should."""

    INCIDENT = "incident"
    STORM = "storm"
    ALERT = "alert"
    DRAINED = "drained"
    FENCED = "fenced"
    REQUEUED = "requeued"
    NO_SPARE = "no spare"
    RUNNING = "running"
    PROGRESS = "progress"
    AWAY = "away"
    HELD_BY_OTHER = "left alone"
    QUIET = "quiet"
    VERIFIED = "verified"
    RELEASED = "released"
    OVER = "over"


class Phase(NamedTuple):
    """Some acts, and what has to be seen after them, in whatever order."""

    acts: tuple[Act, ...]
    seen: tuple[Seen, ...]
    """What one look shows at once is told in this order."""
    within_s: float = 60.0


class Scenario(NamedTuple):
    """One story."""

    title: str
    phases: tuple[Phase, ...]
    fresh: bool = False
    """Whether it leaves something behind for which a lab has to be begun anew."""


_LEFT = (Seen.INCIDENT, Seen.ALERT, Seen.DRAINED, Seen.REQUEUED)
_GOES_ON = (Seen.RUNNING, Seen.PROGRESS)
_MOVED = (*_LEFT, *_GOES_ON)
_GIVEN_BACK = (Seen.VERIFIED, Seen.RELEASED, Seen.OVER)

SCENARIOS: dict[str, Scenario] = {
    "lost-gpu": Scenario(
        "a GPU falls off the bus under a running job",
        (Phase((Act.LOSE_GPU,), _MOVED), Phase((Act.MEND,), _GIVEN_BACK)),
    ),
    "hung-node": Scenario(
        "a node hangs under a running job, whose old copy keeps running there",
        (
            Phase((Act.HANG_NODE,), (*_LEFT, Seen.FENCED, *_GOES_ON), 90.0),
            Phase((Act.MEND,), _GIVEN_BACK),
        ),
    ),
    "storm": Scenario(
        "the links of all nodes go down within a second: one cause, not four bad nodes",
        (
            Phase((Act.CUT_LINKS,), (Seen.STORM, Seen.ALERT)),
            Phase((Act.WAIT,), (Seen.QUIET,)),
            Phase((Act.MEND,), (Seen.OVER,), 120.0),
        ),
        fresh=True,
    ),
    "spare-used-up": Scenario(
        "a second node fails while the only spare stands in for the first",
        (
            Phase((Act.LOSE_GPU,), _MOVED),
            Phase((Act.LOSE_GPU,), (Seen.DRAINED, Seen.NO_SPARE, Seen.REQUEUED)),
            Phase((Act.MEND_FIRST,), (Seen.RELEASED, Seen.RUNNING, Seen.PROGRESS)),
            Phase((Act.MEND,), (Seen.OVER,)),
        ),
    ),
    "admin-in-between": Scenario(
        "an administrator takes the node over while it is out",
        (
            Phase((Act.LOSE_GPU,), _MOVED),
            Phase((Act.TAKE_OVER,), (Seen.HELD_BY_OTHER,)),
            Phase((Act.MEND, Act.WAIT), (Seen.QUIET,)),
            Phase((Act.GIVE_BACK,), (Seen.OVER,)),
        ),
    ),
    "controller-away": Scenario(
        "the scheduler hangs while a GPU is lost",
        (
            Phase((Act.STOP_CONTROLLER, Act.LOSE_GPU), (Seen.INCIDENT, Seen.ALERT)),
            Phase((Act.WAIT,), (Seen.AWAY,)),
            Phase(
                (Act.START_CONTROLLER,),
                (Seen.DRAINED, Seen.REQUEUED, Seen.RUNNING, Seen.PROGRESS),
                90.0,
            ),
            Phase((Act.MEND,), _GIVEN_BACK),
        ),
    ),
}
