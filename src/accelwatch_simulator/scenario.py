"""What a scenario file may say, and its loader: jobs over time and faults over time."""

from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import msgspec

from accelwatch.durations import seconds
from accelwatch.errors import UsageError
from accelwatch.fleet.ranges import expand
from accelwatch.located_yaml.document import Document, read
from accelwatch.located_yaml.nodes import Place
from accelwatch.schema.event import Category
from accelwatch_simulator.jobs import Job, Stall, StallKind

FORMAT = 1
Duration = float | int | str


class FaultKind(StrEnum):
    """What goes wrong, with a device or with a whole node."""

    LOST = "lost"
    HUNG = "hung"
    XID = "xid"
    THROTTLE = "throttle"
    ECC = "ecc"
    LINK_DOWN = "link_down"
    STRAGGLER = "straggler"
    NODE_DOWN = "node_down"
    """Connections are cut as soon as they ask something."""
    NODE_HUNG = "node_hung"
    """Connections are taken and nothing is ever answered; streams fall silent."""
    SLOW_LORIS = "slow_loris"
    """Answers drip, a byte at a time."""
    GARBAGE = "garbage"
    """Answers are noise with a good status code."""
    CLOCK_SKEW = "clock_skew"


NODE_KINDS = frozenset(
    {
        FaultKind.NODE_DOWN,
        FaultKind.NODE_HUNG,
        FaultKind.SLOW_LORIS,
        FaultKind.GARBAGE,
        FaultKind.CLOCK_SKEW,
    }
)


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
    warm_up: Duration = "1m"
    step: Duration = "8s"
    load: float = 0.92
    memory: float = 0.82
    checkpoint: CheckpointSpec = CheckpointSpec()
    stalls: tuple[StallSpec, ...] = ()


class FaultSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One fault from `at` until `back`, or for ever; with `every` it comes again."""

    kind: FaultKind
    nodes: str
    """Names, ranges, `*`, or a share of the fleet such as `10%`, disjoint from other shares."""
    device: int | str = "*"
    """Index on the node, or `*`."""
    at: Duration = 0
    back: Duration | None = None
    every: Duration | None = None
    code: str | int = "xid_79"
    """A bare number is NVIDIA's: 79 is `xid_79`."""
    category: Category = Category.BUS
    text: str = ""
    reason: str = "thermal_hardware"
    severity: str = "corrected"
    count: int = 1
    """Links that are down; errors a second of `ecc`."""
    factor: float = 0.6
    """Share of the usual clock and work of `throttle` and `straggler`."""
    by: Duration = "1m"
    """Of `clock_skew`; a minus sign sets the clock back."""

    @property
    def event_code(self) -> str:
        """The code as events and counters have it."""
        return self.code if isinstance(self.code, str) else f"xid_{self.code}"


class ScenarioSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    scenario: int
    rack_size: int = 16
    noise: float = 1.0
    jobs: list[object] = []
    faults: list[object] = []


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A checked fault; times in seconds."""

    spec: FaultSpec
    nodes: tuple[str, ...]
    at_s: float
    lasts_s: float | None
    every_s: float | None
    by_s: float


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A checked scenario of a fleet."""

    rack_size: int = 16
    noise: float = 1.0
    jobs: tuple[Job, ...] = ()
    faults: tuple[Fault, ...] = ()


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
    _within(document, spec.rack_size, 1, 10_000, ("rack_size",))
    _within(document, spec.noise, 0, 5, ("noise",))
    reader = _Reader(document, names, devices, order)
    jobs = [
        (place, reader.job(job, place))
        for place, job in document.structs(spec.jobs, JobSpec, ("jobs",))
    ]
    _check_owners(document, jobs)
    faults = tuple(
        reader.fault(fault, place)
        for place, fault in document.structs(spec.faults, FaultSpec, ("faults",))
    )
    document.refuse()
    return Scenario(
        rack_size=spec.rack_size,
        noise=spec.noise,
        jobs=tuple(job for _, job in jobs),
        faults=faults,
    )


def _check_owners(document: Document, jobs: list[tuple[Place, Job]]) -> None:
    """A node has one job."""
    owners: dict[str, str] = {}
    for place, job in jobs:
        for node in job.nodes:
            if owners.setdefault(node, job.name) != job.name:
                document.complain((*place, "nodes"), f"{node} belongs to {owners[node]} already")


def _within(document: Document, value: float, least: float, most: float, place: Place) -> None:
    if not least <= value <= most:
        document.complain(place, f"{value:g} is not between {least:g} and {most:g}")


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
        _within(self._document, spec.load, 0, 1, (*place, "load"))
        _within(self._document, spec.memory, 0, 0.95, (*place, "memory"))
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

    def fault(self, spec: FaultSpec, place: Place) -> Fault:
        self._check_device(spec, place)
        at_s = self._seconds(spec.at, (*place, "at"))
        back_s = self._optional(spec.back, (*place, "back"))
        if back_s is not None and back_s <= at_s:
            self._document.complain((*place, "back"), "back must be after at")
        lasts_s = None if back_s is None else back_s - at_s
        every_s = self._optional(spec.every, (*place, "every"))
        once = spec.kind is FaultKind.XID
        if every_s is not None and (every_s <= 0 or (not once and (lasts_s or every_s) >= every_s)):
            text = "a fault that comes again must be back before that"
            self._document.complain((*place, "every"), text)
        _within(self._document, spec.factor, 0, 1, (*place, "factor"))
        _within(self._document, spec.count, 1, 1_000_000, (*place, "count"))
        return Fault(
            spec=spec,
            nodes=self._nodes(spec.nodes, (*place, "nodes")),
            at_s=at_s,
            lasts_s=lasts_s,
            every_s=every_s,
            by_s=self._signed(spec.by, (*place, "by")),
        )

    def _check_device(self, spec: FaultSpec, place: Place) -> None:
        device = spec.device
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
        found: list[str] = []
        for piece in _split(text):
            try:
                wanted = expand(piece)
            except UsageError as error:
                self._document.complain(place, str(error))
                continue
            for name in wanted:
                if name not in self._known:
                    told = f"no node {name!r}; there are {self._names[0]} to {self._names[-1]}"
                    self._document.complain(place, told)
            found += wanted
        return tuple(dict.fromkeys(found))

    def _share(self, text: str, place: Place) -> tuple[str, ...]:
        try:
            share = float(text[:-1]) / 100
        except ValueError:
            share = -1.0
        if not 0 < share <= 1:
            self._document.complain(place, f"{text!r} is no share of the fleet")
            return ()
        count = max(1, round(share * len(self._order)))
        dealt = [self._order[(self._dealt + at) % len(self._order)] for at in range(count)]
        self._dealt += count
        return tuple(sorted(dealt))

    def _seconds(self, given: Duration, place: Place) -> float:
        value = self._signed(given, place)
        if value < 0:
            self._document.complain(place, "a duration must not be negative")
        return value

    def _signed(self, given: Duration, place: Place) -> float:
        if isinstance(given, int | float):
            return float(given)
        try:
            return -seconds(given[1:]) if given.startswith("-") else seconds(given)
        except UsageError as error:
            self._document.complain(place, str(error))
            return 0.0

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
