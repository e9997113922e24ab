"""What opens the black box: `B` on a device or an event, Enter on an event that froze it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.errors import AccelwatchError
from accelwatch.tui.commands.event_commands import EventCommands
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.events.changes import Change
from accelwatch.tui.state import row_actions
from accelwatch.tui.state.action import BLACK_BOX

if TYPE_CHECKING:
    from accelwatch.archive.blackbox.excerpt import Excerpt
    from accelwatch.archive.blackbox.files import Frozen
    from accelwatch.tui.views.blackbox.excerpt_page import ExcerptPage

# Seconds before and after that are shown; `h` changes between them.
_SPANS = ((120.0, 60.0), (900.0, 240.0))
_OF_A_FLEET = "each node has its own black box: there, accelwatch blackbox show"
_RECORDED = "this is a recording; of a file: accelwatch blackbox show FILE"


class BlackBoxCommands:
    """One handler per action; False where it is nothing of the black box."""

    def __init__(self, app: DashboardContext, events: EventCommands) -> None:
        self._app = app
        self._events = events
        self._tasks: set[asyncio.Task[None]] = set()
        self._page: ExcerptPage | None = None

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            row_actions.BLACKBOX: self.do_blackbox,
            row_actions.ENTER: self.do_enter,
            row_actions.SPAN: self.do_span,
        }

    @property
    def _page_shown(self) -> "ExcerptPage | None":
        shown = self._app.view_name == BLACK_BOX
        return self._page if shown else None

    def do_blackbox(self) -> bool:
        """The moment of the event, of the selected device, or its last minutes."""
        app = self._app
        if app.board.boxes is None:
            app.show_message(_OF_A_FLEET if app.fleet_controller is not None else _RECORDED)
            return True
        change = self._events.selected
        device_id = change.device_id if change is not None else app.board.selected_id
        view = next(
            (
                candidate
                for candidate in app.board.snapshot.devices
                if candidate.device.id == device_id
            ),
            None,
        )
        name = change.name if change is not None else view.device.name if view else ""
        self._open_page(device_id, name, change, or_now=True)
        return True

    def do_enter(self) -> bool:
        """An event that froze the black box opens it; any other leads to the device."""
        change = self._events.selected
        if change is None or self._app.board.boxes is None or not change.device_id:
            return False
        self._open_page(change.device_id, change.name, change, or_now=False)
        return True

    def do_span(self) -> bool:
        """Minutes around the moment, or all that is kept."""
        page = self._page_shown
        if page is None:
            return False
        page.wide = not page.wide
        self._start_task(self._read(page))
        return True

    def _open_page(self, device_id: str, name: str, change: Change | None, *, or_now: bool) -> None:
        from accelwatch.tui.views.blackbox.excerpt_page import ExcerptPage

        page = ExcerptPage(device_id, name)
        self._start_task(self._open(page, change, or_now=or_now))

    def _start_task(self, work: "asyncio.Future[None] | object") -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._app.report_task_failure)

    async def _open(self, page: "ExcerptPage", change: Change | None, *, or_now: bool) -> None:
        """Find the files; then show the moment's screen, or the device as it is."""
        boxes = self._app.board.boxes
        assert boxes is not None
        page.list_boxes(await asyncio.to_thread(boxes))
        has_box = page.choose(change)
        if not has_box and not or_now:
            if change is not None:
                self._events.visit(change)
            return
        self._show(page)
        await self._read(page)

    def _show(self, page: "ExcerptPage") -> None:
        from accelwatch.tui.screens.excerpt import excerpt_screen

        app = self._app
        self._page = page
        app.push_screen(excerpt_screen(app.board, page, app.clock.wall, self._turned))
        app.call_after_refresh(app.show)

    def _turned(self, page: "ExcerptPage") -> None:
        self._start_task(self._read(page))

    async def _read(self, page: "ExcerptPage") -> None:
        """Read what the page is about on a thread, and paint it unless it was turned meanwhile."""
        requested = page.requested
        try:
            result: Excerpt | str = await asyncio.to_thread(
                _read_excerpt, page, requested, wide=page.wide
            )
        except AccelwatchError as error:
            result = str(error)
        if page.requested == requested:
            page.show(result)
            self._app.show()


def _read_excerpt(page: "ExcerptPage", requested: "Frozen | None", *, wide: bool) -> "Excerpt":
    """The moment of a frozen file, or the last minutes. Raises AccelwatchError."""
    from accelwatch.archive.blackbox.excerpt import newest_time, read_excerpt
    from accelwatch.archive.blackbox.locations import NOW, meant

    before_s, after_s = _SPANS[wide]
    device = page.device_id
    if requested is not None:
        return read_excerpt(requested.path, before_s=before_s, after_s=after_s, device_id=device)
    ring: Path = meant(NOW, list(page.boxes))
    at = newest_time(ring)
    excerpt = read_excerpt(ring, before_s=before_s, after_s=after_s, at=at, device_id=device)
    return msgspec.structs.replace(excerpt, notes=())  # that it is still being written
