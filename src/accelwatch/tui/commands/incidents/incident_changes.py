"""What keys change about an incident: mute its notifications, unmute, close it; each asks first."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.incidents.model.silence import Matcher, Operator
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.untrusted_text import printable
from accelwatch.fleet.picture.changing import IncidentChanges
from accelwatch.tui.commands.incidents.reason_prompt import prompt_for_reason
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.screens.dialogs.choice import ChoiceScreen

if TYPE_CHECKING:
    from accelwatch.tui.feeds.fleet_controller import FleetController

_SPANS = {"2h": "2 hours", "8h": "8 hours", "1d": "a day", "7d": "a week"}
_END = "end"
_MOST_OF_REASON = 40


class IncidentChanging:
    """Dialogs about one incident; a message shows the result."""

    def __init__(self, app: DashboardContext, controller: "FleetController") -> None:
        self._app = app
        self._controller = controller

    def silence(self, incident: IncidentDocument) -> None:
        """Prompt for whom to silence and why; of a silenced incident, whether to end that."""
        changes = self._allowed("silenced", incident)
        if changes is None:
            return
        mute = incident.muted_by
        choices = [("", "Cancel")]
        if mute is not None and mute.kind == "silence":
            reason_text = printable(mute.reason)[:_MOST_OF_REASON]
            choices.append((_END, f"end silence {mute.id} ({reason_text})"))
        matchers = _matchers(incident)
        choices += [
            (f"{name} {span}", f"{description}, for {long}")
            for name, (description, _) in matchers.items()
            for span, long in _SPANS.items()
        ]
        text = ["Notifications are muted; the incident stays open.", ""]

        def chosen(choice: str | None) -> None:
            if choice == _END and mute is not None:
                self._do(changes.expire_silence(mute.id))
            elif choice:
                name, _, span = choice.partition(" ")
                description, matcher = matchers[name]
                prompt_for_reason(
                    self._app,
                    f"Silence {description}, for {_SPANS[span]}: why?",
                    lambda reason: self._do(changes.silence((str(matcher),), span, reason)),
                )

        dialog = ChoiceScreen(self._app.board, f"Silence {incident.id}", text, choices)
        self._app.push_screen(dialog, chosen)

    def close(self, incident: IncidentDocument) -> None:
        """Prompt for why an incident is closed by hand."""
        changes = self._allowed("closed", incident)
        if changes is not None:
            title = f"Close {incident.id} ({printable(incident.title)}): why?"
            prompt_for_reason(
                self._app, title, lambda reason: self._do(changes.close(incident.id, reason))
            )

    def _allowed(self, done: str, incident: IncidentDocument) -> IncidentChanges | None:
        """The source that changes it; a message says why there is none."""
        changes = self._controller.source.changes
        if changes is None:
            self._app.show_message("an archive is read-only")
        elif self._app.readonly:
            self._app.show_message(f"nothing is {done} (--readonly)")
        elif incident.state != "open":
            self._app.show_message(f"{incident.id} is over")
        else:
            return changes
        return None

    def _do(self, change: Coroutine[None, None, str]) -> None:
        async def do() -> None:
            try:
                reply = await change
            except AccelwatchError as error:
                reply = str(error)
            self._app.show_message(printable(reply))

        self._controller.aside(do())


def _matchers(incident: IncidentDocument) -> dict[str, tuple[str, Matcher]]:
    """Whom to silence: what it is called, in words and as a matcher."""
    node, rule = printable(incident.node), printable(incident.rule)
    matchers = {"id": ("this incident", _is("id", incident.id))}
    if incident.node:
        matchers["node"] = (f"all of node {node}", _is("node", incident.node))
    matchers["rule"] = (f"rule {rule} everywhere", _is("rule", incident.rule))
    return matchers


def _is(name: str, value: str) -> Matcher:
    return Matcher(name=name, operator=Operator.IS, value=value)
