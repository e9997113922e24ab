"""What all screens show and share: the latest snapshot, history, filter, selection, looks.

No Textual in here: a screen asks the board, and the board knows no screen.
"""

from collections.abc import Callable

from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.tui.format import STATE_ORDER
from accelwatch.tui.history import History
from accelwatch.tui.looks import Looks
from accelwatch.tui.paint import Paint
from accelwatch.tui.preferences import Preferences
from accelwatch.tui.process_history import ProcessHistory

EMPTY = Snapshot(time=0.0, host="", version="")
"""Stands until the first one comes."""
DeviceFilter = Callable[[DeviceView], bool]


class Board:
    """Mutable; belongs to the application's thread."""

    def __init__(self, preferences: Preferences, looks: Looks) -> None:
        self.preferences = preferences
        self.looks = looks
        self.paint: Paint = looks.paint(preferences.theme)
        self.snapshot = EMPTY
        self.devices: tuple[DeviceView, ...] = ()
        """Those that the filter leaves."""
        self.history = History()
        self.process_history = ProcessHistory()
        self.selected_id = ""
        self.paused = False
        self.recorded = False
        """Whether the time of the snapshots is a recording's."""
        self.hour = False
        """Whether graphs show an hour instead of five minutes."""
        self.message = ""
        """What was just done, in the place of the keys."""
        self.banner = ""
        """A word on the pause or the recording, for the header."""
        self.filter_text = ""
        self._filter: DeviceFilter | None = None

    @property
    def started(self) -> bool:
        """Whether anything has been read yet."""
        return self.snapshot is not EMPTY

    def take(self, snapshot: Snapshot) -> None:
        """A newer state of the node; it is shown unless the view is paused."""
        self.note(snapshot)
        if not self.paused:
            self.show(snapshot)

    def note(self, snapshot: Snapshot) -> None:
        """Take a snapshot into the history alone."""
        self.history.record(snapshot.devices)
        self.process_history.record(snapshot)

    def forget(self) -> None:
        """Begin the history anew, as a jump in a recording needs."""
        self.history.clear()
        self.process_history.clear()

    def show(self, snapshot: Snapshot) -> None:
        """Show this state."""
        self.snapshot = snapshot
        self._choose()

    def set_filter(self, text: str, keeps: DeviceFilter | None) -> None:
        """Show only devices that `keeps` is true for."""
        self.filter_text, self._filter = text, keeps
        self._choose()

    def _choose(self) -> None:
        keeps = self._filter
        views = self.snapshot.devices
        self.devices = views if keeps is None else tuple(view for view in views if keeps(view))
        ids = {view.device.id for view in self.devices}
        if self.selected_id not in ids and self.devices:
            self.selected_id = self.devices[0].device.id

    @property
    def selected(self) -> DeviceView | None:
        """The device the history and the Device screen are about."""
        for view in self.devices:
            if view.device.id == self.selected_id:
                return view
        return None

    def select_next(self, step: int) -> None:
        """Select the device `step` places on, stopping at the ends."""
        ids = [view.device.id for view in self.devices]
        if not ids:
            return
        here = ids.index(self.selected_id) if self.selected_id in ids else 0
        self.selected_id = ids[min(max(here + step, 0), len(ids) - 1)]

    @property
    def worst(self) -> DeviceView | None:
        """A device in the worst state there is."""
        order = {state: place for place, state in enumerate(STATE_ORDER)}
        views = self.snapshot.devices
        return min(views, key=lambda view: order[view.state], default=None)
