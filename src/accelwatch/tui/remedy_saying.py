"""A person's word to the hub: what it would do is shown, why is asked, what has come of it is told."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.errors import AccelwatchError, UncertainError
from accelwatch.base.untrusted_text import printable
from accelwatch.fleet.picture.remedies import Came, RemedySource, Word, came_of, next_step
from accelwatch.tui.asking_why import ask_why
from accelwatch.tui.drawing.lines import wrapped
from accelwatch.tui.screens.choice import ChoiceScreen
from accelwatch.tui.screens.prompt import PromptScreen

if TYPE_CHECKING:
    from accelwatch.fleet.remedies.documents import Commanded
    from accelwatch.tui.app import Dashboard
    from accelwatch.tui.fleet_controller import FleetController

_MOST_WIDE = 90
_TITLES = {
    Came.REFUSED: "It changes nothing",
    Came.UNKNOWN: "Not known whether it was done",
    Came.NEEDS_APPROVAL: "A person still has to say yes",
}


class RemedySaying:
    """Dialogs around one word; nothing waits on the event loop."""

    def __init__(self, app: "Dashboard", controller: "FleetController") -> None:
        self._app = app
        self._controller = controller

    def source(self) -> RemedySource | None:
        """To whom it is said; where nothing may be said, why is told."""
        source, board = self._controller.source.remedies, self._controller.board.remedies
        if source is None:
            self._app.say("nothing is done about incidents here; a hub with remedy.actions does")
        elif self._app.readonly:
            self._app.say("nothing is said to the hub (--readonly)")
        elif not board.acts:
            self._app.say(board.problem or "this hub does nothing: it has no remedy.actions")
        else:
            return source
        return None

    def choose(self, title: str, text: Sequence[str], words: Sequence[tuple[str, Word]]) -> None:
        """Ask which word, with Cancel under the keys; then why."""
        choices = [("", "Cancel"), *((str(n), label) for n, (label, _) in enumerate(words))]

        def taken(choice: str | None) -> None:
            if choice:
                label, word = words[int(choice)]
                self.ask_why(label, word)

        self._app.push_screen(
            ChoiceScreen(self._app.board, title, self._folded(text), choices), taken
        )

    def ask_why(self, label: str, word: Word) -> None:
        """Ask why, and say it."""

        title = f"{label[:1].upper()}{label[1:]}: why?"
        ask_why(
            self._app,
            title,
            lambda reason: self._say(msgspec.structs.replace(word, reason=reason)),
        )

    def ask_typed(self, expected: str, meaning: str, word: Word) -> None:
        """Have a word typed out, then ask why."""

        def wrong(text: str) -> str:
            return "" if text == expected else f"not done: {expected} is to be typed, in capitals"

        def taken(text: str | None) -> None:
            if text == expected:
                self.ask_why(f"{expected}: {meaning}", word)

        hint = f"type {expected} and press Enter; Esc leaves everything as it is"
        prompt = PromptScreen(self._app.board, f"{expected}: {meaning}", "", hint, wrong)
        self._app.push_screen(prompt, taken)

    def _say(self, word: Word) -> None:
        source = self.source()
        if source is None:
            return
        self._app.say(f"asking the hub: {word.verb.replace('_', ' ')} {word.node}".rstrip())

        async def do() -> None:
            try:
                told = await source.say(word)
            except UncertainError as error:
                self.tell(_TITLES[Came.UNKNOWN], [str(error)])
            except AccelwatchError as error:
                self.tell("Refused", [str(error)])
            else:
                self._came(word, told)
            self._controller.look_again()

        self._controller.aside(do())

    def _came(self, word: Word, told: "Commanded") -> None:
        remedy = told.remedy
        notes = [printable(note.text) for note in told.notes]
        came = came_of(word.verb, notes, "" if remedy is None else remedy.stage)
        if came is Came.DONE:
            verb = word.verb.replace("_", " ")
            self._app.say(notes[-1] if notes else f"{verb} {word.node} counts".replace("  ", " "))
            return
        if remedy is not None:
            step = next_step(remedy)
            notes.append(f"{remedy.node} is {step.stage}: {printable(step.text)}")
        self.tell(_TITLES[came], notes)

    def tell(self, title: str, text: Sequence[str]) -> None:
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
