"""What the controller of a fleet needs of the dashboard that shows it."""

from collections.abc import Callable
from typing import Protocol

from accelwatch.fleet.picture.source import SnapshotSource
from accelwatch.tui.feeds.feed_host import FeedHost


class FleetHost(FeedHost, Protocol):
    """What shows a fleet: the dashboard, as far as its source's controller needs it."""

    def show_message(self, text: str) -> None:
        """Show a text in the footer, over the keys, for a few seconds."""
        ...

    def keys_changed(self) -> None:
        """Paint the footers: other keys do something now."""
        ...

    def call_after_refresh(self, callback: Callable[[], None]) -> bool:
        """Call once what is due is painted."""
        ...

    def schedule_fleet_pull(self) -> None:
        """The fleet has changed: pull it soon."""
        ...

    def follow(self, source: SnapshotSource) -> None:
        """Show another source of snapshots from now on."""
        ...
