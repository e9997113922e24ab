"""How bad each state of a node or device is, and its sign, word and role. Pure."""

from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.tui.fleet.model import DeviceNow
from accelwatch.tui.format import STATE_ROLES
from accelwatch.tui.glyphs import Glyphs

NODE_SEVERITY = {"down": 10, "stale": 5, "never": 4, "slow": 2, "up": 0}
DEVICE_SEVERITY = {
    "lost": 9,
    "missing": 8,
    "unresponsive": 7,
    "failed": 6,
    "unreachable": 5,
    "stale": 5,
    "degraded": 3,
    "ok": 0,
    "suspended": 0,
    "excluded": 0,
}
"""By standing: the state, or the health of a device whose state is fine."""
BAD = 4
"""From here a device cannot be counted on."""
NODE_ROLES = {"down": "bad", "stale": "warn", "never": "warn", "slow": "warn", "up": "ok"}
"""Worst first."""
_MORE_ROLES = {"failed": "bad", "missing": "bad", "stale": "warn", "unreachable": "warn"}
_WORDS = {"unresponsive": "hung", "suspended": "asleep"}
_JUDGED = frozenset({Health.DEGRADED.value, Health.FAILED.value})
_ANSWERING = frozenset({"ok", "degraded"})
"""States of which the health says more."""


def standing(now: DeviceNow) -> str:
    """What to say of a device: its state, unless it answers and its health is worse."""
    if now.state in _ANSWERING and now.health in _JUDGED:
        return now.health
    return now.state


def device_severity(word: str) -> int:
    """0 for nothing to see; a state that is not known here is as bad as degraded."""
    return DEVICE_SEVERITY.get(word, DEVICE_SEVERITY["degraded"])


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
