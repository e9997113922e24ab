"""What keys do to processes: filter, sort, tag, inspect, signal."""

import signal
from collections.abc import Callable
from functools import partial

from accelwatch.base.errors import ExpressionError
from accelwatch.expr import device_names
from accelwatch.node.query.lookup import process_names
from accelwatch.schema.display import printable
from accelwatch.schema.reading import Process
from accelwatch.tui.commands.filtering import prompt_filter
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.drawing.lines import wrapped
from accelwatch.tui.local.devices.sorting import SORTS
from accelwatch.tui.local.processes import signals
from accelwatch.tui.local.processes.columns import BY_ID, COLUMNS
from accelwatch.tui.local.processes.process_row import command
from accelwatch.tui.state import row_actions
from accelwatch.tui.state.action import LOCAL
from accelwatch.tui.state.filtering import Filtering

_MEANINGS = {
    signal.SIGTERM: "ask it to end",
    signal.SIGINT: "interrupt it, as ^C does",
    signal.SIGKILL: "end it at once; it cannot tidy up",
    signal.SIGHUP: "hang up",
    signal.SIGSTOP: "stop it",
    signal.SIGCONT: "continue it",
}
_NONE_SELECTED = "no process is selected: go down past the last device, or press 4"
_NO_PROCESS = "there is no process"


