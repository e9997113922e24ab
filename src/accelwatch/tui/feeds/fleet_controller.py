"""Between the dashboard and the source of a fleet: counts ticks in slices, opens nodes, leaves them."""

import asyncio
import gc
from collections.abc import Coroutine

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.picture.model import MEMORY_SIZE, FleetSource, FleetView
from accelwatch.fleet.picture.source import NoSource
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.feeds.fleet_host import FleetHost
from accelwatch.tui.feeds.hub_readings import readings_of
from accelwatch.tui.feeds.incident_queries import IncidentQueries
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.filters import TextFilter, condition
from accelwatch.tui.fleet.node_view import NodeStatus, aged
from accelwatch.tui.fleet.query_cache import QueryCache

# Devices that are counted without giving way.
_AT_ONCE = 1000


class FleetController:
    """Owns the board of the fleet and the tasks around it."""

    def __init__(self, app: FleetHost, source: FleetSource) -> None:
        self._app = app
        self.source = source
        self.board = FleetBoard(app.board.preferences, app.clock.monotonic, source.name)
        # Who uses the fleet's devices: by `user` or `job`, and since when.
        self.usage = QueryCache(source.usage, self.aside, app.clock.monotonic, app.show)
        # What the fleet came to over the last hour.
        self.totals = QueryCache(source.fleet_history, self.aside, app.clock.monotonic, app.show)
        self.incident_queries = IncidentQueries(source, self.board, self.aside, app.show)
        # The node whose Local view is open.
        self.visited = ""
        self._running: asyncio.Task[None] | None = None
        self._counting: asyncio.Task[None] | None = None
        self._next: FleetView | None = None
        self._settled = False
        self._asides: set[asyncio.Task[None]] = set()
        self._remembering: asyncio.Task[None] | None = None

    def now(self) -> float:
        """Unix seconds that ages count from: the recorded moment, else now."""
        return self.board.wall(self._app.clock.wall())

    def start(self) -> None:
        """Start following."""
        self.source.set_interval(self._app.board.preferences.fleet_interval_s)
        self._running = asyncio.create_task(self.source.run(self._app.schedule_fleet_pull))
        self._running.add_done_callback(self._app.report_task_failure)

    async def stop(self) -> None:
        """End all that was started."""
        tasks = [task for task in (*self._asides, self._counting, self._running) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def pull(self) -> None:
        """Read the newest tick, unless the picture is paused."""
        view = self.source.fleet()
        self.board.problem = self.source.problem()
        acted = self.board.remedies.acts
        self.board.remedies.read_remedies(self.source.remedies)
        if self.board.remedies.acts is not acted:
            self._app.keys_changed()
        if self.visited and self.source.player is not None:
            self._reload_history()
        if view is None or self._app.board.paused:
            self._app.show()
        else:
            self._accept(view)

    @property
    def counting(self) -> bool:
        """Whether a tick is being counted between other work."""
        return self._counting is not None

    def recount(self) -> None:
        """Count the tick that is shown again: the view of it has changed."""
        if self.board.view is not None:
            self._accept(self.board.view)

    def _accept(self, view: FleetView) -> None:
        """At once when it is small, else between other work."""
        if self._counting is not None:
            self._next = view
        elif len(view.devices) <= _AT_ONCE:
            for _ in self.board.count(view):
                pass
            self._app.show()
        else:
            self._next = view
            self._counting = asyncio.create_task(self._count())
            self._counting.add_done_callback(self._app.report_task_failure)

    async def _count(self) -> None:
        try:
            while (view := self._next) is not None:
                self._next = None
                for _ in self.board.count(view):
                    await asyncio.sleep(0)
                await asyncio.sleep(0)
                self._app.show()
                self._app.call_after_refresh(self._settle)
        finally:
            self._counting = None

    def _settle(self) -> None:
        """What the program and a large fleet consist of stays: leave it out of garbage collection.

        Each full collection would else walk over all of it, which lasts longer than painting.
        """
        if not self._settled:
            self._settled = True
            gc.collect()
            gc.freeze()

    def aside(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        """Do something beside, and end it with the dashboard."""
        task = asyncio.create_task(work)
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)
        task.add_done_callback(self._app.report_task_failure)
        return task

    def visit(self, node: str) -> bool:
        """Follow a node, for the screens of one machine; false when there is no such node."""
        if self.board.node(node) is None:
            return False
        if node != self.visited:
            self.visited = node
            self._app.follow(self.source.open_node(node))
            self.aside(self._remember(node))
        return True

    def leave(self) -> None:
        """Back to the fleet: the node is not followed any more."""
        if self.visited:
            self.visited = ""
            self._app.follow(NoSource())

    @property
    def node_status(self) -> NodeStatus | None:
        """State and age of the visited node in the newest tick; None without a visit."""
        if not self.visited:
            return None
        node = self.board.node(self.visited)
        if node is None:
            return NodeStatus(node=self.visited, state="never", age_s=None)
        silent = self.board.silent and node.state in ("up", "slow")
        age = None if node.age_s is None else node.age_s + self.board.since_s
        return NodeStatus(node=self.visited, state="stale" if silent else node.state, age_s=age)

    def aged(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot of the visited node; when the node is silent, without values of now."""
        node_status = self.node_status
        return snapshot if node_status is None else aged(snapshot, node_status)

    def _reload_history(self) -> None:
        """The graphs of a recorded node end at the moment that is shown."""
        if self._remembering is None or self._remembering.done():
            self._remembering = self.aside(self._remember(self.visited))

    async def _remember(self, node: str) -> None:
        """Fill the graphs with what the hub still knows of the node's devices."""
        view = self.board.view
        for now in view.devices if view is not None else ():
            device = self.board.device(now.slot)
            if device is None or device.node != node:
                continue
            history = await self.source.device_history(node, device.id)
            if history is not None and self.visited == node:
                self._app.board.history.seed(
                    device.id, readings_of(history, now.values[MEMORY_SIZE])
                )

    def set_filter(self, text: str) -> None:
        """Filter by a text, or send the hub a condition. Raises ExpressionError."""
        board = self.board
        expression = condition(text, board.labels)
        board.filter_text = " ".join(text.split())
        board.text = TextFilter(text) if text.strip() and not expression else None
        if expression != board.condition:
            board.condition = expression
            self.source.set_filter(expression)
        self.recount()

    def acknowledge(self, node: str, device: str | None) -> None:
        """Stop expecting what is missing; a message shows the result."""

        async def request() -> None:
            try:
                reply = await self.source.acknowledge(node, device)
            except AccelwatchError as error:
                reply = f"not acknowledged: {error}"
            self._app.show_message(reply)

        self.aside(request())
