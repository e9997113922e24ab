"""What all screens show and share: the latest snapshot, history, filter, selection, looks.

No Textual in here: a screen reads the board, and the board knows no screen.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.tui.events.changes import Changes
from accelwatch.tui.local.devices import sorting as device_sorting
from accelwatch.tui.local.devices.sorting import ordered
from accelwatch.tui.local.history import History
from accelwatch.tui.local.process_history import ProcessHistory
from accelwatch.tui.theme.appearance import Appearance
from accelwatch.tui.theme.paint import Paint
from accelwatch.tui.theme.preferences import Preferences

if TYPE_CHECKING:
    from accelwatch.archive.blackbox.locations import Box
    from accelwatch.tui.fleet.board import FleetBoard
    from accelwatch.tui.fleet.node_view import NodeStatus
from collections import Counter
from collections.abc import Iterable

import msgspec

from accelwatch.schema.status.device_status import severity
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.device_signs import device_class


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How many devices are in each state, worst first, and the age of the oldest current sample."""

    # A device of each state and how many there are.
    states: tuple[tuple[DeviceView, int], ...] = ()
    oldest_s: float | None = None


def summary(views: Iterable[DeviceView]) -> Summary:
    """Of all the devices."""
    counted: Counter[str] = Counter()
    examples: dict[str, DeviceView] = {}
    oldest = -1.0
    for view in views:
        status = fmt.status_text(view)
        counted[status] += 1
        examples.setdefault(status, view)
        age = view.sample_age_s
        if age is not None and age > oldest and fmt.readable(view):
            oldest = age
    order = sorted(examples, key=lambda status: -severity(device_class(examples[status])))
    return Summary(
        states=tuple((examples[status], counted[status]) for status in order),
        oldest_s=oldest if oldest >= 0 else None,
    )


# Stands until the first one comes.
EMPTY = Snapshot(time=0.0, host="", version="")
# Devices that are noted at a time; two milliseconds.
SLICE = 128
# Filters that are kept to be had again.
MOST_FILTERS = 50
DeviceFilter = Callable[[DeviceView], bool]


