"""What keys do to the order of a fleet's rows: sort, reverse, group."""

from collections.abc import Callable
from functools import partial

from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.ordering import SORTS, TITLES
from accelwatch.tui.commands.fleet.present_fleet import OnFleetScreen
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.fleet import columns
from accelwatch.tui.state import fleet_actions, row_actions


class FleetOrderCommands(OnFleetScreen):
    """One handler per action; False means that the Fleet screen is not the present one."""

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            row_actions.SORT: self.do_sort,
            row_actions.SORT_LEFT: self.do_sort_left,
            row_actions.SORT_RIGHT: self.do_sort_right,
            row_actions.REVERSE: self.do_reverse,
            row_actions.TREE: self.do_tree,
            fleet_actions.GROUP_BY: self.do_group_by,
        }

    def sorts(self) -> list[tuple[str, Callable[[], None]]]:
        """What rows can be sorted by; nothing on other screens."""
        if self._screen is None:
            return []
        return [(TITLES[name], partial(self.sort_by, name)) for name in SORTS]

    def do_sort(self) -> bool:
        """Prompt for what rows are sorted by."""
        from accelwatch.tui.screens.dialogs.choice import ChoiceScreen

        if self._screen is None:
            return False
        picker = ChoiceScreen(
            self._app.board,
            "Sort the fleet by",
            [],
            [(name, TITLES[name]) for name in SORTS],
            self._app.board.preferences.fleet_sort,
        )
        self._app.push_screen(picker, lambda name: self.sort_by(name) if name else None)
        return True

    def sort_by(self, name: str) -> None:
        """Sort by something, or turn its order round."""
        if name not in SORTS:
            return
        preferences = self._app.board.preferences
        if preferences.fleet_sort == name:
            preferences.fleet_descending = not preferences.fleet_descending
        else:
            preferences.fleet_sort, preferences.fleet_descending = name, name != "node"
        self._arrange()

    def sort_at(self, width: int, x: int) -> None:
        """A click on a heading."""
        self.sort_by(columns.sort_at(width, self._controller.board, x))

    def do_sort_left(self) -> bool:
        """What is to the left."""
        return self._sort_step(-1)

    def do_sort_right(self) -> bool:
        """What is to the right."""
        return self._sort_step(1)

    def _sort_step(self, step: int) -> bool:
        if self._screen is not None:
            present = self._app.board.preferences.fleet_sort
            index = SORTS.index(present) if present in SORTS else 0
            self.sort_by(SORTS[(index + step) % len(SORTS)])
        return self._screen is not None

    def do_reverse(self) -> bool:
        """Reverse the order."""
        if self._screen is not None:
            self.sort_by(self._app.board.preferences.fleet_sort)
        return self._screen is not None

    def _arrange(self) -> None:
        self._controller.board.arrange()
        self._app.show()

    def do_tree(self) -> bool:
        """The next grouping."""
        if self._screen is not None:
            group = self._app.board.preferences.fleet_group
            self._group(grouping.following(group, self._controller.board.labels))
        return self._screen is not None

    def do_group_by(self) -> bool:
        """Prompt for what to group by."""
        from accelwatch.tui.screens.dialogs.choice import ChoiceScreen

        if self._screen is None:
            return False
        names = grouping.choices(self._controller.board.labels)
        present = self._app.board.preferences.fleet_group
        picker = ChoiceScreen(
            self._app.board, "Group by", [], [(name, name) for name in names], present
        )
        self._app.push_screen(picker, lambda name: self._group(name) if name else None)
        return True

    def _group(self, name: str) -> None:
        self._app.board.preferences.fleet_group = name
        self._controller.board.unfolded.clear()
        self._app.show_message("no groups" if name == grouping.NONE else f"grouped by {name}")
        self._controller.recount()
