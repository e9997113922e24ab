"""Where pages about rules are; apart from them, for those who have no rules."""

from urllib.parse import unquote

INCIDENTS = "/v1/incidents"
INCIDENT = "/v1/incidents/"
RULES = "/v1/rules"
EXPLAIN = "/v1/explain"
SILENCES = "/v1/silences"
MAINTENANCE = "/v1/maintenance"
_CLOSE = "/close"
_NOTE = "/note"


def methods_of_silences(path: str) -> tuple[str, ...]:
    """The methods that a page of silences, maintenance, closing or notes takes; empty for others."""
    if path in (SILENCES, MAINTENANCE):
        return ("GET", "HEAD", "POST")
    if id_below(SILENCES, path) or id_below(MAINTENANCE, path):
        return ("DELETE",)
    return ("POST",) if to_close(path) or to_note(path) else ()


def id_below(base: str, path: str) -> str:
    """The id in `/v1/silences/s3`; empty for other paths."""
    rest = path.removeprefix(f"{base}/")
    return unquote(rest) if rest != path and rest and "/" not in rest else ""


def to_close(path: str) -> str:
    """The id in `/v1/incidents/i3/close`; empty for other paths."""
    return _between(path, _CLOSE)


def to_note(path: str) -> str:
    """The id in `/v1/incidents/i3/note`; empty for other paths."""
    return _between(path, _NOTE)


def _between(path: str, end: str) -> str:
    if path.startswith(INCIDENT) and path.endswith(end):
        return path.removeprefix(INCIDENT).removesuffix(end)
    return ""
