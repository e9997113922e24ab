"""What keys change about an incident: have nobody told of it, end that, close it; each asks first."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.incidents.silence import Matcher, Operator
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.untrusted_text import printable
from accelwatch.fleet.picture.changing import IncidentChanges
from accelwatch.tui.asking_why import ask_why
from accelwatch.tui.screens.choice import ChoiceScreen

if TYPE_CHECKING:
    from accelwatch.tui.app import Dashboard
    from accelwatch.tui.fleet_controller import FleetController

_SPANS = {"2h": "2 hours", "8h": "8 hours", "1d": "a day", "7d": "a week"}
_END = "end"
_MOST_OF_REASON = 40


class IncidentChanging:
    """Dialogs about one incident; what came of it is said."""

    def __init__(self, app: "Dashboard", controller: "FleetController") -> None:
        self._app = app
        self._controller = controller

    def silence(self, incident: IncidentDocument) -> None:
        """Ask whom to silence and why; of what a silence mutes, whether to end that."""
        changes = self._allowed("silenced", incident)
        if changes is None:
            return
        mute = incident.muted_by
        choices = [("", "Cancel")]
        if mute is not None and mute.kind == "silence":
            said = printable(mute.reason)[:_MOST_OF_REASON]
            choices.append((_END, f"end silence {mute.id} ({said})"))
        matchers = _matchers(incident)
        choices += [
            (f"{name} {span}", f"{words}, for {long}")
            for name, (words, _) in matchers.items()
            for span, long in _SPANS.items()
        ]
        text = ["Notifications are muted; the incident stays open.", ""]

        def taken(choice: str | None) -> None:
            if choice == _END and mute is not None:
                self._do(changes.end_silence(mute.id))
            elif choice:
                name, _, span = choice.partition(" ")
                words, matcher = matchers[name]
                ask_why(
                    self._app,
                    f"Silence {words}, for {_SPANS[span]}: why?",
                    lambda reason: self._do(changes.silence((str(matcher),), span, reason)),
                )

        dialog = ChoiceScreen(self._app.board, f"Silence {incident.id}", text, choices)
        self._app.push_screen(dialog, taken)

    def close(self, incident: IncidentDocument) -> None:
        """Ask why an incident is closed by hand."""
        changes = self._allowed("closed", incident)
        if changes is not None:
            title = f"Close {incident.id} ({printable(incident.title)}): why?"
            ask_why(self._app, title, lambda reason: self._do(changes.close(incident.id, reason)))

    def _allowed(self, done: str, incident: IncidentDocument) -> IncidentChanges | None:
        """By whom it is changed; where it may not be, that is said."""
        changes = self._controller.source.changes
        if changes is None:
            self._app.say("an archive is only looked at")
        elif self._app.readonly:
            self._app.say(f"nothing is {done} (--readonly)")
        elif incident.state != "open":
            self._app.say(f"{incident.id} is over")
        else:
            return changes
        return None

    def _do(self, change: Coroutine[None, None, str]) -> None:
        async def do() -> None:
            try:
                said = await change
            except AccelwatchError as error:
                said = str(error)
            self._app.say(printable(said))

        self._controller.aside(do())


def _matchers(incident: IncidentDocument) -> dict[str, tuple[str, Matcher]]:
    """Whom to silence: what it is called, in words and as a matcher."""
    node, rule = printable(incident.node), printable(incident.rule)
    found = {"id": ("this incident", _is("id", incident.id))}
    if incident.node:
        found["node"] = (f"all of node {node}", _is("node", incident.node))
    found["rule"] = (f"rule {rule} everywhere", _is("rule", incident.rule))
    return found


def _is(name: str, value: str) -> Matcher:
    return Matcher(name=name, operator=Operator.IS, value=value)
