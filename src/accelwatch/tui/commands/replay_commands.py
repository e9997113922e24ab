"""What keys do to a recording: stop, step, speed, seek, loop."""

from typing import TYPE_CHECKING

from accelwatch.base.errors import UsageError
from accelwatch.fleet.picture.time_parsing import HINT, parse_time
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.local.sources.replay import ReplaySource
from accelwatch.tui.state import time_actions

if TYPE_CHECKING:
    from accelwatch.fleet.picture.timeline import Player

_MINUTE_S = 60.0
_HOUR_S = 3600.0


class ReplayCommands:
    """One handler per action; False where no recording is played."""

    def __init__(self, app: DashboardContext) -> None:
        self._app = app

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            time_actions.PAUSE: self.do_pause,
            time_actions.FASTER: self.do_faster,
            time_actions.SLOWER: self.do_slower,
            time_actions.STEP: self.do_step,
            time_actions.STEP_BACK: self.do_step_back,
            time_actions.SEEK: self.do_seek,
            time_actions.SEEK_BACK: self.do_seek_back,
            time_actions.HOUR: self.do_hour,
            time_actions.HOUR_BACK: self.do_hour_back,
            time_actions.INCIDENT: self.do_incident,
            time_actions.INCIDENT_BACK: self.do_incident_back,
            time_actions.EVENT: self.do_event,
            time_actions.EVENT_BACK: self.do_event_back,
            time_actions.LOOP: self.do_loop,
            time_actions.SEEK_TO: self.do_seek_to,
        }

    @property
    def _player(self) -> "Player | None":
        fleet = self._app.fleet_controller
        return None if fleet is None else fleet.source.player

    @property
    def _source(self) -> "ReplaySource | Player | None":
        source = self._app.source
        return source if isinstance(source, ReplaySource) else self._player

    def do_pause(self) -> bool:
        """Stop or go on."""
        source = self._source
        if source is None:
            return False
        source.pause()
        return True

    def do_faster(self) -> bool:
        """Play faster."""
        return self._speed(1)

    def do_slower(self) -> bool:
        """Play slower."""
        return self._speed(-1)

    def _speed(self, step: int) -> bool:
        source = self._source
        if source is None:
            return False
        source.faster(step)
        return True

    def do_step(self) -> bool:
        """One frame on."""
        return self._step(1)

    def do_step_back(self) -> bool:
        """One frame back."""
        return self._step(-1)

    def _step(self, frames: int) -> bool:
        source = self._source
        if source is not None:
            source.step(frames)
        return source is not None

    def do_seek(self) -> bool:
        """A minute forward."""
        return self._seek(_MINUTE_S)

    def do_seek_back(self) -> bool:
        """A minute back."""
        return self._seek(-_MINUTE_S)

    def _seek(self, step_s: float) -> bool:
        source = self._source
        if source is not None:
            source.seek(source.progress[1] + step_s)
        return source is not None

    def do_hour(self) -> bool:
        """An hour forward."""
        return self._seek(_HOUR_S)

    def do_hour_back(self) -> bool:
        """An hour back."""
        return self._seek(-_HOUR_S)

    def do_incident(self) -> bool:
        """To the next incident."""
        return self._incident(1)

    def do_incident_back(self) -> bool:
        """To the incident before."""
        return self._incident(-1)

    def _incident(self, step: int) -> bool:
        player = self._player
        if player is not None:
            self._app.show_message(player.seek_incident(step))
        return player is not None

    def do_event(self) -> bool:
        """To the next event."""
        return self._event(1)

    def do_event_back(self) -> bool:
        """To the event before."""
        return self._event(-1)

    def _event(self, step: int) -> bool:
        player, fleet = self._player, self._app.fleet_controller
        if player is None or fleet is None:
            return False

        async def seek() -> None:
            self._app.show_message(await player.seek_event(step))

        fleet.aside(seek())
        return True

    def do_loop(self) -> bool:
        """Begin again at the end, or not."""
        source = self._source
        if source is not None:
            source.toggle_loop()
        return source is not None

    def do_seek_to(self) -> bool:
        """Prompt for a time."""
        from accelwatch.tui.screens.dialogs.prompt import PromptScreen

        source = self._source
        if source is None:
            return False

        def wrong(text: str) -> str:
            try:
                if text.strip():
                    parse_time(text, *source.progress)
            except UsageError as error:
                return str(error)
            return ""

        def submitted(text: str | None) -> None:
            if text and text.strip():
                source.seek(parse_time(text, *source.progress))

        self._app.push_screen(PromptScreen(self._app.board, "Go to", "", HINT, wrong), submitted)
        return True
