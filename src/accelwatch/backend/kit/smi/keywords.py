"""Words of nvidia-smi's relatives: switches, link widths, performance states. Pure, and never raises."""

import re
from types import MappingProxyType

from accelwatch.base.absence import Absence

_FLAGS = MappingProxyType(
    {
        **dict.fromkeys(("enabled", "enable", "on", "yes", "true", "active"), True),
        **dict.fromkeys(("disabled", "disable", "off", "no", "false", "not active"), False),
    }
)
_LANES = re.compile(r"x?(\d{1,2})x?", re.IGNORECASE | re.ASCII)
_STATE = re.compile(r"[Pp](\d{1,2})", re.ASCII)


def flag(text: str | None) -> bool | Absence:
    """`Enabled` or `No`; `unsupported` where nothing is said, `error` for another word."""
    if text is None:
        return Absence.UNSUPPORTED
    return _FLAGS.get(text.lower(), Absence.ERROR)


def lanes(text: str | None) -> int | Absence:
    """The number in `16x`."""
    return _matched(text, _LANES)


def performance_state(text: str | None) -> int | Absence:
    """The number in `P0`."""
    return _matched(text, _STATE)


def _matched(text: str | None, pattern: re.Pattern[str]) -> int | Absence:
    if text is None:
        return Absence.UNSUPPORTED
    match = pattern.fullmatch(text)
    return Absence.ERROR if match is None else int(match[1])
