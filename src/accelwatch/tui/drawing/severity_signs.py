"""Sign and role of each severity, of events and of incidents. Pure."""

from accelwatch.tui.drawing.glyphs import Glyphs

# Worst first.
SEVERITY_ROLES = {"critical": "bad", "error": "bad", "warning": "warn", "info": "dim"}
_SIGNS = {"critical": "lost", "error": "lost", "warning": "degraded"}


def severity_role(severity: str) -> str:
    """The role that a severity is painted in."""
    return SEVERITY_ROLES.get(severity, "text")


def severity_sign(severity: str, glyphs: Glyphs) -> str:
    """The sign of a severity."""
    return glyphs.states.get(_SIGNS.get(severity, ""), glyphs.dot)
