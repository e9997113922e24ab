"""What the cells of a row are drawn by."""

import msgspec

from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.picture.tally import FleetRow
from accelwatch.schema.display import printable
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import fit
from accelwatch.tui.drawing.node_names import NONE, shortened
from accelwatch.tui.fleet.board import FleetBoard


class RenderContext(msgspec.Struct, frozen=True, kw_only=True):
    """How rows are drawn during one painting."""

    board: FleetBoard
    glyphs: Glyphs
    # By what they are grouped.
    group: str
    shade: str
    # Which graph: `braille`, `block` or `ascii`.
    plot: str
    since_s: float
    silent: bool

    def live(self, row: FleetRow) -> bool:
        """Whether the row's values are of now."""
        return not self.silent and (row.speaks or not row.node)

    def cut(self, text: str, width: int, *, right: bool = False) -> str:
        """Text of others in exactly so many cells."""
        shown = printable(text, ascii_only=self.glyphs.ascii_only)
        return fit(shown, width, right=right, ellipsis=self.glyphs.ellipsis)

    def node(self, name: str, width: int) -> str:
        """A node's name in at most so many cells, with the part that differs from other names."""
        shown = printable(name, ascii_only=self.glyphs.ascii_only)
        affixes = self.board.affixes if shown == name else NONE
        return shortened(shown, width, affixes, self.glyphs.ellipsis)


def state_of(row: FleetRow, context: RenderContext) -> str:
    """The state as it is shown: what was up is stale when the hub has fallen silent."""
    return "stale" if context.silent and row.state in SPEAKING else row.state
