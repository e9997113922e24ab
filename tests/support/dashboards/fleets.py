"""A fleet that a test feeds to the Fleet screen, and fleets worth looking at."""

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.documents.remedies import Commanded, RemediesPage
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.picture.model import FIELDS, FleetView, Problem, RecentHistory
from accelwatch.fleet.picture.remedies import Command
from accelwatch.fleet.wire import SCHEMA, DeviceNow, DeviceSlot, FleetDocument, FleetEvent, NodeNow
from accelwatch.node.usage.report import UsageReport
from accelwatch.remediation.policy.plan.model import Plan
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.app import Dashboard
from accelwatch.tui.state.board import Board
from support.dashboards.local import FedSource, Stage, board_of, node
from support.machines.composed import GIB, NOW

USERS = ("ada", "grace", "linus", "barbara")
MODELS = ("NVIDIA H100 80GB HBM3", "AMD Instinct MI300X", "Intel Gaudi 3")
# Monotonic seconds at which the tick arrived.
STARTED = 1000.0
_UNJUDGED = frozenset({"stale", "unreachable", "missing"})
# `n003` to a node's state, `n003/5` to a device's state, `n003/5!` to its health.
Faults = Mapping[str, str]
_GONE = {"stale": "stale", "down": "unreachable", "never": "unreachable"}
_AGES: Mapping[str, float | None] = {
    "up": 0.4,
    "slow": 4.2,
    "stale": 17.0,
    "down": 340.0,
    "never": None,
}


def values(number: int) -> tuple[Number | None, ...]:
    """Figures of a busy device; every seventh is idle."""
    load = 0.0 if number % 7 == 3 else (number * 37 % 100) / 100
    used = int(80 * GIB * (0.1 + load * 0.8))
    return load, used, 80 * GIB, 100 + 550 * load, 35 + 45 * load, 89.0, None


def slot_of(slot: int, name: str, index: int, rack: str) -> DeviceSlot:
    """A device with its owner: a job has two nodes, every fifth pair of nodes is idle."""
    pair = slot // 16
    free = pair % 5 == 4
    return DeviceSlot(
        slot=slot,
        node=name,
        labels={"rack": rack, "pool": "train" if pair % 2 == 0 else "serve"},
        id=f"nvidia:GPU-{slot:06d}",
        vendor="nvidia",
        index=index,
        name=f"nvidia{index}",
        kind="gpu",
        model=MODELS[pair % 3],
        uuid=f"GPU-{slot:06d}",
        parent_id=None,
        job=None if free else str(48100 + pair),
        user=None if free else USERS[pair % 4],
        queue=None if free else "batch",
    )


def fleet_view(
    count: int = 12,
    devices: int = 8,
    *,
    faults: Faults | None = None,
    events: Sequence[FleetEvent] = (),
) -> FleetView:
    """`count` nodes of some devices each, eight to a rack, with what is wrong with them."""
    faults = faults or {}
    names = [f"n{number:03d}" for number in range(1, count + 1)]
    slots: list[DeviceSlot] = []
    nows: list[DeviceNow] = []
    nodes: list[NodeNow] = []
    for number, name in enumerate(names):
        state = faults.get(name, "up")
        gone = [f for f, s in faults.items() if f.startswith(f"{name}/") and s == "missing"]
        nodes.append(NodeNow(name, state, _AGES[state], len(gone)))
        for index in range(0 if state == "never" else devices):
            slot = len(slots)
            slots.append(slot_of(slot, name, index, f"r{number // 8 + 1:02d}"))
            nows.append(_now(slot, state, faults.get(f"{name}/{index}", ""), faults, name, index))
    return FleetView(
        sequence=1,
        time=NOW,
        arrived_s=STARTED,
        sums=sums_of(nodes, nows),
        nodes=nodes,
        node_labels={
            name: {"rack": f"r{number // 8 + 1:02d}", "pool": "train"}
            for number, name in enumerate(names)
        }
        | {entry.node: entry.labels for entry in slots},
        slots=slots,
        devices=nows,
        events=tuple(events),
    )


