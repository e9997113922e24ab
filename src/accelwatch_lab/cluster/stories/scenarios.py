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
    ADMIN_DRAIN = "take_over"
    GIVE_BACK = "give_back"
    REPAIR = "mend"
    REPAIR_FIRST = "mend_first"


class Observation(StrEnum):
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
    DRAINED_BY_OTHER = "left alone"
    IDLE = "quiet"
    VERIFIED = "verified"
    RELEASED = "released"
    OVER = "over"


class Phase(NamedTuple):
    """Some acts, and what has to be seen after them, in whatever order."""

    acts: tuple[Act, ...]
    # What one look shows at once is told in this order.
    expected: tuple[Observation, ...]
    within_s: float = 60.0


class Scenario(NamedTuple):
    """One story."""

    title: str
    phases: tuple[Phase, ...]
    # Whether it leaves something behind for which a lab has to be begun anew.
    fresh: bool = False


_LEFT = (Observation.INCIDENT, Observation.ALERT, Observation.DRAINED, Observation.REQUEUED)
_GOES_ON = (Observation.RUNNING, Observation.PROGRESS)
_MOVED = (*_LEFT, *_GOES_ON)
_RETURNED = (Observation.VERIFIED, Observation.RELEASED, Observation.OVER)

SCENARIOS: dict[str, Scenario] = {
    "lost-gpu": Scenario(
        "a GPU falls off the bus under a running job",
        (Phase((Act.LOSE_GPU,), _MOVED), Phase((Act.REPAIR,), _RETURNED)),
    ),
    "hung-node": Scenario(
        "a node hangs under a running job, whose old copy keeps running there",
        (
            Phase((Act.HANG_NODE,), (*_LEFT, Observation.FENCED, *_GOES_ON), 90.0),
            Phase((Act.REPAIR,), _RETURNED),
        ),
    ),
    "storm": Scenario(
        "the links of all nodes go down within a second: one cause, not four bad nodes",
        (
            Phase((Act.CUT_LINKS,), (Observation.STORM, Observation.ALERT)),
            Phase((Act.WAIT,), (Observation.IDLE,)),
            Phase((Act.REPAIR,), (Observation.OVER,), 120.0),
        ),
        fresh=True,
    ),
    "spare-used-up": Scenario(
        "a second node fails while the only spare stands in for the first",
        (
            Phase((Act.LOSE_GPU,), _MOVED),
            Phase(
                (Act.LOSE_GPU,), (Observation.DRAINED, Observation.NO_SPARE, Observation.REQUEUED)
            ),
            Phase(
                (Act.REPAIR_FIRST,),
                (Observation.RELEASED, Observation.RUNNING, Observation.PROGRESS),
            ),
            Phase((Act.REPAIR,), (Observation.OVER,)),
        ),
    ),
    "admin-in-between": Scenario(
        "an administrator takes the node over while it is out",
        (
            Phase((Act.LOSE_GPU,), _MOVED),
            Phase((Act.ADMIN_DRAIN,), (Observation.DRAINED_BY_OTHER,)),
            Phase((Act.REPAIR, Act.WAIT), (Observation.IDLE,)),
            Phase((Act.GIVE_BACK,), (Observation.OVER,)),
        ),
    ),
    "controller-away": Scenario(
        "the scheduler hangs while a GPU is lost",
        (
            Phase((Act.STOP_CONTROLLER, Act.LOSE_GPU), (Observation.INCIDENT, Observation.ALERT)),
            Phase((Act.WAIT,), (Observation.AWAY,)),
            Phase(
                (Act.START_CONTROLLER,),
                (
                    Observation.DRAINED,
                    Observation.REQUEUED,
                    Observation.RUNNING,
                    Observation.PROGRESS,
                ),
                90.0,
            ),
            Phase((Act.REPAIR,), _RETURNED),
        ),
    ),
}
