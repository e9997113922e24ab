"""The fleet's state: nodes by name, fed by followers, expected by the inventory.

Everything here runs on the loop; only the inventory file is written on a thread.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError
from accelwatch.fleet.dialects.base.precedence import PRECEDENCE, ranker
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.follow.frames import Received
from accelwatch.fleet.leader_note import LeaderNote
from accelwatch.fleet.listing import Listing
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.state.boards.lemon_board import LemonBoard
from accelwatch.fleet.state.boards.odd_board import OddBoard
from accelwatch.fleet.state.events import EventLog
from accelwatch.fleet.state.evidence.board import EvidenceBoard
from accelwatch.fleet.state.evidence.file import EvidenceFile
from accelwatch.fleet.state.expected_nodes import ExpectedNodes, merge_expected
from accelwatch.fleet.state.history import History
from accelwatch.fleet.state.history_store import HistoryStore
from accelwatch.fleet.state.nodes.claims import Claims
from accelwatch.fleet.state.nodes.listed_devices import learn_listing, left_out
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.state.rows.groups import GroupIndex
from accelwatch.fleet.state.rows.table import Table
from accelwatch.fleet.state.source_events import counted_events, event_counts, record_events
from accelwatch.fleet.state.target_sources import TargetSources
from accelwatch.fleet.table.columns import ColumnStore
from accelwatch.fleet.target import Target
from accelwatch.fleet.wire import NodeFinding, StoreState
from accelwatch.schema.snapshot import DeviceView


class Fleet:
    """Everything known about the nodes."""

    def __init__(self, clock: Clock, thresholds: Thresholds, state_dir: Path | None) -> None:
        """An inventory that cannot be read or written is reported in `problems`."""
        self.clock = clock
        self.thresholds = thresholds
        self.nodes: dict[str, Node] = {}
        self.columns = ColumnStore()
        history = History()
        self.table = Table(history.clear)
        self.history = HistoryStore(clock, self.table, history)
        self.groups = GroupIndex(self.table)
        # Which nodes differ from the many alike.
        self.odd = OddBoard(self.nodes)
        # In which nodes hardware is that has failed again and again.
        self.lemons = LemonBoard(self.nodes)
        self.events = EventLog()
        # Evidence that others sent and that has not expired.
        self.evidence = EvidenceBoard(clock.wall)
        self.evidence_file = EvidenceFile(state_dir)
        for alert in self.evidence_file.read():
            self.evidence.activate(alert)
        self._claims = Claims()
        # Grows when a node answers for the first time, and when the devices of one may be others.
        self.membership = 0
        # Called when an agent reports an event, or a device that goes or changes state.
        self.hurry: Callable[[], None] = lambda: None
        # Why targets or evidence may be lacking.
        self.lacking: Callable[[], tuple[str, ...]] = tuple
        # Which of several hubs leads; None of a hub whose journal no other can have.
        self.leader_note: Callable[[], LeaderNote | None] = lambda: None
        # Discoveries that have not answered yet.
        self.discovering: Callable[[], tuple[str, ...]] = tuple
        # What a detector suspects a node of; nothing where none runs.
        self.finding_of: Callable[[str], NodeFinding | None] = lambda _node: None
        # How the store is read, where the fleet is read from one.
        self.store: StoreState | None = None
        self._rank = ranker(PRECEDENCE)
        self._expected = ExpectedNodes(
            clock, state_dir, lambda node: self.state_of(node) is NodeState.DOWN
        )
        self._inventory = self._expected.inventory
        self._sources = TargetSources(self.columns)
        self.started = clock.monotonic()
        for name, expected in self._inventory.expected.items():
            self.nodes[name] = Node(name, expected, self.started)

    def set_targets(self, targets: Iterable[Target]) -> None:
        """Replace the targets; a source that stays keeps its data."""
        had = {name: list(node.sources.values()) for name, node in self.nodes.items()}
        arrived = {
            existing.name: existing.best.arrived_wall
            for existing in self.nodes.values()
            if existing.best
        }
        for node in self.nodes.values():
            node.sources = {}
        self._sources.replace(targets, self._node)
        for name, node in list(self.nodes.items()):
            if node.unlisted and node.expected is None:
                del self.nodes[name]
                self.events.forget(name)
            elif node.unlisted and node.expected is not None and name in arrived:
                # The time went with the sources; the inventory has to know it from now on.
                node.expected.last_seen = arrived[name]
                self._expected.update(node, node.expected)
            if list(node.sources.values()) != had.get(name):
                self._regather(node)
        self.table.sync(self.nodes)

    def believe(self, order: Sequence[str]) -> None:
        """In which order the dialects of one node's sources are believed from now on."""
        self._rank = ranker(order)
        for node in self.nodes.values():
            self._regather(node)

    def verify(self, verified: bool) -> None:
        """Whether the certificates of targets that are read over TLS are verified from now on."""
        if self._sources.verify(verified):
            for node in self.nodes.values():
                node.shape += 1

    def _node(self, name: str) -> Node:
        node = self.nodes.get(name)
        if node is None:
            node = self.nodes[name] = Node(name, None, self.clock.monotonic())
        return node

    def source(self, key: str) -> TargetSource | None:
        """The source of a target, while it is one."""
        followed = self._sources.get(key)
        return None if followed is None else followed[1]

    def accept(self, key: str, message: Received, size: int) -> None:
        """A message of a target's stream. Raises TargetFault when it makes no sense."""
        followed = self._sources.get(key)
        if followed is None:
            return
        node, source = followed
        now = self.clock.monotonic()
        node.version += 1
        restated, answered_before = source.restated, source.arrived is not None
        others = source.accept(message, size, self.clock.wall(), now)
        if others:
            self._regather(node)
        # Only a tick arrives: hellos, layouts and context say nothing of now.
        if source.arrived == now:
            self.membership += not answered_before
            self.history.store(node, now)
            self._expected.update_last_seen(node, source.arrived_wall)
            events, source.events = source.events, []
            if events:
                record_events(self.events, node, source, events, again=source.opening)
            # What a stream begins with may be known from before.
            urgent = others or events or source.restated != restated
            opening, source.opening = source.opening, False
            if urgent and not opening:
                self.hurry()

    def read(
        self,
        key: str,
        views: Iterable[DeviceView],
        node_time: float | None,
        interval_s: float,
        age_s: float = 0.0,
        *,
        listing: Listing | None = None,
    ) -> None:
        """The devices of a target's exposition, which is `age_s` old: a store returns the past.

        `listing` is whether it lists devices that no pod holds, where it shows that.
        """
        followed = self._sources.get(key)
        if followed is None:
            return
        node, source = followed
        now = self.clock.monotonic()
        counts = event_counts(source)
        node.version += 1
        listed = list(views)
        if (learnt := learn_listing(node, source, listing, listed)) is not None:
            self._expected.update(node, learnt)
        unlisted = left_out(node, source, listing, listed, self.clock.wall() - age_s)
        others = source.read([*listed, *unlisted], interval_s)
        source.arrive(node_time, self.clock.wall() - age_s, now - age_s)
        events = counted_events(source, counts)
        if events:
            record_events(self.events, node, source, events, again=False)
        # It may be the first to report at all, or again after others did.
        if others or node.expected is None or not node.settled:
            self._regather(node)
        self.history.store(node, now)
        self._expected.update_last_seen(node, source.arrived_wall)

    def fail(self, key: str, fault: TargetFault) -> None:
        """An attempt to read a target failed."""
        followed = self._sources.get(key)
        if followed is not None:
            followed[1].fail(fault)

    def state_of(self, node: Node) -> NodeState:
        """How fresh a node is now."""
        return node.state(self.clock.monotonic(), self.thresholds)

    def age_of(self, node: Node) -> float | None:
        """Seconds since something arrived; None when nothing ever has.

        What arrived before the hub began, or before the node's targets went, is known by the inventory.
        """
        age_s = node.age_s(self.clock.monotonic())
        if age_s is None and node.expected is not None:
            return max(0.0, self.clock.wall() - node.expected.last_seen)
        return age_s

    def sweep(self) -> None:
        """Let a source that has fallen silent give way to others of its node; now and then."""
        for node in self.nodes.values():
            if len(node.sources) > 1 and not node.settled:
                self._regather(node)

    def _regather(self, node: Node) -> None:
        self.membership += 1
        before = set(node.devices)
        claimed = node.uuids
        node.gather(self._rank)
        self._claims.change(node.name, claimed, node.uuids)
        # What has gone stays expected until somebody acknowledges it; only what is new is written down.
        if not before >= node.devices.keys() or node.expected is None:
            self._expected.expect(node, len(self.nodes))

    def conflicts(self) -> Mapping[str, set[str]]:
        """Uuids that more than one node claims, with the nodes."""
        return self._claims.conflicts

    async def acknowledge(self, name: str, device_id: str | None = None) -> int:
        """Acknowledge that missing devices have gone, one or all of a node; returns how many.

        One that its exporter may leave out counts as missing where it is named.
        A node that is down is marked as acknowledged until it is seen again; one that no target stands
        for any more is forgotten. Durable when it returns. Raises UnmetError, InventoryError.
        """
        node = self.nodes.get(name)
        if node is None:
            raise UnmetError(f"no node {name[:100]!r}")
        if device_id is None and node.unlisted:
            return await self._forget(node)
        count = self._expected.acknowledge(node, device_id)
        await self.flush()
        return count

    async def _forget(self, node: Node) -> int:
        del self.nodes[node.name]
        self.table.sync(self.nodes)
        self.events.forget(node.name)
        count = self._expected.forget(node)
        await self.flush()
        return count

    @property
    def owns_folder(self) -> bool:
        """Whether the state folder is this hub's: no other hub keeps anything there meanwhile."""
        return self._inventory.owns_folder

    @property
    def forgetful(self) -> tuple[str, ...]:
        """What is wrong with the inventory; empty when all that is known outlives the hub."""
        return self._inventory.problems

    @property
    def unread(self) -> tuple[str, ...]:
        """Which files were left as they are because they could not be read, or be written, and why."""
        return tuple(why for why in (self._inventory.unusable, self.evidence_file.problem) if why)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the inventory, standing evidence, and finding targets."""
        evidence = (self.evidence_file.problem,) if self.evidence_file.problem else ()
        return (*self.forgetful, *evidence, *self.lacking())

    async def flush(self) -> None:
        """Write down what has changed. Raises InventoryError; what could not be written is kept."""
        await self._inventory.flush()

    async def reopen_inventory(self) -> None:
        """Try to keep an inventory that could not be kept, and expect what it holds as well."""
        expected = await self._inventory.open_again()
        for name, kept in expected.items():
            node = self.nodes.setdefault(name, Node(name, None, self.started))
            merge_expected(node, kept)
        if expected:
            self.table.sync(self.nodes)

    def close(self) -> None:
        """Close the inventory; what is not written by then is lost."""
        self._inventory.close()