class ProcessCommands:
    """One handler per action; False means that the action is not about a process now."""

    def __init__(self, app: DashboardContext) -> None:
        self._app = app

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            row_actions.ENTER: self.do_enter,
            row_actions.ENVIRONMENT: self.do_environment,
            row_actions.FILTER: self.do_filter,
            row_actions.SORT: self.do_sort,
            row_actions.SORT_LEFT: self.do_sort_left,
            row_actions.SORT_RIGHT: self.do_sort_right,
            row_actions.REVERSE: self.do_reverse,
            row_actions.TREE: self.do_tree,
            row_actions.TAG: self.do_tag,
            row_actions.SIGNAL: self.do_signal,
        }

    @property
    def _here(self) -> bool:
        return self._app.process_list is not None

    def do_enter(self) -> bool:
        """Details of the selected process."""
        process = self._app.chosen_process
        if process is None:
            return False
        self._open_process(process, environment=False)
        return True

    def do_environment(self) -> bool:
        """Its environment, in view and with the values hidden."""
        process = self._app.chosen_process
        if process is not None:
            self._open_process(process, environment=True)
        elif self._here:
            self._show_none_selected()
        return True

    def _show_none_selected(self) -> None:
        """On the Local screen the keys may be on the devices; elsewhere there is nothing to select."""
        on_local = self._app.view_name == LOCAL
        self._app.show_message(_NONE_SELECTED if on_local else _NO_PROCESS)

    def _open_process(self, process: Process, *, environment: bool) -> None:
        from accelwatch.tui.screens.process import process_screen

        app = self._app
        screen = process_screen(
            app.board,
            process,
            app.clock.wall,
            local=app.source.local,
            environment=environment,
        )
        app.push_screen(screen)

    def do_filter(self) -> bool:
        """Prompt for a filter: of devices on the Local screen, of processes on theirs."""
        filtering = self.filtering()
        if filtering is not None:
            prompt_filter(self._app, filtering)
        return True

    def filtering(self) -> Filtering | None:
        """How devices or processes are filtered; None where neither are on the screen."""
        from accelwatch.tui.local import filters

        app = self._app
        if not self._here:
            return None
        of_processes = app.view_name != LOCAL
        host = app.board.snapshot.host
        make = filters.process_filter if of_processes else filters.device_filter

        def wrong(text: str) -> str:
            try:
                make(text, host)
            except ExpressionError as error:
                return filters.complaint(error)
            return ""

        def apply(text: str) -> None:
            if of_processes:
                app.processes.set_filter(text, filters.process_filter(text, host))
            else:
                app.board.set_filter(text.strip(), filters.device_filter(text, host))
            app.show()

        def count() -> str:
            shown = (len(app.board.devices), len(app.board.snapshot.devices))
            left, total = (app.processes.kept, app.processes.total) if of_processes else shown
            return f"{left} of {total} {what}"

        what = "processes" if of_processes else "devices"
        return Filtering(
            what=what,
            table=what,
            present=app.processes.filter_text if of_processes else app.board.filter_text,
            example='user == "ada"' if of_processes else "util < 10",
            wrong=wrong,
            names=filters.completions_of(process_names() if of_processes else device_names()),
            set=apply,
            count=count,
        )

    def sorts(self) -> list[tuple[str, Callable[[], None]]]:
        """Columns of the tables on the screen, and what sorts by them."""
        if not self._here:
            return []
        app = self._app
        options = [
            (f"{column.title.lower()} of processes", partial(self.sort_by, column.id))
            for column in COLUMNS
        ]
        if app.view_name == LOCAL:
            options = [(name, partial(self._sort_devices, name)) for name in SORTS] + options
        return list(options)

    def _sort_devices(self, column: str) -> None:
        self._app.board.sort_devices(column)
        self._app.show()

    def do_sort(self) -> bool:
        """Prompt for the column."""
        from accelwatch.tui.screens.dialogs.choice import ChoiceScreen

        app = self._app
        if self._here:
            choices = [(column.id, column.title) for column in COLUMNS]
            picker = ChoiceScreen(
                app.board, "Sort processes by", [], choices, app.board.preferences.sort
            )
            app.push_screen(picker, lambda column: self.sort_by(column) if column else None)
        return True

    def sort_by(self, column: str) -> None:
        """Sort by a column, or turn its order round."""
        if column in BY_ID:
            self._app.processes.sort_by(column)
            self._app.show()

    def do_sort_left(self) -> bool:
        """The column to the left."""
        return self._sort_step(-1)

    def do_sort_right(self) -> bool:
        """The column to the right."""
        return self._sort_step(1)

    def _sort_step(self, step: int) -> bool:
        if self._here:
            self._app.processes.sort_step(step)
            self._app.show()
        return True

    def do_reverse(self) -> bool:
        """Reverse the order."""
        if self._here:
            preferences = self._app.board.preferences
            preferences.descending = not preferences.descending
            self._app.show()
        return True

    def do_tree(self) -> bool:
        """Group, or not."""
        if self._here:
            preferences = self._app.board.preferences
            preferences.tree = not preferences.tree
            self._app.show()
        return True

    def do_tag(self) -> bool:
        """Tag the selected process and go to the next."""
        rows = self._app.process_list
        if rows is not None and self._app.chosen_process is not None:
            self._app.processes.toggle(rows.selected_key)
            rows.move(1)
            self._app.show()
        return True

    def do_signal(self) -> bool:
        """Prompt for the signal, with Cancel under the keys."""
        app = self._app
        processes = self._meant()
        if app.readonly:
            app.show_message("signals are off (--readonly)")
        elif not app.source.local:
            whose = "another machine" if app.fleet_controller is not None else "a recording"
            app.show_message(f"{whose}'s processes cannot be signalled")
        elif not processes:
            self._show_none_selected()
        else:
            self._choose_signal(processes)
        return True

    def _meant(self) -> list[Process]:
        tagged = self._app.processes.tagged
        if tagged:
            rows = self._app.processes.rows
            return [row.process for row in rows if row.process is not None and row.key in tagged]
        chosen = self._app.chosen_process
        return [chosen] if chosen is not None else []

    def _choose_signal(self, processes: list[Process]) -> None:
        from accelwatch.tui.screens.dialogs.choice import ChoiceScreen

        app = self._app
        targets, why = signals.targets(processes)
        ascii_only = app.board.paint.glyphs.ascii_only
        names = {
            process.pid: printable(command(process), ascii_only=ascii_only) for process in processes
        }
        width = min(app.size.width - 8, 64)
        text = [f"{target.pid}  {names[target.pid]}"[:width] for target in targets[:8]]
        text += [f"and {len(targets) - 8} more"] if len(targets) > 8 else []
        text += ["", *wrapped(why, width)] if why else []
        choices = [("", "Cancel")]
        if targets:
            choices += [
                (number.name, f"{number.name:8} {_MEANINGS[number]}") for number in signals.OFFERED
            ]
        plural = "es" if len(targets) != 1 else ""
        title = f"Signal {len(targets)} process{plural}" if targets else "No signal can be sent"
        app.push_screen(
            ChoiceScreen(app.board, title, [*text, ""], choices),
            lambda name: self._send(targets, name) if name else None,
        )

    def _send(self, targets: list[signals.Target], name: str) -> None:
        outcomes = [signals.send(target, signal.Signals[name]) for target in targets]
        self._app.processes.tagged.clear()
        self._app.show_message("; ".join(outcomes))
        self._app.show()
