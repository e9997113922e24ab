"""What a scenario of a fleet is, and how its file writes it: jobs over time and faults over time."""

import msgspec

from accelwatch_lab.scenario.faults import Duration, Fault, FaultSpec
from accelwatch_lab.simulator.jobs import Job, StallKind


class CheckpointSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How often a job saves its state (`every: 0` for never), and how long a save lasts."""

    every: Duration = "10m"
    lasts: Duration = "20s"


class StallSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A time without progress, counted from the job's start."""

    at: Duration
    lasts: Duration
    kind: StallKind = StallKind.INPUT


class JobSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A job on whole nodes."""

    name: str
    nodes: str
    id: str | int = ""
    user: str = "trainer"
    account: str = ""
    queue: str = ""
    # Makes it pods of Kubernetes instead of a batch job.
    namespace: str = ""
    command: str = "python3"
    at: Duration = 0
    lasts: Duration | None = None
    loading: Duration = 0
    warm_up: Duration = "1m"
    step: Duration = "8s"
    load: float = 0.92
    memory: float = 0.82
    checkpoint: CheckpointSpec = CheckpointSpec()
    stalls: tuple[StallSpec, ...] = ()


class NodeFaultSpec(FaultSpec, frozen=True, kw_only=True):
    """A fault and the nodes that it befalls."""

    # Names, ranges, `*`, or a share of the fleet such as `10%`, disjoint from other shares.
    nodes: str


class ScenarioSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    scenario: int
    rack_size: int = 16
    noise: float = 1.0
    jobs: list[object] = []
    faults: list[object] = []


class NodeFault(Fault, frozen=True, kw_only=True):
    """A checked fault and where it is."""

    nodes: tuple[str, ...]


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A checked scenario of a fleet."""

    rack_size: int = 16
    noise: float = 1.0
    jobs: tuple[Job, ...] = ()
    faults: tuple[NodeFault, ...] = ()


def everyday(names: tuple[str, ...]) -> Scenario:
    """What is played without a file: two jobs that share the fleet, and no fault."""
    half = max(1, len(names) * 5 // 8)
    jobs = [Job(name="pretraining", id="4711", nodes=names[:half], user="trainer", queue="train")]
    if names[half:-1]:
        jobs.append(
            Job(name="evaluation", id="4712", nodes=names[half:-1], user="eval", at_s=20, load=0.6)
        )
    return Scenario(jobs=tuple(jobs))
