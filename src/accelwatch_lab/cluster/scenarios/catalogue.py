"""What can be run: what is done in each scenario, and what has to be seen after it. Data."""

from enum import StrEnum
from typing import NamedTuple


class Intervention(StrEnum):
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


class Expectation(StrEnum):
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
    """Some interventions, and what has to be seen after them, in whatever order."""

    interventions: tuple[Intervention, ...]
    # What one poll shows at once is reported in this order.
    expected: tuple[Expectation, ...]
    within_s: float = 60.0


class Scenario(NamedTuple):
    """One scenario."""

    title: str
    phases: tuple[Phase, ...]
    # Whether it leaves something behind that needs a new lab.
    fresh: bool = False


_LEFT = (Expectation.INCIDENT, Expectation.ALERT, Expectation.DRAINED, Expectation.REQUEUED)
_GOES_ON = (Expectation.RUNNING, Expectation.PROGRESS)
_MOVED = (*_LEFT, *_GOES_ON)
_RETURNED = (Expectation.VERIFIED, Expectation.RELEASED, Expectation.OVER)

SCENARIOS: dict[str, Scenario] = {
    "lost-gpu": Scenario(
        "a GPU falls off the bus under a running job",
        (Phase((Intervention.LOSE_GPU,), _MOVED), Phase((Intervention.REPAIR,), _RETURNED)),
    ),
    "hung-node": Scenario(
        "a node hangs under a running job, whose old copy keeps running there",
        (
            Phase((Intervention.HANG_NODE,), (*_LEFT, Expectation.FENCED, *_GOES_ON), 90.0),
            Phase((Intervention.REPAIR,), _RETURNED),
        ),
    ),
    "storm": Scenario(
        "the links of all nodes go down within a second: one cause, not four bad nodes",
        (
            Phase((Intervention.CUT_LINKS,), (Expectation.STORM, Expectation.ALERT)),
            Phase((Intervention.WAIT,), (Expectation.IDLE,)),
            Phase((Intervention.REPAIR,), (Expectation.OVER,), 120.0),
        ),
        fresh=True,
    ),
    "spare-used-up": Scenario(
        "a second node fails while the only spare stands in for the first",
        (
            Phase((Intervention.LOSE_GPU,), _MOVED),
            Phase(
                (Intervention.LOSE_GPU,),
                (Expectation.DRAINED, Expectation.NO_SPARE, Expectation.REQUEUED),
            ),
            Phase(
                (Intervention.REPAIR_FIRST,),
                (Expectation.RELEASED, Expectation.RUNNING, Expectation.PROGRESS),
                # Backend.AI tries a session again a minute after it has found no agents for it.
                120.0,
            ),
            Phase((Intervention.REPAIR,), (Expectation.OVER,)),
        ),
    ),
    "admin-in-between": Scenario(
        "an administrator takes the node over while it is out",
        (
            Phase((Intervention.LOSE_GPU,), _MOVED),
            Phase((Intervention.ADMIN_DRAIN,), (Expectation.DRAINED_BY_OTHER,)),
            Phase((Intervention.REPAIR, Intervention.WAIT), (Expectation.IDLE,)),
            Phase((Intervention.GIVE_BACK,), (Expectation.OVER,)),
        ),
    ),
    "controller-away": Scenario(
        "the scheduler hangs while a GPU is lost",
        (
            Phase(
                (Intervention.STOP_CONTROLLER, Intervention.LOSE_GPU),
                (Expectation.INCIDENT, Expectation.ALERT),
            ),
            Phase((Intervention.WAIT,), (Expectation.AWAY,)),
            Phase(
                (Intervention.START_CONTROLLER,),
                (
                    Expectation.DRAINED,
                    Expectation.REQUEUED,
                    Expectation.RUNNING,
                    Expectation.PROGRESS,
                ),
                90.0,
            ),
            Phase((Intervention.REPAIR,), _RETURNED),
        ),
    ),
}
