"""What the Fleet screen shows: the newest tick counted up, in order, filtered; selection and folds.

No Textual in here, as in the board of one machine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.model import FleetView, Problem
from accelwatch.fleet.picture.ordering import grouped, listed, ordered
from accelwatch.fleet.picture.state_counts import state_counts
from accelwatch.fleet.picture.tally import Counting, FleetRow, split_devices
from accelwatch.fleet.wire import DeviceSlot, NodeNow
from accelwatch.tui.drawing.node_names import NONE, common_affixes
from accelwatch.tui.fleet.filters import TextFilter
from accelwatch.tui.fleet.recent_loads import RecentLoads
from accelwatch.tui.fleet.steady_values import SteadyValues
from accelwatch.tui.incidents.board import IncidentBoard
from accelwatch.tui.incidents.remedy_board import RemedyBoard
from accelwatch.tui.theme.preferences import Preferences

# Without a tick for this long, or three and a half intervals, nothing is of now any more.
SILENT_S = 10.0

# Group and node; without a node, the group itself.
Key = tuple[str, str]


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """A tick and what was counted in it."""

    view: FleetView
    rows: Mapping[Key, FleetRow]
    # The names of all nodes' labels.
    labels: frozenset[str]


class FleetBoard:
    """Mutable; belongs to the application's thread."""

    def __init__(self, preferences: Preferences, now: Callable[[], float], name: str) -> None:
        self._preferences = preferences
        self._now = now
        # What is followed.
        self.name = name
        # What is shown until the first picture.
        self.starting = "no picture of the fleet yet"
        # When something will happen in a demonstration (Unix seconds) and what, in that order.
        self.demo_events: Sequence[tuple[float, str]] = ()
        # Whether it is one machine, reported by its agent.
        self.alone = False
        self.counted: Counted | None = None
        self.problem: Problem | None = None
        # The filter that was sent to the hub.
        self.condition = ""
        self.text: TextFilter | None = None
        self.filter_text = ""
        self.unfolded: set[str] = set()
        self.groups: list[FleetRow] = []
        # What the list shows, in its order.
        self.rows: list[FleetRow] = []
        self.shown_nodes = 0
        self.recent = RecentLoads()
        self.steady = SteadyValues()
        self.incidents = IncidentBoard()
        self.remedies = RemedyBoard()
        # How many devices of the whole fleet have each standing.
        self.status_counts: Mapping[str, int] = {}
        # Width in cells of the longest name, of a group with its sign and number.
        self.name_width = 6
        # Whether a node that is counted differs from the many alike.
        self.has_odd = False
        self.has_lemon = False
        self.has_finding = False
        # What the names of the nodes have in common.
        self.affixes = NONE
        # Grows when rows have changed.
        self.version = 0
        self._positions: dict[Key, int] = {}
        self._split: tuple[object, frozenset[Key]] = None, frozenset()
        self._nodes: tuple[object, dict[str, NodeNow]] = None, {}

    @property
    def view(self) -> FleetView | None:
        """The tick that is shown."""
        return self.counted.view if self.counted is not None else None

    @property
    def labels(self) -> frozenset[str]:
        """The names of the nodes' labels."""
        return self.counted.labels if self.counted is not None else frozenset()

    @property
    def since_s(self) -> float:
        """Seconds since the tick that is shown has come; ages grow by this, but for recorded ones."""
        view = self.view
        return 0.0 if view is None or view.recorded else max(self._now() - view.arrived_s, 0.0)

    def wall(self, now: float) -> float:
        """The time that ages count from: `now` (Unix seconds), or the recorded moment."""
        view = self.view
        return view.time if view is not None and view.recorded else now

    @property
    def silent(self) -> bool:
        """Whether so much time has passed that nothing shown is of now."""
        view = self.view
        return view is not None and self.since_s > max(SILENT_S, 3.5 * view.interval_s)

    @property
    def waiting(self) -> bool:
        """Whether the hub has not applied the condition yet."""
        return self.view is not None and self.view.filter != self.condition

    @property
    def troubles(self) -> tuple[str, ...]:
        """What the hub itself could not do when it made the tick, and what is wrong with its rules."""
        view = self.view
        if view is None:
            return ()
        rule_problems = view.rules.problems if view.rules is not None else ()
        return (*view.sums.troubles, *(f"rules: {text}" for text in rule_problems))

    @property
    def group(self) -> str:
        """By what rows are grouped."""
        return self._preferences.fleet_group

    @property
    def grouped(self) -> bool:
        """Whether there are groups."""
        return self._preferences.fleet_group != grouping.NONE

    def count(self, view: FleetView) -> Iterator[None]:
        """Count a tick up and show it; gives way between slices."""
        labels = grouping.labels_of(view)
        name = self._preferences.fleet_group
        owned = grouping.owned(name, labels)
        counting = Counting(
            view,
            keeps=self.text.matches_device if self.text is not None else None,
            group_of=grouping.group_of(name, labels),
            split=self._split_of(view) if owned else frozenset(),
        )
        yield from counting.steps()
        if not grouping.by_device(name, labels):
            counting.add_bare(self._bare(view), grouping.group_of_node(name, view))
        if view is not self.view:
            self.recent.add(view)
        self.counted = Counted(view=view, rows=counting.rows, labels=labels)
        is_unfiltered = self.text is None and not view.filter
        hot = sum(row.hot for row in counting.rows.values()) if is_unfiltered else 0
        self.status_counts = state_counts(view.sums.devices, view.sums.health, hot)
        self.incidents.read_incidents(view)
        self.arrange()

    def _split_of(self, view: FleetView) -> frozenset[Key]:
        if self._split[0] is not view.slots:
            self._split = view.slots, split_devices(view)
        return self._split[1]

    def _bare(self, view: FleetView) -> Callable[[NodeNow], bool]:
        """Which nodes without devices are shown: with a condition none, which speaks of devices."""
        if self.text is not None:
            return self.text.node_filter(view)
        shown = not view.filter
        return lambda _: shown

    def arrange(self) -> None:
        """Put the counted rows in order."""
        if self.counted is None:
            return
        preferences = self._preferences
        rows = self.counted.rows.values()
        sort, descending = preferences.fleet_sort, preferences.fleet_descending
        if self.grouped:
            self.groups = grouped(rows)
            self.rows = listed(self.groups, self.unfolded, sort, descending=descending)
        else:
            self.groups = []
            self.rows = ordered(rows, sort, descending=descending)
        names = {name for _, name in self.counted.rows}
        self.shown_nodes = len(names)
        self.has_odd = any(row.odd for row in rows)
        self.has_lemon = any(row.lemon for row in rows)
        self.has_finding = any(row.finding for row in rows)
        self.affixes = common_affixes(names)
        self.name_width = max(map(len, names), default=6) + 2 * self.grouped
        for group in self.groups:
            title = grouping.title(preferences.fleet_group, group.group)
            self.name_width = max(self.name_width, len(title) + len(f"{len(group.members)}") + 4)
        self._positions = {row.key: position for position, row in enumerate(self.rows)}
        self.version += 1

    def position_of(self, key: object) -> int | None:
        """Where a row is."""
        return self._positions.get(key)  # type: ignore[call-overload,no-any-return]  # any hashable

    def fold(self, group: str) -> None:
        """Show the nodes of a group, or hide them."""
        self.unfolded ^= {group}
        self.arrange()

    def device(self, slot: int) -> DeviceSlot | None:
        """Who has a number."""
        view = self.view
        return view.slots[slot] if view is not None and slot < len(view.slots) else None

    def node(self, name: str) -> NodeNow | None:
        """A node as it was at the tick."""
        view = self.view
        if view is None:
            return None
        if self._nodes[0] is not view:
            self._nodes = view, {node.node: node for node in view.nodes}
        return self._nodes[1].get(name)
