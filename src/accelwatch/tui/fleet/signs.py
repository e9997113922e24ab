"""Sign and role of each state of a node. Pure."""

from accelwatch.tui.drawing.glyphs import Glyphs

NODE_ROLES = {"down": "bad", "stale": "warn", "never": "warn", "slow": "warn", "up": "calm"}
"""Worst first."""


def node_glyph(state: str, glyphs: Glyphs) -> str:
    """The sign of a node's state."""
    return glyphs.nodes.get(state, glyphs.nodes["never"])
