"""A person's command to the hub: show what it would do, ask why, show the result."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.errors import AccelwatchError, UncertainError
from accelwatch.base.untrusted_text import printable
from accelwatch.fleet.picture.remedies import (
    Command,
    CommandOutcome,
    RemedySource,
    next_step,
    outcome_of,
)
from accelwatch.tui.commands.incidents.reason_prompt import prompt_for_reason
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.drawing.lines import wrapped
from accelwatch.tui.screens.dialogs.choice import ChoiceScreen
from accelwatch.tui.screens.dialogs.prompt import PromptScreen

if TYPE_CHECKING:
    from accelwatch.fleet.documents.remedies import Commanded
    from accelwatch.tui.feeds.fleet_controller import FleetController

_MOST_WIDE = 90
_TITLES = {
    CommandOutcome.REFUSED: "It changes nothing",
    CommandOutcome.UNKNOWN: "Not known whether it was done",
    CommandOutcome.NEEDS_APPROVAL: "A person still has to approve",
}


class RemedyRequests:
    """Dialogs around one command; nothing waits on the event loop."""

    def __init__(self, app: DashboardContext, controller: "FleetController") -> None:
        self._app = app
        self._controller = controller

    def source(self) -> RemedySource | None:
        """The hub that gets the commands; without one a message says why."""
        source, board = self._controller.source.remedies, self._controller.board.remedies
        if source is None:
            self._app.show_message(
                "nothing is done about incidents here; a hub with remedy.actions does"
            )
        elif self._app.readonly:
            self._app.show_message("no order is sent to the hub (--readonly)")
        elif not board.acts:
            self._app.show_message(
                board.problem or "this hub does nothing: it has no remedy.actions"
            )
        else:
            return source
        return None

    def choose(
        self, title: str, text: Sequence[str], commands: Sequence[tuple[str, Command]]
    ) -> None:
        """Prompt for one of the commands, with Cancel under the keys; then for a reason."""
        choices = [("", "Cancel"), *((str(n), label) for n, (label, _) in enumerate(commands))]

        def chosen(choice: str | None) -> None:
            if choice:
                label, command = commands[int(choice)]
                self.request_reason(label, command)

        self._app.push_screen(
            ChoiceScreen(self._app.board, title, self._folded(text), choices), chosen
        )

    def request_reason(self, label: str, command: Command) -> None:
        """Prompt for a reason, and send the command."""

        title = f"{label[:1].upper()}{label[1:]}: why?"
        prompt_for_reason(
            self._app,
            title,
            lambda reason: self._send(msgspec.structs.replace(command, reason=reason)),
        )

    def confirm_typed(self, expected: str, meaning: str, command: Command) -> None:
        """Have a word typed out, then prompt for a reason."""

        def wrong(text: str) -> str:
            return "" if text == expected else f"not done: {expected} is to be typed, in capitals"

        def submitted(text: str | None) -> None:
            if text == expected:
                self.request_reason(f"{expected}: {meaning}", command)

        hint = f"type {expected} and press Enter; Esc leaves everything as it is"
        prompt = PromptScreen(self._app.board, f"{expected}: {meaning}", "", hint, wrong)
        self._app.push_screen(prompt, submitted)

    def _send(self, command: Command) -> None:
        source = self.source()
        if source is None:
            return
        self._app.show_message(
            f"asking the hub: {command.verb.replace('_', ' ')} {command.node}".rstrip()
        )

        async def do() -> None:
            try:
                reply = await source.send_command(command)
            except UncertainError as error:
                self.show_notice(_TITLES[CommandOutcome.UNKNOWN], [str(error)])
            except AccelwatchError as error:
                self.show_notice("Refused", [str(error)])
            else:
                self._show_outcome(command, reply)
            self._controller.incident_queries.refresh()

        self._controller.aside(do())

    def _show_outcome(self, command: Command, reply: "Commanded") -> None:
        remedy = reply.remedy
        notes = [printable(note.text) for note in reply.notes]
        outcome = outcome_of(command.verb, notes, "" if remedy is None else remedy.stage)
        if outcome is CommandOutcome.DONE:
            verb = command.verb.replace("_", " ")
            self._app.show_message(
                notes[-1] if notes else f"{verb} {command.node} counts".replace("  ", " ")
            )
            return
        if remedy is not None:
            step = next_step(remedy)
            notes.append(f"{remedy.node} is {step.stage}: {printable(step.text)}")
        self.show_notice(_TITLES[outcome], notes)

    def show_notice(self, title: str, text: Sequence[str]) -> None:
        """Something that must not be missed: it stays until it is closed."""
        screen = ChoiceScreen(self._app.board, title, self._folded(text), [("", "Close")])
        self._app.push_screen(screen)

    def _folded(self, text: Sequence[str]) -> list[str]:
        """Lines that fit the terminal, with one below that is empty."""
        width, height = self._app.size
        room = min(width - 10, _MOST_WIDE)
        rows = [
            " " * (len(line) - len(line.lstrip())) + row
            for line in text
            for row in wrapped(printable(line), room)
        ]
        most = max(height - 10, 3)
        if len(rows) > most:
            rows = [*rows[: most - 1], f"... and {len(rows) - most + 1} lines more"]
        return [*rows, ""]
