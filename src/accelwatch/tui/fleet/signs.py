"""Sign, word and role of each state of a node or device. Pure."""

from accelwatch.schema.device import DeviceState
from accelwatch.tui.drawing.format import STATE_ROLES
from accelwatch.tui.drawing.glyphs import Glyphs

NODE_ROLES = {"down": "bad", "stale": "warn", "never": "warn", "slow": "warn", "up": "ok"}
"""Worst first."""
_MORE_ROLES = {"failed": "bad", "missing": "bad", "stale": "warn", "unreachable": "warn"}
_WORDS = {"unresponsive": "hung", "suspended": "asleep"}


def device_role(word: str) -> str:
    """The role a standing is painted in."""
    if word in _MORE_ROLES:
        return _MORE_ROLES[word]
    return STATE_ROLES[DeviceState(word)] if word in STATE_ROLES else "warn"


def device_glyph(word: str, glyphs: Glyphs) -> str:
    """The sign of a standing."""
    if word in glyphs.states:
        return glyphs.states[word]
    signs = {
        "stale": glyphs.stale,
        "failed": glyphs.failed,
        "missing": glyphs.missing,
        "unreachable": glyphs.unreachable,
    }
    return signs.get(word, glyphs.states[DeviceState.DEGRADED])


def device_word(word: str) -> str:
    """The standing as the dashboard says it."""
    return _WORDS.get(word, word)


def node_glyph(state: str, glyphs: Glyphs) -> str:
    """The sign of a node's state."""
    return glyphs.nodes.get(state, glyphs.nodes["never"])
