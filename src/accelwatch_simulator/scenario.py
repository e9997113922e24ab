"""What a scenario file may say, and its loader: jobs over time and faults over time."""

from itertools import pairwise
from pathlib import Path

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.host_ranges import expand
from accelwatch.located_yaml.document import Document, read
from accelwatch.located_yaml.nodes import Place
from accelwatch.scenario.faults import (
    CALL_KINDS,
    NODE_KINDS,
    Duration,
    Fault,
    FaultSpec,
    in_todays_words,
    read_fault,
    read_seconds,
    within,
)
from accelwatch_simulator.jobs import Job, Stall, StallKind, overlap

FORMAT = 1


class CheckpointSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How often a job saves its state (`every: 0` for never), and how long that takes."""

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
    namespace: str = ""
    """Makes it pods of Kubernetes instead of a batch job."""
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

    nodes: str
    """Names, ranges, `*`, or a share of the fleet such as `10%`, disjoint from other shares."""


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


def read_scenario(path: Path, names: tuple[str, ...], devices: int, order: list[str]) -> Scenario:
    """Load and check a file for a fleet of these nodes; `order` deals out shares of it.

    Raises ConfigError with file, line and key of every mistake.
    """
    return check(read(path), names, devices, order)


def check(document: Document, names: tuple[str, ...], devices: int, order: list[str]) -> Scenario:
    """A document as a scenario. Raises ConfigError with file, line and key."""
    if not isinstance(document.data, dict) or "scenario" not in document.data:
        raise document.error((), "no scenario: `scenario: 1` is expected at the top")
    spec = document.struct(document.data, ScenarioSpec, ())
    if spec is None:
        document.refuse()
        raise document.error((), "no scenario")
    if spec.scenario != FORMAT:
        raise document.error(("scenario",), f"this version reads format {FORMAT}")
    within(document, spec.rack_size, 1, 10_000, ("rack_size",))
    within(document, spec.noise, 0, 5, ("noise",))
    reader = _Reader(document, names, devices, order)
    jobs = [
        (place, reader.job(job, place))
        for place, job in document.structs(spec.jobs, JobSpec, ("jobs",))
    ]
    _check_owners(document, jobs)
    faults = tuple(
        reader.fault(fault, place)
        for place, fault in document.structs(
            [in_todays_words(fault) for fault in spec.faults], NodeFaultSpec, ("faults",)
        )
    )
    document.refuse()
    return Scenario(
        rack_size=spec.rack_size,
        noise=spec.noise,
        jobs=tuple(job for _, job in jobs),
        faults=faults,
    )


def _check_owners(document: Document, jobs: list[tuple[Place, Job]]) -> None:
    """A node has one job at a time."""
    names: set[str] = set()
    owners: dict[str, list[Job]] = {}
    for place, job in jobs:
        if job.name in names:
            document.complain((*place, "name"), f"there is a job {job.name!r} already")
        names.add(job.name)
        for node in job.nodes:
            held = owners.setdefault(node, [])
            other = next((one for one in held if overlap(one, job)), None)
            if other is not None:
                text = f"{node} belongs to {other.name} already"
                document.complain((*place, "nodes"), text)
                break
            held.append(job)


class _Reader:
    def __init__(
        self, document: Document, names: tuple[str, ...], devices: int, order: list[str]
    ) -> None:
        self._document = document
        self._names = names
        self._known = frozenset(names)
        self._devices = devices
        self._order = order
        self._dealt = 0

    def job(self, spec: JobSpec, place: Place) -> Job:
        saving = spec.checkpoint
        within(self._document, spec.load, 0, 1, (*place, "load"))
        within(self._document, spec.memory, 0, 0.95, (*place, "memory"))
        step_s = self._seconds(spec.step, (*place, "step"))
        if step_s <= 0:
            self._document.complain((*place, "step"), "a step takes time")
        return Job(
            name=spec.name,
            id=str(spec.id) or spec.name,
            nodes=self._nodes(spec.nodes, (*place, "nodes")),
            user=spec.user,
            account=spec.account,
            queue=spec.queue,
            namespace=spec.namespace,
            command=spec.command,
            at_s=self._seconds(spec.at, (*place, "at")),
            lasts_s=self._optional(spec.lasts, (*place, "lasts")),
            loading_s=self._seconds(spec.loading, (*place, "loading")),
            warm_up_s=self._seconds(spec.warm_up, (*place, "warm_up")),
            step_s=step_s,
            load=spec.load,
            memory=spec.memory,
            checkpoint_every_s=self._seconds(saving.every, (*place, "checkpoint", "every")),
            checkpoint_lasts_s=self._seconds(saving.lasts, (*place, "checkpoint", "lasts")),
            stalls=self._stalls(spec, (*place, "stalls")),
        )

    def _stalls(self, spec: JobSpec, place: Place) -> tuple[Stall, ...]:
        stalls = tuple(
            Stall(
                self._seconds(stall.at, (*place, at, "at")),
                self._seconds(stall.lasts, (*place, at, "lasts")),
                stall.kind,
            )
            for at, stall in enumerate(spec.stalls)
        )
        for before, after in pairwise(stalls):
            if after.at_s < before.at_s + before.lasts_s and not self._document.is_wrong(place):
                text = "stalls must be in order of time, each after the end of the one before"
                self._document.complain(place, text)
        return stalls

    def fault(self, spec: NodeFaultSpec, place: Place) -> NodeFault:
        self._check_device(spec, place)
        fault = read_fault(self._document, spec, place)
        nodes = self._nodes(spec.nodes, (*place, "nodes"))
        return NodeFault(**msgspec.structs.asdict(fault), nodes=nodes)

    def _check_device(self, spec: NodeFaultSpec, place: Place) -> None:
        device = spec.device
        if spec.kind in CALL_KINDS:
            text = f"{spec.kind.value} befalls a call of a backend; a replay plays it"
            self._document.complain((*place, "kind"), text)
        if isinstance(device, int) and not 0 <= device < self._devices:
            text = f"no device {device}; there are 0 to {self._devices - 1}"
            self._document.complain((*place, "device"), text)
        if isinstance(device, str) and device != "*":
            self._document.complain((*place, "device"), "an index or * is expected")
        if spec.kind in NODE_KINDS and device != "*":
            text = f"{spec.kind.value} befalls the whole node"
            self._document.complain((*place, "device"), text)

    def _nodes(self, text: str, place: Place) -> tuple[str, ...]:
        if text == "*":
            return self._names
        if text.endswith("%"):
            return self._share(text, place)
        nodes: list[str] = []
        for piece in _split(text):
            try:
                wanted = expand(piece)
            except UsageError as error:
                self._document.complain(place, str(error))
                continue
            for name in wanted:
                if name not in self._known:
                    complaint = f"no node {name!r}; there are {self._names[0]} to {self._names[-1]}"
                    self._document.complain(place, complaint)
            nodes += wanted
        return tuple(dict.fromkeys(nodes))

    def _share(self, text: str, place: Place) -> tuple[str, ...]:
        try:
            share = float(text[:-1]) / 100
        except ValueError:
            share = -1.0
        if not 0 < share <= 1:
            self._document.complain(place, f"{text!r} is not a valid share of the fleet")
            return ()
        count = max(1, round(share * len(self._order)))
        dealt = [self._order[(self._dealt + at) % len(self._order)] for at in range(count)]
        self._dealt += count
        return tuple(sorted(dealt))

    def _seconds(self, given: Duration, place: Place) -> float:
        return read_seconds(self._document, given, place)

    def _optional(self, given: Duration | None, place: Place) -> float | None:
        return None if given is None else self._seconds(given, place)


def _split(text: str) -> list[str]:
    """Parts between commas that are outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
