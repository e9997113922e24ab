"""Sign and role of each state of a node. Pure."""

from accelwatch.tui.drawing.glyphs import Glyphs

# Worst first.
NODE_ROLES = {"down": "bad", "stale": "warn", "never": "warn", "slow": "warn", "up": "calm"}


def node_glyph(state: str, glyphs: Glyphs) -> str:
    """The sign of a node's state."""
    return glyphs.nodes.get(state, glyphs.nodes["never"])


def filled_role(state: str) -> str:
    """The role of a node's state in a map, where one that is down is a filled cell."""
    role = NODE_ROLES.get(state, "warn")
    return "alarm" if role == "bad" else role
