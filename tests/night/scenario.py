"""What befalls a cluster in a night: forty faults of every kind, by seed."""

import random
from dataclasses import dataclass, field
from enum import StrEnum

HOUR_S = 3600.0
NIGHT_S = 8 * HOUR_S
# Before the first fault; the hub has looked around by then, and jobs run.
QUIET_S = 1500.0
# After the last fault.
SETTLE_S = 3600.0
# Between two faults at least; more at once are a storm, which is one of them.
SPACING_S = 150.0
# A storm is over when it was calm for a while; what befalls others before is part of it.
AFTER_STORM_S = 1500.0


class Kind(StrEnum):
    """What breaks."""

    LOST = "device lost"
    LOST_JOB_DIES = "device lost, the job dies of it"
    ECC = "memory error, the job dies of it"
    LINK = "link down"
    HUNG = "driver hangs"
    AGENT_DIES = "device lost, the agent dies with it"
    HANGS_AFTER = "device lost, then the node hangs"
    SILENT = "node hangs (agent and slurmd)"
    POWER = "node loses its power"
    FLAPPING = "device comes and goes"
    LOW = "slow device (low confidence)"
    RACK = "links of one rack"
    BLINK = "device gone for a moment"
    SPARE = "device of a spare lost"
    REBOOT_TWICE = "device lost, one reboot is not enough"
    FOR_EVER = "device lost, no reboot helps"
    TEST_FAILS = "memory error, then the test fails"
    INTERACTIVE = "device lost under an interactive job"
    DRAINED_BY_ADMIN = "device lost on a node that the admin drained"
    GIVEN_BACK = "device lost, the admin gives the node back"
    HELD = "device lost on a node that the admin holds"


# Forty together.
COUNTS = {
    Kind.LOST: 6,
    Kind.LOST_JOB_DIES: 3,
    Kind.ECC: 3,
    Kind.LINK: 3,
    Kind.HUNG: 2,
    Kind.AGENT_DIES: 3,
    Kind.HANGS_AFTER: 2,
    Kind.SILENT: 2,
    Kind.POWER: 2,
    Kind.FLAPPING: 1,
    Kind.LOW: 2,
    Kind.RACK: 1,
    Kind.BLINK: 2,
    Kind.SPARE: 1,
    Kind.REBOOT_TWICE: 1,
    Kind.FOR_EVER: 1,
    Kind.TEST_FAILS: 1,
    Kind.INTERACTIVE: 1,
    Kind.DRAINED_BY_ADMIN: 1,
    Kind.GIVEN_BACK: 1,
    Kind.HELD: 1,
}


class Restart(StrEnum):
    """What is restarted in the night."""

    HUB = "the hub is restarted"
    HUB_KILLED = "the hub is killed in the middle of an effect"
    CONTROLLER = "the controller is restarted"


@dataclass
class Fault:
    """One of them, and what came of it."""

    number: int
    kind: Kind
    # Seconds since the beginning of the night.
    at: float
    # Where it struck, once it has.
    nodes: tuple[str, ...] = ()
    # Id of the job that ran there.
    job: str = ""
    drained_after_s: float | None = None
    # How long its job stood still though it could have run.
    out_s: float = 0.0
    runs_after_s: float | None = None
    incidents: set[str] = field(default_factory=set)
    end: str = ""
    # Of one that comes and goes by itself.
    lasts_until: float = 0.0

    @property
    def may_drain(self) -> bool:
        """Whether the node may be taken out because of it, without anybody's word."""
        return self.kind not in _LEFT_ALONE

    @property
    def moves_job(self) -> bool:
        """Whether its job has to run elsewhere."""
        return self.kind not in _LEFT_ALONE and self.kind not in _A_PERSONS


_LEFT_ALONE = frozenset({Kind.LOW, Kind.RACK, Kind.BLINK, Kind.DRAINED_BY_ADMIN, Kind.HELD})
# Where no job is to be moved, or a person has taken it upon himself.
_A_PERSONS = frozenset({Kind.SPARE, Kind.INTERACTIVE, Kind.GIVEN_BACK})


@dataclass(frozen=True)
class Scenario:
    """A night before it begins."""

    seed: int
    faults: tuple[Fault, ...]
    restarts: tuple[tuple[float, Restart], ...]


def make_scenario(seed: int) -> Scenario:
    """The same for the same seed."""
    rng = random.Random(seed)
    kinds = [kind for kind, count in COUNTS.items() for _ in range(count)]
    rng.shuffle(kinds)
    gaps = [AFTER_STORM_S if kind is Kind.RACK else SPACING_S for kind in kinds]
    room = NIGHT_S - QUIET_S - SETTLE_S - sum(gaps)
    times = sorted(rng.uniform(0.0, room) for _ in kinds)
    faults = [
        Fault(number, kind, QUIET_S + time + sum(gaps[:number]))
        for number, (kind, time) in enumerate(zip(kinds, times, strict=True))
    ]
    order = [Restart.HUB_KILLED, Restart.CONTROLLER, Restart.HUB]
    rng.shuffle(order)
    hours = (1.5, 3.5, 5.5)
    restarts = [
        (rng.uniform(hour, hour + 1.0) * HOUR_S, what)
        for hour, what in zip(hours, order, strict=True)
    ]
    return Scenario(seed, tuple(faults), tuple(restarts))