def _now(
    slot: int, node_state: str, state: str, faults: Faults, name: str, index: int
) -> DeviceNow:
    if node_state not in SPEAKING:
        given = values(slot) if node_state == "stale" else (None,) * len(FIELDS)
        return DeviceNow(slot, _GONE[node_state], "unknown", _AGES[node_state], given)
    health = faults.get(f"{name}/{index}!", "ok")
    if state and state != "degraded":
        return DeviceNow(slot, state, "failed", None, (None,) * len(FIELDS))
    return DeviceNow(slot, state or "ok", health, 0.4, values(slot))


def fleet_document(**parts: Any) -> FleetDocument:
    """The sums of a fleet of which only some matter."""
    usual: dict[str, Any] = {
        "schema": SCHEMA,
        "version": "0.1.0",
        "time": "2027-01-15T08:00:00Z",
        "nodes_total": 0,
        "nodes": {},
        "devices_total": 0,
        "devices": {},
        "health": {},
        "power_watts": None,
        "memory_used_bytes": None,
        "memory_size_bytes": None,
        "utilization_ratio": None,
        "conflicts": (),
    }
    return FleetDocument(**{**usual, **parts})


def fleet_event(**parts: Any) -> FleetEvent:
    """An event of which only some parts matter."""
    usual: dict[str, Any] = {
        "sequence": 0,
        "time": 1.0,
        "device": "",
        "name": "",
        "category": "",
        "severity": "",
        "code": "",
        "text": "",
        "source": "",
        "subject": "",
        "trusted": True,
    }
    return FleetEvent(**{**usual, **parts})


def sums_of(nodes: Sequence[NodeNow], devices: Sequence[DeviceNow]) -> FleetDocument:
    """What the hub would say of all of them together."""
    fresh = [now for now in devices if now.values[0] is not None and now.state != "stale"]
    return fleet_document(
        nodes_total=len(nodes),
        nodes=Counter(one.state for one in nodes),
        devices_total=len(devices),
        devices=Counter(one.state for one in devices),
        health=Counter(one.health for one in devices if one.state not in _UNJUDGED),
        power_watts=sum(float(now.values[3] or 0) for now in fresh),
        memory_used_bytes=sum(int(now.values[1] or 0) for now in fresh),
        memory_size_bytes=sum(int(now.values[2] or 0) for now in fresh),
        utilization_ratio=sum(float(now.values[0] or 0) for now in fresh) / max(len(fresh), 1),
    )


def troubled(view: FleetView, *problems: str) -> FleetView:
    """A tick of a hub that says what it cannot do."""
    sums = msgspec.structs.replace(view.sums, problems=problems)
    return msgspec.structs.replace(view, sums=sums)


# One of each.
FAULTS: Faults = {
    "n003": "down",
    "n005": "stale",
    "n007": "slow",
    "n012": "never",
    "n002/3": "lost",
    "n002/5": "lost",
    "n004/1!": "degraded",
    "n006/7": "missing",
    "n009/0": "unresponsive",
    "n010/2!": "failed",
}


def event(number: int = 0, **changes: object) -> FleetEvent:
    """Something that happened on a node."""
    one = fleet_event(
        sequence=number,
        time=NOW - 600 + 60 * number,
        node=f"n{number + 1:03d}",
        device=f"nvidia:GPU-{number * 8:06d}",
        name="nvidia0",
        category="bus",
        severity=("critical", "warning", "info")[number % 3],
        code="xid_79",
        text="the device has fallen off the bus",
    )
    return msgspec.structs.replace(one, **changes)