class Board:
    """Mutable; belongs to the application's thread."""

    # Earlier filters, the latest last: of `devices`, `processes`, a `fleet`.
    typed_filters: Mapping[str, Sequence[str]] = MappingProxyType({})

    # What is played instead of this machine: `demo`, or the name of a file; else empty.
    replayed: str = ""

    def __init__(self, preferences: Preferences, appearance: Appearance) -> None:
        self.preferences = preferences
        self.appearance = appearance
        self.paint: Paint = appearance.paint(preferences.theme)
        self.snapshot = EMPTY
        # Those that the filter leaves.
        self.devices: tuple[DeviceView, ...] = ()
        # Whether it is known of any of them to whom it is allocated.
        self.owned = False
        self.history = History()
        self.process_history = ProcessHistory()
        # Keeps each snapshot of this machine in its black box.
        self.keep: Callable[[Snapshot], None] | None = None
        # Finds the black boxes of this machine; None where another one is shown.
        self.boxes: Callable[[], list[Box]] | None = None
        # What has happened since the program started.
        self.changes = Changes()
        self.selected_id = ""
        self.paused = False
        # Whether the time of the snapshots is a recording's.
        self.recorded = False
        # Whether a whole fleet is played.
        self.archive = False
        # Under what /sys is of the machine that is shown; None where it is another, or a recording.
        self.root: Path | None = None
        # Whether processes can be signalled: they are of this machine, and that is not off.
        self.signals = True
        # Whether it is shown on a terminal, which a user gets back by quitting; not in a browser.
        self.terminal = True
        # Whether an agent of this machine may be polled for incidents.
        self.has_incidents = False
        # The incidents that it has reported, once it was polled.
        self.agent_board: FleetBoard | None = None
        # Whether graphs show an hour instead of five minutes.
        self.hour = False
        # The fleet, where one is followed.
        self.fleet: FleetBoard | None = None
        # State and age of the fleet's node that is shown.
        self.node_status: NodeStatus | None = None
        # The column that devices are sorted by.
        self.device_sort, self.device_descending = device_sorting.MACHINE, True
        # The message of the footer, over the keys.
        self.message = ""
        # A note on the pause or the recording, for the header.
        self.banner = ""
        self.filter_text = ""
        self.process_filter_text = ""
        self._filter: DeviceFilter | None = None
        self._positions: dict[str, int] = {}
        self._summary: tuple[Snapshot, Summary] | None = None

    @property
    def started(self) -> bool:
        """Whether anything has been read yet."""
        return self.snapshot is not EMPTY

    def accept(self, snapshot: Snapshot) -> None:
        """A newer state of the node; it is shown unless the view is paused."""
        if not self.paused:
            self.show(snapshot)

    def note(self, snapshot: Snapshot) -> Iterator[None]:
        """Add a snapshot to the history; yields after each slice of a large one."""
        views = snapshot.devices
        for start in range(0, len(views), SLICE):
            if start:
                yield
            self.history.record(views[start : start + SLICE])
        self.history.forget_unread(snapshot.time)
        self.process_history.record(snapshot)
        self.changes.record(snapshot)
        if self.keep is not None and self.preferences.blackbox:
            self.keep(snapshot)

    def forget(self) -> None:
        """Restart the history, as a jump in a recording needs."""
        self.history.clear()
        self.process_history.clear()
        self.changes.clear()

    def restart(self) -> None:
        """Show nothing, as at the beginning."""
        self.forget()
        self.device_sort, self.device_descending = device_sorting.MACHINE, True
        self.set_filter("", None)
        self.selected_id = ""
        self.paused, self.banner = False, ""
        self.node_status = None
        self.show(EMPTY)

    def show(self, snapshot: Snapshot) -> None:
        """Show this state."""
        self.snapshot = snapshot
        self._choose()

    def sort_devices(self, column: str) -> None:
        """A click on the heading of a column: by it, then turned round, then as they were."""
        before = self.device_sort, self.device_descending
        self.device_sort, self.device_descending = device_sorting.following(*before, column)
        self._choose()

    def set_filter(self, text: str, keeps: DeviceFilter | None) -> None:
        """Show only devices that `keeps` is true for."""
        self.filter_text, self._filter = text, keeps
        self._choose()

    def remember_filter(self, what: str, text: str) -> None:
        """A filter that was typed, so that it can be had again."""
        text = text.strip()
        typed = [entry for entry in self.typed_filters.get(what, ()) if entry != text]
        if text:
            self.typed_filters = {**self.typed_filters, what: [*typed, text][-MOST_FILTERS:]}

    def _choose(self) -> None:
        keeps = self._filter
        views = self.snapshot.devices
        self.devices = views if keeps is None else tuple(view for view in views if keeps(view))
        sort, descending = self.device_sort, self.device_descending
        self.devices = ordered(self.devices, sort, descending=descending)
        self.owned = any(view.owners for view in self.devices)
        self._positions = {view.device.id: position for position, view in enumerate(self.devices)}
        if self.selected_id not in self._positions and self.devices:
            self.selected_id = self.devices[0].device.id

    def position_of(self, device_id: str) -> int | None:
        """Where a device is among those that are shown."""
        return self._positions.get(device_id)

    @property
    def selected(self) -> DeviceView | None:
        """The device the history and the Device screen are about."""
        position = self._positions.get(self.selected_id)
        return None if position is None else self.devices[position]

    def select_next(self, step: int) -> None:
        """Select the device `step` rows on, stopping at the ends."""
        if self.devices:
            target = self._positions.get(self.selected_id, 0) + step
            position = min(max(target, 0), len(self.devices) - 1)
            self.selected_id = self.devices[position].device.id

    @property
    def summary(self) -> Summary:
        """Of all devices of the snapshot."""
        if self._summary is None or self._summary[0] is not self.snapshot:
            self._summary = (self.snapshot, summary(self.snapshot.devices))
        return self._summary[1]
