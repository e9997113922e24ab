"""The controllers of a fleet, or of this machine's agent once it is polled, and when to show them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from textual.timer import Timer

from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.feeds.fleet_host import FleetHost

if TYPE_CHECKING:
    from accelwatch.fleet.picture.model import FleetSource
    from accelwatch.tui.feeds.fleet_controller import FleetController

# What a hub reports comes in one piece.
_GATHER_S = 0.01


class FleetFeedHost(FleetHost, Protocol):
    """What shows a fleet: the dashboard, as far as this feed needs it."""

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call once, after so many seconds."""
        ...

    def call_later(self, callback: Callable[[], None]) -> bool:
        """Call once what waits already is done."""
        ...


class FleetFeed:
    """With a fleet, its controller; without one, that of this machine's agent once it is polled."""

    def __init__(
        self,
        host: FleetFeedHost,
        fleet: "FleetSource | None",
        incidents: "Callable[[], FleetSource] | None",
    ) -> None:
        """`incidents` makes the source of this machine's incidents."""
        self._host = host
        self._incidents = incidents
        self._due = False
        self.fleet_controller: FleetController | None = None
        # Where incidents come from: the fleet, or this machine's agent once it is polled.
        self.incident_controller: FleetController | None = None
        if fleet is not None:
            self.incident_controller = self.fleet_controller = self._controller_of(fleet)
            host.board.fleet = self.fleet_controller.board
        host.board.has_incidents = fleet is None and incidents is not None

    def _controller_of(self, source: "FleetSource") -> "FleetController":
        """Loaded where there is a fleet, or an agent is polled: one machine does without."""
        from accelwatch.tui.feeds.fleet_controller import FleetController

        return FleetController(self._host, source)

    def start(self) -> None:
        """Start to follow the fleet."""
        if self.incident_controller is not None:
            self.incident_controller.start()

    async def stop(self) -> None:
        """Stop what was started."""
        if self.incident_controller is not None:
            await self.incident_controller.stop()

    def follow_incidents(self) -> "FleetController":
        """Poll this machine's agent for its incidents from now on."""
        if self.incident_controller is None:
            assert self._incidents is not None
            self.incident_controller = self._controller_of(self._incidents())
            self.incident_controller.board.alone = True
            self._host.board.agent_board = self.incident_controller.board
            self.incident_controller.start()
        return self.incident_controller

    def schedule(self) -> None:
        """The fleet has changed: pull it soon, together with what else comes; the first at once."""
        if not self._due and self.incident_controller is not None:
            self._due = True
            fleet = self.fleet_controller
            if fleet is not None and fleet.board.view is None:
                self._host.call_later(self.pull)
            else:
                self._host.set_timer(_GATHER_S, self.pull)

    def pull(self) -> None:
        """Read what the source has, and show it."""
        self._due = False
        if self.fleet_controller is not None:
            self.update_banner()
            self.fleet_controller.pull()
            self.update_node_status()
        elif self.incident_controller is not None:
            self.incident_controller.pull()

    def update_banner(self) -> None:
        """Where a recorded fleet is, for the header."""
        fleet = self.fleet_controller
        player = fleet.source.player if fleet is not None else None
        if player is not None:
            from accelwatch.tui.views.time_line import banner

            self._host.board.banner = banner(player.playback, self._host.board.paint.glyphs)

    def update_node_status(self) -> None:
        """State and age of the visited node of a fleet, for the header."""
        if self.fleet_controller is not None:
            self._host.board.node_status = self.fleet_controller.node_status

    def aged(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot of the visited node; without values of now where the node is silent."""
        return snapshot if self.fleet_controller is None else self.fleet_controller.aged(snapshot)