class FedChanges:
    """Notes what is to be changed, unless it is to be refused."""

    def __init__(self) -> None:
        self.done: list[tuple[str, ...]] = []
        self.refusal = ""

    async def silence(self, matchers: Sequence[str], lasts: str, reason: str) -> str:
        return self._note("silence", *matchers, lasts, reason)

    async def expire_silence(self, id_: str) -> str:
        return self._note("end", id_)

    async def close(self, id_: str, reason: str) -> str:
        return self._note("close", id_, reason)

    def _note(self, *what: str) -> str:
        if self.refusal:
            raise AccelwatchError(self.refusal)
        self.done.append(what)
        return f"done: {what[0]}"


class FedRemedies:
    """Tells what it was given of remedies; notes words, and answers them as it was told to."""

    def __init__(self, page: RemediesPage | None = None, plan: Plan | None = None) -> None:
        self.current = page
        self.trouble = ""
        self.shown_plan = plan
        self.commands: list[Command] = []
        self.answer: Commanded | AccelwatchError = Commanded(notes=(), remedy=None)

    def page(self) -> RemediesPage | None:
        return self.current

    def problem(self) -> str:
        return self.trouble

    async def plan(self, node: str) -> Plan:
        if self.shown_plan is None:
            raise AccelwatchError("the hub shows no plan: answered 500")
        return msgspec.structs.replace(self.shown_plan, node=node)

    async def send_command(self, command: Command) -> Commanded:
        self.commands.append(command)
        if isinstance(self.answer, AccelwatchError):
            raise self.answer
        return self.answer


class FedFleet:
    """Shows what it is given; keeps what it was told."""

    name = "hub http://hub:9878"
    player = None

    def __init__(self, view: FleetView | None, shot: Snapshot | None = None) -> None:
        self.view = view
        self.shot = shot or node()
        self.trouble: Problem | None = None
        self.filters: list[str] = []
        self.interval_s: float | None = None
        self.acknowledged: list[tuple[str, str | None]] = []
        self.refusal: str = ""
        self.opened: list[str] = []
        self.sources: list[FedSource] = []
        self.device_history_answer: RecentHistory | None = None
        self.graphs_of: IncidentGraphs | None = None
        self.fleet_history_answer: RecentHistory | None = None
        self.fleet_history_requests = 0
        self.explanation: Explanation | None = None
        self.explained: list[tuple[str, str]] = []
        self.ended = False
        self.changes: FedChanges | None = FedChanges()
        self.remedies: FedRemedies | None = None

    async def run(self, changed: Callable[[], None]) -> None:
        """Tell once, then wait."""
        changed()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True

    def fleet(self) -> FleetView | None:
        """What was given last."""
        return self.view

    def problem(self) -> Problem | None:
        """What was given as wrong."""
        return self.trouble

    def set_filter(self, text: str) -> None:
        """Only noted."""
        self.filters.append(text)

    def set_interval(self, interval_s: float) -> None:
        """Only noted."""
        self.interval_s = interval_s

    async def acknowledge(self, node: str, device: str | None) -> str:
        """Only noted, unless it is to be refused."""
        if self.refusal:
            raise AccelwatchError(self.refusal)
        self.acknowledged.append((node, device))
        return f"{node}: 1 device is not expected any more"

    def open_node(self, node: str) -> FedSource:
        """The snapshot that all nodes have, under this node's name."""
        self.opened.append(node)
        self.sources.append(FedSource(msgspec.structs.replace(self.shot, host=node), local=False))
        return self.sources[-1]

    async def device_history(self, node: str, device: str) -> RecentHistory | None:
        """What was given for all devices."""
        return self.device_history_answer

    async def graphs(self, incident: str) -> IncidentGraphs | None:
        """What was given for all incidents."""
        return self.graphs_of

    async def fleet_history(self) -> RecentHistory | None:
        """What was given for the fleet."""
        self.fleet_history_requests += 1
        return self.fleet_history_answer

    async def explain(self, rule: str, entity: str) -> Explanation:
        """What was given, or that nothing is known."""
        self.explained.append((rule, entity))
        if self.explanation is None:
            raise AccelwatchError("the hub does not explain it: no rule is in force")
        return self.explanation

    async def usage(self, by: str, since: str) -> UsageReport:
        """Nobody has counted."""
        raise AccelwatchError(f"nobody counts by {by} since {since}")

    def close(self) -> None:
        """Nothing is held."""


