"""Which moment of the black box is shown: the last minutes, or one of the frozen files. Pure."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from accelwatch.archive.blackbox.files import froze
from accelwatch.archive.blackbox.locations import newest_first
from accelwatch.schema.status.device_status import state_label
from accelwatch.tui.drawing.format import clock_time
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, paragraph
from accelwatch.tui.views.blackbox.excerpt_lines import lines

if TYPE_CHECKING:
    from accelwatch.archive.blackbox.excerpt import Excerpt
    from accelwatch.archive.blackbox.files import Frozen
    from accelwatch.archive.blackbox.locations import Box
    from accelwatch.tui.events.changes import Change

# How far from a file's trigger a change may have started to be in the file.
_EARLIER_S, _LATER_S = 5.0, 200.0


class ExcerptPage:
    """Belongs to the application's thread."""

    def __init__(self, device_id: str, name: str) -> None:
        self.device_id = device_id
        self._name = name
        self.boxes: tuple[Box, ...] = ()
        # Whether all is shown that is kept, rather than the minutes around the moment.
        self.wide = False
        self._frozen: list[Frozen] = []
        # In `_frozen`; -1: the last minutes.
        self._index = -1
        self._result: Excerpt | str | None = None

    def list_boxes(self, boxes: "Sequence[Box]") -> None:
        """List the boxes."""
        self.boxes = tuple(boxes)
        self._frozen = newest_first(boxes)

    def choose(self, change: "Change | None") -> bool:
        """Begin with the file that the change froze, or the device's newest; whether there is one."""
        fitting = [index for index, frozen in enumerate(self._frozen) if self._fits(frozen, change)]
        self._index = fitting[0] if fitting else -1
        return bool(fitting)

    def _fits(self, frozen: "Frozen", change: "Change | None") -> bool:
        if change is None:
            return bool(self._name) and froze(self._name, frozen)
        near = -_EARLIER_S <= change.started_at - frozen.time <= _LATER_S
        return near and (not frozen.device or froze(change.name, frozen))

    @property
    def requested(self) -> "Frozen | None":
        """The file that is shown; None: the last minutes."""
        return self._frozen[self._index] if self._index >= 0 else None

    def turn(self, step: int) -> bool:
        """Go to the file before (-1) or after (1) in time; false at the ends."""
        target = self._index - step
        if not -1 <= target < len(self._frozen):
            return False
        self._index, self._result = target, None
        return True

    def show(self, result: "Excerpt | str") -> None:
        """The moment, or why there is none."""
        self._result = result

    def lines(self, width: int, glyphs: Glyphs) -> list[Line]:
        """Where it is among the others, and the moment."""
        where = f" {f' {glyphs.dot} '.join(self._where(glyphs))}"
        head = [*paragraph(" ", where.strip(), "dim", width, glyphs), []]
        if self._result is None:
            return [*head, [(" reading ...", "dim")]]
        if isinstance(self._result, str):
            return [*head, *paragraph(" ", self._result, "warn", width, glyphs)]
        return [*head, *lines(self._result, width, glyphs)]

    def _where(self, glyphs: Glyphs) -> Iterator[str]:
        """What is shown, and the keys that show more."""
        count = len(self._frozen)
        frozen = self.requested
        left, right = ("Left", "Right") if glyphs.ascii_only else ("←", "→")
        if frozen is None:
            yield "last 15 min"
            if count:
                yield f"{left} {count} saved capture{'' if count == 1 else 's'}"
        else:
            what = (frozen.device or "machine", state_label(frozen.reason), clock_time(frozen.time))
            yield f"saved capture {self._index + 1} of {count}: {' '.join(what)}"
            if self._index + 1 < count:
                yield f"{left} older"
            yield f"{right} {'newer' if self._index else 'last 15 min'}"
        yield f"h {'3 min around it' if self.wide else 'all that is kept'}"
        yield "Esc back"
        if frozen is not None:
            yield frozen.path.name
