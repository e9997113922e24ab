"""What keys do with the program itself: quit, suspend, copy to the clipboard."""

from accelwatch.tui.commands.clipboard import copy_text
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.state import program_actions, row_actions


class ProgramCommands:
    """One handler per action, on every screen."""

    def __init__(self, app: DashboardContext) -> None:
        self._app = app

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            program_actions.QUIT: self.do_quit,
            program_actions.SUSPEND: self.do_suspend,
            row_actions.COPY: self.do_copy,
            row_actions.COPY_ROW: self.do_copy_row,
        }

    def do_quit(self) -> None:
        """End the program."""
        self._app.exit()

    def do_suspend(self) -> None:
        """Give the terminal back to the shell."""
        if not self._app.suspend_job():
            self._app.show_message("no shell waits for this program, so it is not stopped")

    def do_copy(self) -> None:
        """The uuid or pid."""
        from accelwatch.tui.views import copying

        copy_text(self._app, copying.name_of(self._app.board, self._app.chosen_process))

    def do_copy_row(self) -> None:
        """All of it as JSON."""
        from accelwatch.tui.views import copying

        copy_text(self._app, copying.document_of(self._app.board, self._app.chosen_process))