@contextlib.asynccontextmanager
async def following(
    source: FedFleet,
    size: tuple[int, int] = (140, 40),
    *,
    board: Board | None = None,
    readonly: bool = False,
    path: Path = Path("unwritten.yaml"),
) -> AsyncIterator["FleetStage"]:
    """The dashboard of a fleet in a terminal of a size."""
    clock = ManualClock(wall=NOW + 0.25, monotonic=STARTED + 0.25)
    app = Dashboard(
        board or board_of(),
        None,
        fleet=source,
        clock=clock,
        readonly=readonly,
        preferences_path=path,
    )
    async with app.run_test(size=size) as pilot:
        stage = FleetStage(app, pilot)
        app.pull_fleet()
        await pilot.pause()
        yield stage


def hour() -> RecentHistory:
    """What a fleet came to over an hour: a dip, a gap of three minutes, devices that fall silent."""
    count = 360
    loads = [0.8 - 0.5 * math.exp(-(((n - 120) / 12) ** 2)) for n in range(count)]
    silent = [3.0 + 5.0 * (118 <= n < 130) for n in range(count)]
    values: dict[str, list[float | None]] = {
        "utilization_ratio": [*loads],
        "power_watts": [1e6 * load / 0.8 for load in loads],
        "memory_used_bytes": [4e12 + 1e9 * n / 360 for n in range(count)],
        "memory_size_bytes": [8e12] * count,
        "devices": [320.0] * count,
        "devices_not_answering": [*silent],
    }
    for line in values.values():
        line[200:218] = [None] * 18
    return RecentHistory(step_s=10, end=NOW, values=values)


class FleetStage(Stage):
    """A running dashboard of a fleet in the hands of a test."""

    @property
    def fed(self) -> FedFleet:
        """The source."""
        assert self.app.fleet_controller is not None
        source = self.app.fleet_controller.source
        assert isinstance(source, FedFleet)
        return source

    async def tick(self, view: FleetView) -> None:
        """A newer tick, painted."""
        self.fed.view = view
        self.app.pull_fleet()
        await self.pilot.pause()

    async def wait(self, seconds: float) -> None:
        """Time passes without a tick."""
        clock = self.app.clock
        assert isinstance(clock, ManualClock)
        clock.advance(seconds)
        self.app.pull_fleet()
        self.app.screen.show_age()  # type: ignore[attr-defined]  # a View
        await self.pilot.pause()

    def rows(self) -> list[str]:
        """The lines of the list, without its heading."""
        lines = self.text().splitlines()
        first = next(n for n, line in enumerate(lines) if "NODE" in line)
        return lines[first + 1 : -1]


Check = Callable[[FleetStage], Awaitable[None]]


def on(
    check: Check,
    *,
    size: tuple[int, int] = (140, 40),
    source: FedFleet | None = None,
    readonly: bool = False,
    **preferences: Any,
) -> FedFleet:
    """Run a check on the dashboard of a fleet with one of each fault."""
    fed = source or FedFleet(fleet_view(faults=FAULTS, events=[event(n) for n in range(5)]))

    async def go() -> None:
        board = board_of(**preferences)
        async with following(fed, size, board=board, readonly=readonly) as stage:
            await check(stage)

    asyncio.run(go())
    return fed


def names(stage: FleetStage) -> list[str]:
    """Nodes, or groups, in the order of the list."""
    assert stage.app.fleet_controller is not None
    return [row.node or f"<{row.group}>" for row in stage.app.fleet_controller.board.rows]
