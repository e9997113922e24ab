"""From a scenario's file to a checked scenario, with file, line and key of every mistake."""

from itertools import pairwise
from pathlib import Path

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import expand
from accelwatch.system.located_yaml.document import LocatedDocument, read
from accelwatch.system.located_yaml.nodes import Location
from accelwatch_lab.scenario.faults import (
    CALL_KINDS,
    NODE_KINDS,
    Duration,
    read_fault,
    read_seconds,
    with_current_names,
    within,
)
from accelwatch_lab.simulator.jobs import Job, Stall, overlap
from accelwatch_lab.simulator.scenario import (
    JobSpec,
    NodeFault,
    NodeFaultSpec,
    Scenario,
    ScenarioSpec,
)

FORMAT = 1


def read_scenario(path: Path, names: tuple[str, ...], devices: int, order: list[str]) -> Scenario:
    """Load and check a file for a fleet of these nodes; `order` deals out shares of it.

    Raises ConfigError with file, line and key of every mistake.
    """
    return check(read(path), names, devices, order)


def check(
    document: LocatedDocument, names: tuple[str, ...], devices: int, order: list[str]
) -> Scenario:
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
        (location, reader.job(job, location))
        for location, job in document.structs(spec.jobs, JobSpec, ("jobs",))
    ]
    _check_owners(document, jobs)
    faults = tuple(
        reader.fault(fault, location)
        for location, fault in document.structs(
            [with_current_names(fault) for fault in spec.faults], NodeFaultSpec, ("faults",)
        )
    )
    document.refuse()
    return Scenario(
        rack_size=spec.rack_size,
        noise=spec.noise,
        jobs=tuple(job for _, job in jobs),
        faults=faults,
    )


def _check_owners(document: LocatedDocument, jobs: list[tuple[Location, Job]]) -> None:
    """A node has one job at a time."""
    names: set[str] = set()
    owners: dict[str, list[Job]] = {}
    for location, job in jobs:
        if job.name in names:
            document.complain((*location, "name"), f"there is a job {job.name!r} already")
        names.add(job.name)
        for node in job.nodes:
            allocated = owners.setdefault(node, [])
            other = next((earlier for earlier in allocated if overlap(earlier, job)), None)
            if other is not None:
                text = f"{node} belongs to {other.name} already"
                document.complain((*location, "nodes"), text)
                break
            allocated.append(job)


class _Reader:
    def __init__(
        self, document: LocatedDocument, names: tuple[str, ...], devices: int, order: list[str]
    ) -> None:
        self._document = document
        self._names = names
        self._valid_names = frozenset(names)
        self._devices = devices
        self._order = order
        self._dealt = 0

    def job(self, spec: JobSpec, location: Location) -> Job:
        saving = spec.checkpoint
        within(self._document, spec.load, 0, 1, (*location, "load"))
        within(self._document, spec.memory, 0, 0.95, (*location, "memory"))
        step_s = self._seconds(spec.step, (*location, "step"))
        if step_s <= 0:
            self._document.complain((*location, "step"), "a step takes time")
        return Job(
            name=spec.name,
            id=str(spec.id) or spec.name,
            nodes=self._nodes(spec.nodes, (*location, "nodes")),
            user=spec.user,
            account=spec.account,
            queue=spec.queue,
            namespace=spec.namespace,
            command=spec.command,
            at_s=self._seconds(spec.at, (*location, "at")),
            lasts_s=self._optional(spec.lasts, (*location, "lasts")),
            loading_s=self._seconds(spec.loading, (*location, "loading")),
            warm_up_s=self._seconds(spec.warm_up, (*location, "warm_up")),
            step_s=step_s,
            load=spec.load,
            memory=spec.memory,
            checkpoint_every_s=self._seconds(saving.every, (*location, "checkpoint", "every")),
            checkpoint_lasts_s=self._seconds(saving.lasts, (*location, "checkpoint", "lasts")),
            stalls=self._stalls(spec, (*location, "stalls")),
        )

    def _stalls(self, spec: JobSpec, location: Location) -> tuple[Stall, ...]:
        stalls = tuple(
            Stall(
                self._seconds(stall.at, (*location, at, "at")),
                self._seconds(stall.lasts, (*location, at, "lasts")),
                stall.kind,
            )
            for at, stall in enumerate(spec.stalls)
        )
        for before, after in pairwise(stalls):
            if after.at_s < before.at_s + before.lasts_s and not self._document.is_wrong(location):
                text = "stalls must be in order of time, each after the end of the one before"
                self._document.complain(location, text)
        return stalls

    def fault(self, spec: NodeFaultSpec, location: Location) -> NodeFault:
        self._check_device(spec, location)
        fault = read_fault(self._document, spec, location)
        nodes = self._nodes(spec.nodes, (*location, "nodes"))
        return NodeFault(**msgspec.structs.asdict(fault), nodes=nodes)

    def _check_device(self, spec: NodeFaultSpec, location: Location) -> None:
        device = spec.device
        if spec.kind in CALL_KINDS:
            text = f"{spec.kind.value} befalls a call of a backend; a replay plays it"
            self._document.complain((*location, "kind"), text)
        if isinstance(device, int) and not 0 <= device < self._devices:
            text = f"no device {device}; there are 0 to {self._devices - 1}"
            self._document.complain((*location, "device"), text)
        if isinstance(device, str) and device != "*":
            self._document.complain((*location, "device"), "an index or * is expected")
        if spec.kind in NODE_KINDS and device != "*":
            text = f"{spec.kind.value} affects the whole node"
            self._document.complain((*location, "device"), text)

    def _nodes(self, text: str, location: Location) -> tuple[str, ...]:
        if text == "*":
            return self._names
        if text.endswith("%"):
            return self._share(text, location)
        nodes: list[str] = []
        for piece in _split(text):
            try:
                expanded = expand(piece)
            except UsageError as error:
                self._document.complain(location, str(error))
                continue
            for name in expanded:
                if name not in self._valid_names:
                    complaint = f"no node {name!r}; there are {self._names[0]} to {self._names[-1]}"
                    self._document.complain(location, complaint)
            nodes += expanded
        return tuple(dict.fromkeys(nodes))

    def _share(self, text: str, location: Location) -> tuple[str, ...]:
        try:
            share = float(text[:-1]) / 100
        except ValueError:
            share = -1.0
        if not 0 < share <= 1:
            self._document.complain(location, f"{text!r} is not a valid share of the fleet")
            return ()
        count = max(1, round(share * len(self._order)))
        dealt = [self._order[(self._dealt + at) % len(self._order)] for at in range(count)]
        self._dealt += count
        return tuple(sorted(dealt))

    def _seconds(self, duration: Duration, location: Location) -> float:
        return read_seconds(self._document, duration, location)

    def _optional(self, duration: Duration | None, location: Location) -> float | None:
        return None if duration is None else self._seconds(duration, location)


def _split(text: str) -> list[str]:
    """Parts between commas that are outside brackets."""
    pieces, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces if piece.strip()]
